#include "headwise/interop/convert_params.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "base/out_of_memory.h"
#include "headwise/interop/file_subject.h"
#include "interop/error_text.h"
#include "interop/find_params.h"
#include "interop/laid_out.h"
#include "interop/layout_forms.h"
#include "interop/layout_names.h"
#include "interop/model_heads.h"
#include "interop/param_file.h"
#include "interop/said_heads.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kConvertParams = "convert";

// About an option, by its name in ConvertOptions.
Error wrong_option(ErrorCode code, std::string_view option, Message given,
                   Message expected) {
  return argument_error(kConvertParams, option, std::move(given),
                        std::move(expected), code);
}

bool has_numbers(const Layout& layout, std::string_view prefix) {
  return is_numbered(layout.rows[0].name) || is_numbered(prefix);
}

bool asks_for_heads(const Layout& layout) {
  return std::ranges::any_of(
      layout.rows, [](const LayoutRow& row) { return has_heads(row.form); });
}

std::set<std::string> tensors_of(const LayoutMatch& match) {
  std::set<std::string> names;
  for (const std::size_t number : match.layers) {
    for (const LayoutRow& row : match.layout->rows) {
      names.insert(name_in(match.prefix, row.name, number));
    }
  }
  return names;
}

// "a prefix of the layout bert: \"\" or \"bert.\""
Message prefixes_text(const Layout& layout) {
  Message prefixes;
  for (const std::string_view prefix : layout.prefixes) {
    const Message quoted = Message::verbatim("\"" + std::string(prefix) + "\"");
    prefixes =
        prefixes.empty() ? quoted : message("{} or {}", prefixes, quoted);
  }
  return message("a prefix of the layout {}: {}", layout.name, prefixes);
}

// What every step of a conversion needs to know.
struct Conversion {
  const std::string& path;  // as the caller gave it
  const ParamFile& file;
  const ConvertOptions& options;
  const Layout& to;
};

Result<const Layout*> find_to(const ConvertOptions& options) {
  const auto found = std::ranges::find(layouts(), options.to, &Layout::name);
  if (found == layouts().end()) {
    return wrong_option(
        ErrorCode::invalid_argument, "to", message("is {}", options.to),
        message("one of {}", list_text(layouts(), ", ", &Layout::name)));
  }
  return &*found;
}

Result<std::string_view> choose_prefix(const Conversion& conversion,
                                       const ConvertedParams& converted) {
  const Layout& to = conversion.to;
  if (const auto& wanted = conversion.options.prefix) {
    const auto found = std::ranges::find(to.prefixes, *wanted);
    if (found == to.prefixes.end()) {
      return wrong_option(ErrorCode::invalid_argument, "prefix",
                          message("is \"{}\"", *wanted), prefixes_text(to));
    }
    return *found;
  }
  if (&to == converted.from.layout) {
    return std::string_view(converted.from.prefix);
  }
  for (const std::string_view prefix : to.prefixes) {
    const auto begins = [&](const std::string& name) {
      return name.starts_with(prefix);
    };
    if (!prefix.empty() && std::ranges::any_of(converted.other_names, begins)) {
      return prefix;
    }
  }
  return to.prefixes[0];
}

// Which layers, and whether names in the layout can distinguish them.
Result<std::vector<std::size_t>> choose_layers(const Conversion& conversion,
                                               const LayoutMatch& match,
                                               std::string_view prefix) {
  const ConvertOptions& options = conversion.options;
  if (options.layer) {
    if (std::ranges::find(match.layers, *options.layer) == match.layers.end()) {
      return wrong_option(
          ErrorCode::out_of_range, "layer", message("is {}", *options.layer),
          message("one of {} as in {}", list_text(match.layers, " "),
                  conversion.path));
    }
    return std::vector<std::size_t>{*options.layer};
  }
  if (match.layers.size() > 1 && !has_numbers(conversion.to, prefix)) {
    ErrorDetails is{.operation = std::string(kConvertParams),
                    .argument = "layer"};
    is.given = message("is required, because the layout {} holds one layer",
                       conversion.to.name);
    is.hint = message("{} has layers {}", conversion.path,
                      list_text(match.layers, " "));
    return Error(ErrorCode::invalid_argument, std::move(is));
  }
  return match.layers;
}

struct HeadCount {
  std::string_view from;  // what errors call it
  std::size_t count = 0;
};

constexpr std::string_view kOption = "num_heads";
constexpr std::string_view kOwnHeads = "its num_heads";

