#include "tensor_file.h"

#include <algorithm>
#include <utility>

#include "shell/error_of_option.h"
#include "tensor_name.h"

namespace headwise::cli {
namespace {

Result<SafetensorsTensor> map_tensor(std::string_view option,
                                     const std::string& path) {
  HEADWISE_ASSIGN(const auto file, open_safetensors(path, FileAccess::mapped));
  HEADWISE_ASSIGN(const auto name, name_of_tensor(file, option, path));
  return file.tensor(name);
}

}  // namespace

Result<TensorFile> TensorFile::open(std::string_view option,
                                    const std::string& path) {
  if (path.ends_with(".safetensors")) {
    auto tensor = map_tensor(option, path);
    return tensor ? Result<TensorFile>(TensorFile(option, *std::move(tensor)))
                  : error_of_option(option, tensor.error());
  }
  auto file = NpyFile::open(path);
  return file ? Result<TensorFile>(TensorFile(option, *std::move(file)))
              : error_of_option(option, file.error());
}

DType TensorFile::dtype() const {
  if (const auto* const npy = std::get_if<NpyFile>(&source_)) {
    return npy->dtype();
  }
  return std::get<SafetensorsTensor>(source_).view.dtype();
}

std::vector<std::size_t> TensorFile::shape() const {
  if (const auto* const npy = std::get_if<NpyFile>(&source_)) {
    return npy->shape();
  }
  const auto extents = std::get<SafetensorsTensor>(source_).view.extents();
  return {extents.begin(), extents.end()};
}

Status TensorFile::read(std::size_t first,
                        std::span<std::byte> elements) const {
  if (const auto* const npy = std::get_if<NpyFile>(&source_)) {
    const Status status = npy->read(first, elements);
    return status ? status : error_of_option(option_, status.error());
  }
  const AnyView& view = std::get<SafetensorsTensor>(source_).view;
  std::copy_n(static_cast<const std::byte*>(view.data()) +
                  first * size_of(view.dtype()),
              elements.size(), elements.begin());
  return ok();
}

}  // namespace headwise::cli
