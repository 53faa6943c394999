// Compares two dialects on one input: the first step that differs, and why.
// Every step is computed as the library does it, masked scores in float32 with
// its own fill, so masked keys get weight here if they do in the library.
//
//   step              what differs
//   mask              which keys may be attended to, or what is added to scores
//   causal_mask       which keys a causal mask lets a query see
//   softcap           whether scores are capped before or after the mask
//   masked_scores     whether masked keys get weight because of a finite fill
//   attn_weights      what a fully masked row gives
//   returned_weights  before or after dropout, per head or their mean
//
// Example:
//   auto difference = diff_dialects(*torch_mha, *keras,
//                                   {.query = q, .key = k, .mask =
//                                   &array}).value();
//   if (difference) std::cout << difference->step << ": " << difference->why;
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/base/tensor_view.h"
#include "headwise/interop/array.h"
#include "headwise/interop/dialects.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// One call. The views and arrays must outlive it.
struct DialectInput {
  TensorView<const float, 4> query;    // (B, Lq, Hq, D)
  TensorView<const float, 4> key;      // (B, Lkv, Hkv, D)
  bool batched = true;                 // whether the arrays have a batch axis
  const Array* mask = nullptr;         // as the library takes it
  const Array* key_padding = nullptr;  // (B, Lkv)
  TensorView<const std::int64_t, 1> key_lengths{};  // (B)
  bool causal = false;
  std::size_t past_length = 0;  // number of keys before those of the queries
  std::optional<double> scale{};
  std::optional<double> softcap{};
  bool returns_weights = false;
  double dropout = 0;  // the probability, for rules that depend on it
};

struct DialectDifference {
  std::string step;
  Message why;           // one sentence, without a full stop
  std::size_t rows = 0;  // the number of rows (b, h, i) that differ
  std::vector<std::array<std::size_t, 3>> first_rows;  // at most 8 of them
  // The place of the largest difference, and the two numbers there. In a mask 1
  // means "may attend".
  std::array<std::size_t, 4> at{};  // b, h, i, j
  double first = 0;                 // of the first dialect
  double second = 0;                // of the second
};

// No value if both give the same numbers, within 1e-5. If only one dialect
// takes the mask, they differ at "mask". Errors: shape_mismatch, out_of_range,
// those of read_mask() if neither dialect takes the mask, out_of_memory.
Result<std::optional<DialectDifference>> diff_dialects(
    const Dialect& a, const Dialect& b, const DialectInput& input);

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