Error bad_heads(const HeadCount& heads, Message given, Message expected) {
  return wrong_option(ErrorCode::shape_mismatch, heads.from, std::move(given),
                      std::move(expected));
}

// How many heads a layer has whose shapes do not say it: those of the file, of
// the options or from the config.json next to the file; empty if the layout
// needs none.
Result<std::optional<HeadCount>> find_heads(const Conversion& conversion,
                                            std::size_t number,
                                            const LayerParams& layer) {
  HEADWISE_ASSIGN(const auto said,
                  said_heads(kConvertParams, conversion.file, number));
  if (said.num_heads) {
    return std::optional(HeadCount{kOwnHeads, *said.num_heads});
  }
  if (conversion.options.num_heads) {
    return std::optional(HeadCount{kOption, *conversion.options.num_heads});
  }
  if (!asks_for_heads(conversion.to)) {
    return std::optional<HeadCount>();
  }
  const auto heads =
      read_model_heads(conversion.file.path())
          .heads_of_layer(number, layer.params.at("w_q.weight").shape[0]);
  if (!heads) {
    return FileSubject{std::string(kConvertParams), conversion.path}.blame(
        heads.error());
  }
  if (*heads) {
    return std::optional(HeadCount{"the head count of config.json", **heads});
  }
  return wrong_option(ErrorCode::invalid_argument, kOption, "is not given",
                      message("the number of heads: the layout {} needs it, "
                              "and the shapes of {} do not say it",
                              conversion.to.name, conversion.path));
}

// Gives the layer its heads, if they divide its features.
Status set_heads(const HeadCount& heads, const std::string& path,
                 LayerParams& layer) {
  const std::size_t q_features = layer.params.at("w_q.weight").shape[0];
  const std::size_t k_features = layer.params.at("w_k.weight").shape[0];
  layer.num_heads = heads.count;
  if (heads.count == 0 && q_features == 0 && k_features == 0) {  // all pruned
    layer.num_kv_heads = 0;
    return ok();
  }
  if (heads.count == 0 || q_features == 0 || q_features % heads.count != 0) {
    return bad_heads(heads, message("is {}", heads.count),
                     message("a divisor of the {} features of queries in {}",
                             q_features, path));
  }
  // A head of keys is as long as one of queries.
  const std::size_t head = q_features / heads.count;
  if (k_features % head != 0) {
    return bad_heads(
        heads,
        message("is {}, which makes a head {} features long", heads.count,
                head),
        message("a divisor of the {} of keys in {}", k_features, path));
  }
  layer.num_kv_heads = k_features / head;
  return ok();
}

Status settle_heads(const Conversion& conversion, std::size_t number,
                    LayerParams& layer) {
  std::optional<HeadCount> found;
  if (!layer.num_heads) {
    HEADWISE_ASSIGN(found, find_heads(conversion, number, layer));
  } else if (!layer.num_kv_heads) {
    found = HeadCount{kOwnHeads, *layer.num_heads};
  }
  const auto& wanted = conversion.options.num_heads;
  const auto known = found ? std::optional(found->count) : layer.num_heads;
  if (wanted && known && wanted != known) {
    return bad_heads({kOption, *wanted}, message("is {}", *wanted),
                     message("{} as in {}", *known, conversion.path));
  }
  return found ? set_heads(*found, conversion.path, layer) : ok();
}

Status check_converted_names(const Conversion& conversion,
                             const ConvertedParams& converted) {
  for (const std::string& name : converted.other_names) {
    if (converted.tensors.contains(name)) {
      return wrong_option(ErrorCode::bad_data, "attention_only",
                          message("is not given, but the layout {} has a "
                                  "tensor of the same name as {} in {}",
                                  conversion.to.name, name, conversion.path),
                          "");
    }
  }
  return ok();
}

// What lay_out() says of the layer is about the tensors of the file.
Error of_file(const Error& error, const std::string& path) {
  constexpr std::string_view kParams = "layer.params.";
  const FileSubject subject{std::string(kConvertParams), path};
  const std::string& argument = error.details().argument;
  return argument.starts_with(kParams)
             ? subject.of_entry(argument.substr(kParams.size()))
                   .blame_here(error)
             : subject.blame(error);
}

