// Tensors from the files that options name.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "headwise/base/tensor.h"
#include "headwise/interop/array.h"
#include "headwise/interop/file_subject.h"
#include "option_errors.h"

namespace headwise::cli {

// A file as it was asked for.
struct FileOption {
  std::string_view option;
  const std::string& path;  // empty: the option was not given
};

// The elements of an array of that file, as T.
template <class T, std::size_t Rank>
Result<Tensor<T, Rank>> tensor_of(const FileOption& file, const Array& array) {
  auto tensor = [&] {
    if constexpr (std::is_same_v<T, bool>) {
      return to_bool<Rank>(array, "", file.option);
    } else if constexpr (std::is_same_v<T, float>) {
      return to_float<Rank>(array, "", file.option);
    } else {
      return to_int64<Rank>(array, "", file.option);
    }
  }();
  return tensor ? std::move(tensor)
                : FileSubject{std::string(file.option), file.path}.blame_here(
                      tensor.error());
}

// Puts the axis B before those of an array that has none.
inline void add_batch_axis(Array& array) {
  array.shape.insert(array.shape.begin(), 1);
}

// Reads the file, if there is one, into `place`. `axes` are what it must have;
// unless `batched`, the first of them, B, may be missing.
template <class T, std::size_t Rank>
Status read_tensor(const FileOption& file, std::string_view axes, bool batched,
                   std::optional<Tensor<T, Rank>>& place) {
  if (file.path.empty()) {
    return ok();
  }
  HEADWISE_ASSIGN(auto array, read_file_of(file.option, file.path));
  if (!batched && array.shape.size() + 1 == Rank) {
    add_batch_axis(array);
  }
  if (array.shape.size() != Rank) {
    return wrong_rank(file.option, array, axes);
  }
  HEADWISE_ASSIGN(place, tensor_of<T, Rank>(file, array));
  return ok();
}

}  // namespace headwise::cli
