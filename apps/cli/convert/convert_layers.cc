#include "convert_layers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "interop/layout_forms.h"
#include "interop/layout_names.h"
#include "interop/said_heads.h"
#include "operation/model_heads.h"
#include "operation/option_errors.h"
#include "shell/outcome.h"

namespace headwise::cli {
namespace {

bool is_numbered(const Layout& layout) {
  return headwise::is_numbered(layout.rows[0].name);
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

std::string prefixes_text(const Layout& layout) {
  std::string text;
  for (const std::string_view prefix : layout.prefixes) {
    text += fmt::format("{}\"{}\"", text.empty() ? "" : " or ", prefix);
  }
  return text + fmt::format(", as the layout {} has them", layout.name);
}

Result<std::string_view> choose_prefix(const ConvertFlags& flags,
                                       const Layout& to,
                                       const Conversion& conversion) {
  if (flags.prefix) {
    const auto found = std::ranges::find(to.prefixes, *flags.prefix);
    if (found == to.prefixes.end()) {
      return bad_option("--prefix", fmt::format("\"{}\"", *flags.prefix),
                        prefixes_text(to));
    }
    return *found;
  }
  if (&to == conversion.from.layout) {
    return std::string_view(conversion.from.prefix);
  }
  for (const std::string_view prefix : to.prefixes) {
    const auto begins = [&](const std::string& name) {
      return name.starts_with(prefix);
    };
    if (!prefix.empty() && std::ranges::any_of(conversion.others, begins)) {
      return prefix;
    }
  }
  return to.prefixes[0];
}

// Which layers, and whether the names of the layout can tell them apart.
Result<std::vector<std::size_t>> choose_layers(const ConvertFlags& flags,
                                               const Layout& to,
                                               const LayoutMatch& match) {
  if (flags.layer) {
    if (std::ranges::find(match.layers, *flags.layer) == match.layers.end()) {
      return option_error("--layer", fmt::format("is {}", *flags.layer),
                          fmt::format("one of {} as in {}",
                                      fmt::join(match.layers, " "), flags.in),
                          ErrorCode::out_of_range);
    }
    return std::vector<std::size_t>{*flags.layer};
  }
  if (match.layers.size() > 1 && !is_numbered(to)) {
    return Error{
        ErrorCode::invalid_argument,
        {.given = fmt::format(
             "{} has the layers {}, but names of the layout {} hold no "
             "number: expected one of them alone, by --layer",
             flags.in, fmt::join(match.layers, " "), to.name)}};
  }
  return match.layers;
}

struct HeadCount {
  std::string_view from;  // "--heads": what messages call it
  std::size_t count = 0;
};

// How many heads a layer has whose shapes do not say it: those of the file, of
// --heads or from the config.json next to the file; empty if `to` needs none.
Result<std::optional<HeadCount>> find_heads(const ParamFile& file,
                                            const ConvertFlags& flags,
                                            const Layout& to,
                                            std::size_t number) {
  const auto said = said_heads("convert", file, number);
  HEADWISE_TRY(said);
  if (said->num_heads) {
    return std::optional(HeadCount{kNumHeads, *said->num_heads});
  }
  if (flags.heads) {
    return std::optional(HeadCount{"--heads", *flags.heads});
  }
  if (!asks_for_heads(to)) {
    return std::optional<HeadCount>();
  }
  if (const auto heads = read_model_heads(file.path()).num_heads) {
    return std::optional(HeadCount{"the head count of config.json", *heads});
  }
  return option_error(
      "--to", fmt::format("{} needs --heads: the shapes of {} do not say how "
                          "many there are",
                          to.name, flags.in));
}

// Gives the layer its heads, if they divide its features.
Status set_heads(const HeadCount& heads, const ConvertFlags& flags,
                 LayerParams& layer) {
  const std::size_t q_features = layer.params.at("w_q.weight").shape[0];
  const std::size_t k_features = layer.params.at("w_k.weight").shape[0];
  layer.num_heads = heads.count;
  if (heads.count == 0 && q_features == 0 && k_features == 0) {  // all pruned
    layer.num_kv_heads = 0;
    return ok();
  }
  if (heads.count == 0 || q_features == 0 || q_features % heads.count != 0) {
    return option_error(heads.from, fmt::format("is {}", heads.count),
                        fmt::format("a divisor of the {} features of queries "
                                    "in {}",
                                    q_features, flags.in),
                        ErrorCode::shape_mismatch);
  }
  // A head of keys is as long as one of queries.
  const std::size_t head = q_features / heads.count;
  if (k_features % head != 0) {
    return option_error(
        heads.from,
        fmt::format("is {}, which makes a head {} features long", heads.count,
                    head),
        fmt::format("a divisor of the {} of keys in {}", k_features, flags.in),
        ErrorCode::shape_mismatch);
  }
  layer.num_kv_heads = k_features / head;
  return ok();
}

Status settle_heads(const ParamFile& file, const ConvertFlags& flags,
                    const Layout& to, std::size_t number, LayerParams& layer) {
  std::optional<HeadCount> found;
  if (!layer.num_heads) {
    const auto heads = find_heads(file, flags, to, number);
    HEADWISE_TRY(heads);
    found = *heads;
  } else if (!layer.num_kv_heads) {
    found = HeadCount{kNumHeads, *layer.num_heads};
  }
  const auto known = found ? std::optional(found->count) : layer.num_heads;
  if (flags.heads && known && flags.heads != known) {
    return option_error("--heads", fmt::format("is {}", *flags.heads),
                        fmt::format("{} as in {}", *known, flags.in),
                        ErrorCode::shape_mismatch);
  }
  return found ? set_heads(*found, flags, layer) : ok();
}

Status check_names(const Conversion& conversion, const ConvertFlags& flags) {
  for (const std::string& name : conversion.others) {
    if (conversion.tensors.contains(name)) {
      return FileSubject{"", flags.in, name}.bad_data(
          fmt::format("would have the name of a tensor of the layout {}; "
                      "--attention-only leaves it out",
                      flags.to));
    }
  }
  return ok();
}

// Adds the layer `number` of the file, by the name that it gets.
Status add_layer(const ParamFile& file, const ShapesByName& shapes,
                 const ConvertFlags& flags, const Layout& to,
                 std::string_view prefix, std::size_t number,
                 Conversion& conversion) {
  auto layer =
      take_layer(conversion.from, shapes, number,
                 [&](const std::string& name) { return file.read(name); });
  HEADWISE_TRY(layer);
  HEADWISE_TRY(settle_heads(file, flags, to, number, *layer));
  auto tensors = lay_out(*layer, flags.as_layer.value_or(number), to, prefix);
  if (!tensors) {
    return tensors.error();
  }
  conversion.num_heads = layer->num_heads;
  conversion.tensors.merge(*tensors);
  return ok();
}

}  // namespace

Result<Conversion> convert_layers(const ParamFile& file,
                                  const ConvertFlags& flags) {
  const auto shapes = file.shapes();
  HEADWISE_TRY(shapes);
  auto match = find_layout(*shapes, {"convert", flags.in}, flags.layout_of);
  HEADWISE_TRY(match);
  Conversion conversion{*std::move(match), {}, {}, {}};
  const std::set<std::string> attention = tensors_of(conversion.from);
  std::ranges::set_difference(file.names(), attention,
                              std::back_inserter(conversion.others));
  const Layout& to = *std::ranges::find(layouts(), flags.to, &Layout::name);
  const auto layers = choose_layers(flags, to, conversion.from);
  HEADWISE_TRY(layers);
  conversion.layers = *layers;
  if (flags.as_layer && (layers->size() > 1 || !is_numbered(to))) {
    return option_error(
        "--as-layer",
        "is for one layer (--layer) and a layout of numbered names");
  }
  const auto prefix = choose_prefix(flags, to, conversion);
  HEADWISE_TRY(prefix);
  for (const std::size_t number : conversion.layers) {
    HEADWISE_TRY(
        add_layer(file, *shapes, flags, to, *prefix, number, conversion));
  }
  if (Status s = check_names(conversion, flags); !s && !flags.attention_only) {
    return s.error();
  }
  return conversion;
}

}  // namespace headwise::cli
