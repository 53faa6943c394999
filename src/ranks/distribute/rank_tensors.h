// What a rank passes to a call of all ranks.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "base/check.h"
#include "distribute/shards.h"
#include "headwise/attention/spec.h"
#include "headwise/attention/tensors.h"
#include "headwise/base/result.h"
#include "headwise/distribute/communicator.h"

namespace headwise::inline HEADWISE_ABI {

// Errors: invalid_argument, out_of_range for numbers that no group has.
Status check_rank_numbers(std::string_view operation, std::size_t ranks,
                          std::size_t rank);

// Whether it is the group that create() was told of. Errors: invalid_argument.
Status check_group(std::string_view operation, const Communicator& group,
                   std::size_t ranks, std::size_t rank);

// What no rank can have for its rows alone. Errors: unsupported.
Status check_rank_options(std::string_view operation,
                          const AttentionOptions& options,
                          const OperationOptions& operation_options);

// A rank without rows may leave out the tensor.
template <class T, std::size_t Rank>
Status check_rank_tensor(std::string_view operation, std::string_view argument,
                         const TensorView<T, Rank>& view, std::string_view axes,
                         const std::array<std::size_t, Rank>& expected) {
  return view.size() == 0 && checked_product(expected) == 0
             ? ok()
             : check_shape(operation, argument, view.extents(), axes, expected);
}

template <class T>
Status check_rank_inputs(std::string_view operation,
                         const AttentionShape& shape, const Shards& shards,
                         std::size_t rank, const AttentionInputsOf<T>& own) {
  const std::size_t queries = rows_of_rank(shards.queries, rank);
  const std::size_t keys = rows_of_rank(shards.keys, rank);
  HEADWISE_TRY(check_rank_tensor<const T, 4>(operation, "query", own.query,
                                             "(1, queries, Hq, D)",
                                             {1, queries, shape.Hq, shape.D}));
  HEADWISE_TRY(check_rank_tensor<const T, 4>(operation, "key", own.key,
                                             "(1, keys, Hkv, D)",
                                             {1, keys, shape.Hkv, shape.D}));
  return check_rank_tensor<const T, 4>(operation, "value", own.value,
                                       "(1, keys, Hkv, Dv)",
                                       {1, keys, shape.Hkv, shape.Dv});
}

template <class T>
Status check_rank_tensors(std::string_view operation,
                          const AttentionShape& shape, const Shards& shards,
                          std::size_t rank, const AttentionInputsOf<T>& own,
                          const AttentionOutputsOf<T>& outputs) {
  HEADWISE_TRY(check_rank_inputs(operation, shape, shards, rank, own));
  const std::size_t queries = rows_of_rank(shards.queries, rank);
  HEADWISE_TRY(check_rank_tensor<T, 4>(operation, "output", outputs.output,
                                       "(1, queries, Hq, Dv)",
                                       {1, queries, shape.Hq, shape.Dv}));
  if (outputs.lse.data() != nullptr) {
    HEADWISE_TRY(check_rank_tensor<float, 3>(operation, "lse", outputs.lse,
                                             "(1, Hq, queries)",
                                             {1, shape.Hq, queries}));
  }
  return outputs.softmax_rows.data() == nullptr
             ? ok()
             : check_rank_tensor<float, 4>(
                   operation, "softmax_rows", outputs.softmax_rows,
                   "(1, Hq, queries, 2)", {1, shape.Hq, queries, 2});
}

}  // namespace headwise::inline HEADWISE_ABI