// Adds the layer `number` of the file, by the name that it gets. Returns its
// heads, if they are known.
Result<std::optional<std::size_t>> add_layer(const Conversion& conversion,
                                             const ShapesByName& shapes,
                                             std::string_view prefix,
                                             std::size_t number,
                                             ConvertedParams& converted) {
  HEADWISE_ASSIGN(auto layer, take_layer(converted.from, shapes, number,
                                         [&](const std::string& name) {
                                           return conversion.file.read(name);
                                         }));
  HEADWISE_TRY(settle_heads(conversion, number, layer));
  auto tensors = lay_out(layer, conversion.options.as_layer.value_or(number),
                         conversion.to, prefix);
  if (!tensors) {
    return of_file(tensors.error(), conversion.path);
  }
  converted.tensors.merge(*tensors);
  return layer.num_heads;
}

// The file's. With the heads of one layer only if it is that layer's file, for
// its number may change.
SafetensorsMetadata metadata_of(const Conversion& conversion,
                                std::optional<std::size_t> num_heads) {
  SafetensorsMetadata metadata = conversion.file.metadata();
  if (conversion.options.layer && metadata.erase("num_heads") != 0) {
    metadata.erase("kept_heads");
    if (num_heads) {
      metadata["num_heads"] = std::to_string(*num_heads);
    }
  }
  return metadata;
}

Result<ConvertedParams> convert(const Conversion& conversion) {
  const ConvertOptions& options = conversion.options;
  HEADWISE_ASSIGN(const auto shapes, conversion.file.shapes());
  HEADWISE_ASSIGN(
      auto match,
      find_layout(shapes, {std::string(kConvertParams), conversion.path},
                  options.from, options.from_prefix));
  ConvertedParams converted{.from = std::move(match)};
  const std::set<std::string> attention = tensors_of(converted.from);
  std::ranges::set_difference(conversion.file.names(), attention,
                              std::back_inserter(converted.other_names));
  HEADWISE_ASSIGN(const auto prefix, choose_prefix(conversion, converted));
  HEADWISE_ASSIGN(auto layers,
                  choose_layers(conversion, converted.from, prefix));
  converted.layers = std::move(layers);
  if (options.as_layer &&
      (converted.layers.size() > 1 || !has_numbers(conversion.to, prefix))) {
    return wrong_option(ErrorCode::invalid_argument, "as_layer",
                        "is given for several layers or for a layout of names "
                        "without numbers",
                        "one layer and a layout of numbered names");
  }
  std::optional<std::size_t> num_heads;
  for (const std::size_t number : converted.layers) {
    HEADWISE_ASSIGN(num_heads,
                    add_layer(conversion, shapes, prefix, number, converted));
  }
  converted.metadata = metadata_of(conversion, num_heads);
  if (options.attention_only) {
    return converted;
  }
  HEADWISE_TRY(check_converted_names(conversion, converted));
  for (const std::string& name : converted.other_names) {
    HEADWISE_ASSIGN(auto tensor, conversion.file.tensor(name));
    converted.others.emplace(name, std::move(tensor));
  }
  return converted;
}

}  // namespace

Result<ConvertedParams> convert_params(const std::string& path,
                                       const ConvertOptions& options) {
  return catching_out_of_memory([&]() -> Result<ConvertedParams> {
    HEADWISE_ASSIGN(const auto to, find_to(options));
    HEADWISE_ASSIGN(const auto found, find_params(kConvertParams, path));
    HEADWISE_ASSIGN(auto opened, ParamFile::open(kConvertParams, found));
    const auto file = std::make_shared<const ParamFile>(std::move(opened));
    // Also where the layout needs no heads: the file is not what it seems.
    if (const auto heads = read_model_heads(file->path());
        heads.damaged && !options.num_heads) {
      return *heads.why_not;
    }
    HEADWISE_ASSIGN(auto converted, convert({path, *file, options, *to}));
    converted.source = file;
    return converted;
  });
}

Status write_params(const std::string& path, const ConvertedParams& params) {
  return catching_out_of_memory([&]() -> Status {
    std::map<std::string, AnyView> views;
    for (const auto& [name, array] : params.tensors) {
      views.emplace(name, array.view());
    }
    for (const auto& [name, tensor] : params.others) {
      views.emplace(name, tensor.view);
    }
    if (path.ends_with(".npz")) {
      return write_npz(path, views);
    }
    if (path.ends_with(".safetensors")) {
      return write_safetensors(path, views, params.metadata);
    }
    return wrong_option(ErrorCode::invalid_argument, "path",
                        message("is {}", path),
                        "a name that ends in .safetensors or .npz");
  });
}

Status convert_params(const std::string& from, const std::string& to,
                      const ConvertOptions& options) {
  HEADWISE_ASSIGN(const auto converted, convert_params(from, options));
  return write_params(to, converted);
}

}  // namespace headwise::inline HEADWISE_ABI
