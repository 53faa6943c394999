#include "headwise/interop/params.h"

#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <set>
#include <utility>

#include "headwise/interop/npy.h"
#include "headwise/interop/sharded_safetensors.h"
#include "interop/error_text.h"

namespace headwise {
namespace {

constexpr std::string_view kOperation = "read_params";
constexpr std::string_view kShardedSuffix = ".safetensors.index.json";

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

Error bad_data(const std::string& what) {
  return {ErrorCode::bad_data, std::string(kOperation) + ": " + what};
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

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};

// The files NAME.npy of a folder, by NAME. (std::filesystem ends the program
// where memory does.)
Result<std::set<std::string>> npy_names(const std::string& path) {
  constexpr std::string_view kSuffix = ".npy";
  const std::unique_ptr<DIR, CloseFolder> folder(::opendir(path.c_str()));
  if (!folder) {
    return io_error(std::string(kOperation) + ": " + path, errno);
  }
  std::set<std::string> names;
  while (true) {
    errno = 0;  // readdir() says "no more" and "failed" alike
    const dirent* const entry = ::readdir(folder.get());
    if (entry == nullptr && errno != 0) {
      return io_error(std::string(kOperation) + ": " + path, errno);
    }
    if (entry == nullptr) {
      return names;
    }
    const std::string_view name = entry->d_name;
    if (name.size() > kSuffix.size() && name.ends_with(kSuffix)) {
      names.emplace(name.substr(0, name.size() - kSuffix.size()));
    }
  }
}

// Where the parameter of one name is: "layer/w_q.weight.npy".
struct Place {
  std::string path;
  bool folder;

  std::string of(const std::string& name) const {
    const std::string shown = printable(name);
    return folder ? path + "/" + shown + ".npy" : path + ": " + shown;
  }
};

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

// What each name stands for, once all of them are known to be right.
Result<std::map<std::string, std::string>> match_names(
    const std::set<std::string>& given, const ParamNames& names,
    const Place& place) {
  const std::string w_score = "w_score.weight";
  const bool d2l_additive =
      is_d2l_additive(given) &&
      (contains(names.required, w_score) || contains(names.optional, w_score));
  std::map<std::string, std::string> given_of;  // our name -> the file's
  for (const std::string& name : given) {
    const std::string ours =
        d2l_additive && name == "w_v.weight" ? w_score : param_name(name);
    if (!contains(names.required, ours) && !contains(names.optional, ours)) {
      return bad_data(place.of(name) +
                      " is no parameter known here, expected " +
                      accepted_text(names));
    }
    const auto [at, is_new] = given_of.emplace(ours, name);
    if (!is_new) {
      return bad_data(place.of(at->second) + " and " + place.of(name) +
                      " are both " + ours);
    }
  }
  for (const std::string& name : names.required) {
    if (!given_of.contains(name)) {
      return bad_data(place.path + " has no " + name);
    }
  }
  return given_of;
}

// The parameters among the names `given`, each as `read` gives it.
template <class Read>
Result<NamedArrays> take_params(const std::set<std::string>& given,
                                const ParamNames& names, const Place& place,
                                const Read& read) {
  const auto matched = match_names(given, names, place);
  if (!matched) {
    return matched.error();
  }
  NamedArrays params;
  for (const auto& [ours, name] : *matched) {
    Result<Array> array = read(name);
    if (!array) {
      return array.error();
    }
    if (Status s = check_finite(*array, kOperation, place.of(name)); !s) {
      return s.error();
    }
    params.emplace(ours, *std::move(array));
  }
  return params;
}

template <class Map>
std::set<std::string> keys_of(const Map& map) {
  std::set<std::string> keys;
  for (const auto& [key, value] : map) {
    keys.insert(key);
  }
  return keys;
}

Result<NamedArrays> read_folder(const Place& place, const ParamNames& names) {
  const auto given = npy_names(place.path);
  if (!given) {
    return given.error();
  }
  return take_params(*given, names, place, [&](const std::string& name) {
    return read_npy(place.path + "/" + name + ".npy");
  });
}

Result<NamedArrays> read_archive(const Place& place, const ParamNames& names) {
  Result<NamedArrays> arrays = read_npz(place.path);
  if (!arrays) {
    return arrays;
  }
  return take_params(keys_of(*arrays), names, place,
                     [&](const std::string& name) -> Result<Array> {
                       return std::move(arrays->at(name));
                     });
}

Result<NamedArrays> read_safetensors(const Place& place,
                                     const ParamNames& names) {
  const auto file = open_safetensors(place.path);
  if (!file) {
    return file.error();
  }
  return take_params(
      keys_of(file->tensors()), names, place,
      [&](const std::string& name) { return file->array(name); });
}

Result<NamedArrays> read_shards(const Place& place, const ParamNames& names) {
  const auto model = open_sharded_safetensors(place.path);
  if (!model) {
    return model.error();
  }
  return take_params(
      keys_of(model->shard_names()), names, place,
      [&](const std::string& name) { return model->array(name); });
}

}  // namespace

Result<NamedArrays> read_params(const std::string& path,
                                const ParamNames& names) {
  return catching_out_of_memory([&]() -> Result<NamedArrays> {
    struct stat status {};
    const bool folder =
        ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
    const Place place{path, folder};
    return folder                           ? read_folder(place, names)
           : path.ends_with(".safetensors") ? read_safetensors(place, names)
           : path.ends_with(kShardedSuffix) ? read_shards(place, names)
                                            : read_archive(place, names);
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

}  // namespace headwise
