// The tensor that an option names, in its file, for processes that need only a
// part of it.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "headwise/base/dtype.h"
#include "headwise/base/result.h"
#include "headwise/interop/npy.h"
#include "headwise/interop/safetensors.h"

namespace headwise::cli {

class TensorFile {
 public:
  // Opens the file as read_file_of() does, with the same errors.
  static Result<TensorFile> open(std::string_view option,
                                 const std::string& path);

  const std::string& option() const { return option_; }
  DType dtype() const;
  std::vector<std::size_t> shape() const;
  // As NpyFile::read(); errors begin with the option.
  Status read(std::size_t first, std::span<std::byte> elements) const;

 private:
  using Source = std::variant<NpyFile, SafetensorsTensor>;
  TensorFile(std::string_view option, Source source)
      : option_(option), source_(std::move(source)) {}

  std::string option_;
  Source source_;
};

}  // namespace headwise::cli
