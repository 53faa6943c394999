// What a rank passes to a call of all ranks.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "base/check.h"
#include "distribute/shards.h"
#include "headwise/attention/call_tensors.h"
#include "headwise/attention/spec.h"
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

// `tensors`: those of the rank. Errors: shape_mismatch; invalid_argument for
// the gradient of an option that the call does not have; unsupported for a
// gradient state, which no rank can have for its rows alone.
Status check_rank_tensors(std::string_view operation, const AttentionSpec& spec,
                          const Shards& shards, std::size_t rank,
                          const CallTensors& tensors);

}  // namespace headwise::inline HEADWISE_ABI
