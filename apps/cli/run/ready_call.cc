#include "ready_call.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "operation/number_type.h"
#include "shell/outcome.h"

namespace headwise::cli {
namespace {

// (B, L), each row counting from `start`.
Result<Tensor<std::int64_t, 2>> positions_from(std::size_t B, std::size_t L,
                                               std::size_t start) {
  HEADWISE_ASSIGN(auto positions, Tensor<std::int64_t, 2>::create({B, L}));
  for (std::size_t b = 0; b < B; ++b) {
    for (std::size_t n = 0; n < L; ++n) {
      positions(b, n) = static_cast<std::int64_t>(start + n);
    }
  }
  return positions;
}

// `spec`: of the whole call, past keys included; `tensors`: without them.
Result<Rotation> rotation_of(const RotaryInputs& inputs,
                             const AttentionSpec& spec,
                             const AttentionShape& tensors,
                             const QueryStart& query_start,
                             const PastInputs& past) {
  HEADWISE_ASSIGN(auto rotary, inputs.rotary(tensors.D));
  Rotation rotation{std::move(rotary), spec.shape, query_start,
                    inputs.positions(), *spec.executor};
  if (!rotation.rotary || !past.given()) {
    return rotation;
  }
  // The whole call knows what bottom-right is.
  if (!query_start.differs_by_sequence() && tensors.B != 0) {
    rotation.query_start = query_start.of(0, spec.shape);
  }
  rotation.shape = tensors;
  HeadPositions& positions = rotation.positions;
  if (positions.key_positions.data() != nullptr) {
    return rotation;
  }
  if (rotation.rotary->positions() < spec.shape.Lkv) {
    return option_error(
        "--rotary-tables",
        message("has {} positions", rotation.rotary->positions()),
        message("at least {}", spec.shape.Lkv), ErrorCode::out_of_range);
  }
  HEADWISE_ASSIGN(rotation.key_positions,
                  positions_from(tensors.B, tensors.Lkv, past.length()));
  positions.key_positions = rotation.key_positions;
  return rotation;
}

// (B, L, H, D), whatever the layout of the file.
Extents<4> extents_of(const Array& array, bool heads_first) {
  const auto& shape = array.shape;
  return heads_first ? Extents<4>{shape[0], shape[2], shape[1], shape[3]}
                     : Extents<4>{shape[0], shape[1], shape[2], shape[3]};
}

void round_all(const std::string& dtype, Operands<float, 4>& operands) {
  for (auto* tensor : {&operands.query, &operands.key, &operands.value}) {
    round_to(dtype, tensor->elements());
  }
}

}  // namespace

Result<ReadyCall> make_ready(const RunFlags& flags, InputArrays arrays,
                             const PastInputs& past,
                             const AttentionOptions& options,
                             const OperationOptions& operation_options,
                             const RotaryInputs& rotary) {
  HEADWISE_TRY(check_inputs(flags, arrays));
  HEADWISE_ASSIGN(
      auto in, arrays.files ? Operands<float, 4>() : read_operands<4>(arrays));
  round_all(flags.dtype, in);
  const bool heads_first = flags.heads_first();
  const Extents<4> q = extents_of(arrays.query, heads_first);
  const Extents<4> k = extents_of(arrays.key, heads_first);
  const Extents<4> v = extents_of(arrays.value, heads_first);
  if (options.offsets.ragged()) {
    HEADWISE_TRY(options.offsets.check(q[1], k[1], "run"));
  }
  HEADWISE_ASSIGN(const auto tensors, attention_shape(q, k, v));
  AttentionShape whole = tensors;
  whole.Lkv += past.length();
  HEADWISE_ASSIGN(
      const auto spec,
      AttentionSpec::create(whole, options, operation_options, "run"));
  HEADWISE_ASSIGN(auto rotation, rotation_of(rotary, spec, tensors,
                                             options.query_start, past));
  HEADWISE_TRY(rotation.rotate({as_extents(in.query.view(), heads_first),
                                as_extents(in.key.view(), heads_first)}));
  round_all(flags.dtype, in);  // what was rotated
  HEADWISE_ASSIGN(auto joined, past.joined(flags, std::move(in)));
  return ReadyCall{
      std::move(joined),      whole, spec, options.bias, std::move(rotation),
      std::move(arrays.files)};
}

}  // namespace headwise::cli
