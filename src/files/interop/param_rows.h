// A table whose rows are widened one by one, from the bytes of its file.
#pragma once

#include <cstddef>
#include <memory>

#include "headwise/version.h"

namespace headwise::internal::inline HEADWISE_ABI {

struct GgufType;

#pragma GCC visibility push(default)
struct ParamRows {
  std::size_t rows = 0;
  std::size_t features = 0;
  const void* data = nullptr;
  const GgufType* type = nullptr;  // of its numbers
  std::shared_ptr<const void> owner{};

  // `to` has `features` numbers.
  void copy_row(std::size_t row, float* to) const {
    copy_part(row, 0, features, to);
  }
  // The features from `first` on; both numbers are multiples of a block.
  void copy_part(std::size_t row, std::size_t first, std::size_t count,
                 float* to) const;
};
#pragma GCC visibility pop

}  // namespace headwise::internal::inline HEADWISE_ABI
