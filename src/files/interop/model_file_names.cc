#include <algorithm>
#include <array>
#include <iterator>
#include <set>

#include "headwise/interop/paths.h"
#include "interop/folder.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr int kDepth = 1;  // of the folders below a model's

// Model files in the folder and in folders in it, `depth` levels down.
std::vector<std::string> model_files_below(const std::string& folder,
                                           int depth) {
  std::vector<std::string> files;
  const auto names = names_in_folder("", folder);
  for (const std::string& name : names ? *names : std::set<std::string>()) {
    const std::string path = path_in(folder, name);
    if (may_be_model_file(name)) {
      files.push_back(path);
    } else if (depth > 0 && check_folder("", path)) {
      std::ranges::move(model_files_below(path, depth - 1),
                        std::back_inserter(files));
    }
  }
  return files;
}

}  // namespace

bool may_be_model_file(std::string_view name) {
  constexpr auto kEndings = std::to_array<std::string_view>(
      {".json", ".txt", ".safetensors", ".weight.npy", ".bias.npy"});
  return std::ranges::any_of(kEndings, [&](std::string_view ending) {
    return name.ends_with(ending);
  });
}

std::vector<std::string> model_files_in(const std::string& folder) {
  return model_files_below(folder, kDepth);
}

}  // namespace headwise::inline HEADWISE_ABI
