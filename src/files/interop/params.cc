#include "headwise/interop/params.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "base/check.h"
#include "base/out_of_memory.h"
#include "interop/error_text.h"
#include "interop/find_params.h"
#include "interop/param_file.h"
#include "interop/param_name.h"
#include "interop/said_heads.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kParams = "read_params";

// Other names of the projections, as the files of others have them.
constexpr std::array<std::pair<std::string_view, std::string_view>, 9> kAliases{
    {{"fc_q", "w_q"},
     {"fc_k", "w_k"},
     {"fc_v", "w_v"},
     {"fc_o", "w_o"},
     {"W_q", "w_q"},
     {"W_k", "w_k"},
     {"W_v", "w_v"},
     {"W_o", "w_o"},
     {"w_0", "w_o"}}};

// About the whole file.
FileSubject subject_of_params(const ParamFile& file) {
  return {std::string(kParams), file.path()};
}

Status check_finite_param(const Array& array, const ParamFile& file,
                          const std::string& name) {
  Status s = check_finite(array, kParams, name);
  return s ? s : file.subject_of(kParams, name).blame_here(s.error());
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

std::string accepted_text(const ParamNames& names) {
  std::string text;
  for (const auto* list : {&names.required, &names.optional}) {
    for (const std::string& name : *list) {
      text += (text.empty() ? "" : " ") + name;
    }
  }
  return text;
}

// Whether these are d2l's names of additive attention: two projections and a
// lower-case w_v, which maps the hidden layer to the score.
bool is_d2l_additive(const std::set<std::string>& given) {
  const auto is_given = [&](const char* name) { return given.contains(name); };
  return std::ranges::all_of(
             std::array{"W_q.weight", "W_k.weight", "w_v.weight"}, is_given) &&
         std::ranges::none_of(
             std::array{"W_v.weight", "W_o.weight", "w_score.weight"},
             is_given);
}

// Whether the file also has tensors of other parts of a model.
bool is_of_model(const ParamFile& file) {
  return std::ranges::any_of(file.names(), [](const std::string& name) {
    return std::ranges::count(name, '.') > 1;
  });
}

// Whether `ours` begins as one of the names does: "w_q" of "w_q.scale".
bool begins_as_known(std::string_view ours, const ParamNames& names) {
  const auto stem = [](std::string_view name) {
    return name.substr(0, name.find('.'));
  };
  const auto begins = [&](const std::string& name) {
    return stem(name) == stem(ours);
  };
  return std::ranges::any_of(names.required, begins) ||
         std::ranges::any_of(names.optional, begins);
}

// The meaning of each name, once all of them are known to be valid.
Result<std::map<std::string, std::string>> match_names(
    const ParamFile& file, const ParamNames& names) {
  const std::set<std::string>& given = file.names();
  const std::string w_score = "w_score.weight";
  const bool d2l_additive =
      is_d2l_additive(given) &&
      (contains(names.required, w_score) || contains(names.optional, w_score));
  const bool of_model = is_of_model(file);
  std::map<std::string, std::string> given_of;  // our name -> the file's
  for (const std::string& name : given) {
    const std::string ours =
        d2l_additive && name == "w_v.weight" ? w_score : param_name(name);
    if (!contains(names.required, ours) && !contains(names.optional, ours)) {
      if (of_model && !begins_as_known(ours, names)) {
        continue;
      }
      return file.subject_of(kParams, name)
          .bad_data("is not a parameter known here", accepted_text(names));
    }
    const auto [at, is_new] = given_of.emplace(ours, name);
    if (!is_new) {
      return file.subject_of(kParams, name)
          .bad_data(message("is {}, as {} is", ours, printable(at->second)));
    }
  }
  for (const std::string& name : names.required) {
    if (!given_of.contains(name)) {
      return subject_of_params(file).bad_data(message("has no {}", name));
    }
  }
  return given_of;
}

// By the names of headwise, or those that it reads as well.
Result<NamedArrays> read_named(const ParamFile& file, const ParamNames& names) {
  HEADWISE_ASSIGN(const auto matched, match_names(file, names));
  NamedArrays params;
  for (const auto& [ours, name] : matched) {
    HEADWISE_ASSIGN(auto array, file.read(name));
    HEADWISE_TRY(check_finite_param(array, file, name));
    params.emplace(ours, std::move(array));
  }
  return params;
}

// Whether a name of the file is one that headwise knows for a parameter of a
// layer, and not PyTorch's own for the same.
bool has_known_name(const ParamFile& file, const ParamNames& names) {
  return std::ranges::any_of(file.names(), [&](const std::string& name) {
    if (name == "bias_k" || name == "bias_v" || name == "embedding.weight") {
      return false;
    }
    const std::string ours = param_name(name);
    return contains(names.required, ours) || contains(names.optional, ours);
  });
}

// Adds the heads that the file says, where the shapes do not.
Result<LayerParams> with_said_heads(const ParamFile& file, std::size_t number,
                                    LayerParams layer) {
  if (layer.num_heads) {
    return layer;
  }
  HEADWISE_ASSIGN(const auto said, said_heads(kParams, file, number));
  layer.num_heads = said.num_heads;
  layer.num_kv_heads = said.num_kv_heads;
  return layer;
}

Error several_layers(const std::string& path,
                     const std::vector<std::size_t>& layers) {
  return argument_error(
      kParams, "layer", "is not given",
      message("one of the {} layers of {}, the first being {}", layers.size(),
              path, layers.front()));
}

// The file, or that of the model in a folder without .npy files.
Result<ParamFile> open_layer_file(const std::string& path) {
  auto file = ParamFile::open(kParams, path);
  if (!file) {
    const Status known = check_param_ending(kParams, path);
    return known ? file : known.error();
  }
  if (!file->names().empty()) {
    return file;
  }
  HEADWISE_ASSIGN(const auto model, find_params(kParams, path));
  return model == path ? std::move(file) : ParamFile::open(kParams, model);
}

// One layer of the layout that the file is found to have.
Result<LayerParams> read_layout(const ParamFile& file, const ParamNames& names,
                                const LayerChoice& choice) {
  HEADWISE_ASSIGN(const auto shapes, file.shapes());
  HEADWISE_ASSIGN(const auto match, find_layout(shapes, subject_of_params(file),
                                                choice.layout, choice.prefix));
  if (!choice.number && match.layers.size() > 1) {
    return several_layers(file.path(), match.layers);
  }
  const std::size_t number = choice.number.value_or(match.layers.front());
  auto layer = take_layer(
      match, shapes, number, [&](const std::string& name) -> Result<Array> {
        Result<Array> array = file.read(name);
        const Status finite =
            array ? check_finite_param(*array, file, name) : ok();
        return finite ? std::move(array) : finite.error();
      });
  if (!layer) {
    return layer;
  }
  for (const std::string& name : names.required) {
    if (!layer->params.contains(name)) {
      return subject_of_params(file).bad_data(message("has no {}", name));
    }
  }
  return with_said_heads(file, number, *std::move(layer));
}

// By headwise's names; the numbers of heads may be next to the parameters.
Result<LayerParams> read_named_layer(const ParamFile& file, ParamNames names) {
  for (const std::string_view name : {kNumHeads, kNumKvHeads}) {
    names.optional.emplace_back(name);
  }
  HEADWISE_ASSIGN(auto params, read_named(file, names));
  for (const std::string_view name : {kNumHeads, kNumKvHeads}) {
    params.erase(std::string(name));
  }
  return with_said_heads(file, 0, LayerParams{std::move(params)});
}

}  // namespace

