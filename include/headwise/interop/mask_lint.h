// Warnings about a mask, before it silently changes a result:
//
//   warning         what the mask looks like
//   empty_rows      some queries have no key
//   inverted        "may attend" and "masked" are exchanged: no query attends
//                   to its own key, or some rows see no key and few pairs are
//                   visible
//   alignment       causal from the top left with more keys than queries, so
//                   with a cache the newest keys are missing
//   padding_side    padding on the other side than expected
//   leak            causal, but a few keys after their query are visible
//   half_overflow   finite numbers that become -inf in float16
//
// Example:
//   for (const MaskWarning& warning :
//        lint_mask(*find_dialect("torch-mha"), array, sizes).value()) {
//     std::cout << warning.what << "; " << warning.mend << '\n';
//   }
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/interop/array.h"
#include "headwise/interop/dialect_mask.h"
#include "headwise/interop/dialects.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

struct MaskWarning {
  std::string_view name;  // of the table above
  Message what;           // a sentence without a full stop
  Message mend;           // how to fix it, likewise
  std::size_t rows = 0;   // the number of rows (b, h, i) concerned
  std::vector<std::array<std::size_t, 3>> first_rows;  // at most 8 of them
};

struct MaskLintOptions {
  bool key_padding = false;  // the mask is (B, Lkv), for read_key_padding()
  bool padded_left = false;  // the side on which padding is expected
};

// In the order of the table, each at most once. Sequences, heads and queries
// count as one row if the mask does not distinguish them. Errors: those of
// read_mask().
Result<std::vector<MaskWarning>> lint_mask(const Dialect& dialect,
                                           const Array& mask,
                                           const MaskSizes& sizes,
                                           const MaskLintOptions& options = {});

// The sizes of a call that a mask with this shape fits. Sizes that the shape
// does not give come from `others`, such as the heads of a (B * H, Lq, Lkv)
// mask. Errors: those of read_mask(), for a rank that the dialect does not
// take.
Result<MaskSizes> sizes_of_mask(const Dialect& dialect, const Array& mask,
                                const MaskSizes& others);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
