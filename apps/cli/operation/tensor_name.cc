#include "tensor_name.h"

#include <fmt/format.h>

#include <algorithm>

#include "headwise/interop/file_subject.h"

namespace headwise::cli {

Result<std::string> name_of_tensor(const SafetensorsFile& file,
                                   std::string_view option,
                                   const std::string& path) {
  std::string name(option.substr(option.find_first_not_of('-')));
  std::ranges::replace(name, '-', '_');
  if (file.tensors().size() == 1) {
    return file.tensors().begin()->first;
  }
  if (!file.tensors().contains(name)) {
    return FileSubject{.operation = "open_safetensors", .file = path}.bad_data(
        message("has {} tensors", file.tensors().size()),
        message("one tensor, or one of them with the name {}", name));
  }
  return name;
}

}  // namespace headwise::cli