Result<NamedArrays> read_params(const std::string& path,
                                const ParamNames& names) {
  return catching_out_of_memory([&]() -> Result<NamedArrays> {
    const auto file = ParamFile::open(kParams, path);
    return file ? read_named(*file, names) : file.error();
  });
}

Result<LayerParams> read_layer_params(const std::string& path,
                                      const ParamNames& names,
                                      const LayerChoice& choice) {
  return catching_out_of_memory([&]() -> Result<LayerParams> {
    HEADWISE_ASSIGN(const auto file, open_layer_file(path));
    if (!choice.layout.empty() || choice.prefix ||
        (!file.names().empty() && !has_known_name(file, names))) {
      return read_layout(file, names, choice);
    }
    if (choice.number.value_or(0) != 0) {
      return subject_of_params(file).error(
          ErrorCode::out_of_range, message("has no layer {}", *choice.number),
          "0");
    }
    return read_named_layer(file, names);
  });
}

std::string param_name(std::string_view name) {
  const std::size_t dot = std::min(name.find('.'), name.size());
  for (const auto& [alias, ours] : kAliases) {
    if (name.substr(0, dot) == alias) {
      return std::string(ours) + std::string(name.substr(dot));
    }
  }
  return std::string(name);
}

}  // namespace headwise::inline HEADWISE_ABI
