#include "attention/check_call.h"

#include <algorithm>
#include <cassert>
#include <initializer_list>
#include <string>
#include <tuple>

#include "attention/check_parts.h"
#include "base/check.h"
#include "base/memory_overlap.h"
#include "kernels/narrow.h"
#include "steps/step_checks.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

// What the sizes of the table are in one call.
class Sizes {
 public:
  explicit Sizes(const AttentionSpec& spec) {
    const AttentionShape& shape = spec.shape;
    const StatisticsOptions& asked = spec.statistics.wanted();
    set(Size::none, 0);
    set(Size::sequences, shape.B);
    set(Size::batch, shape.batches());
    set(Size::queries, shape.query_rows());
    // Over a cache: batched queries, and keys that are in no tensor.
    set(Size::keys,
        shape.offsets.batched_queries() ? shape.Lkv : shape.key_rows());
    set(Size::longest_queries, shape.Lq);
    set(Size::pair_columns, spec.pair_columns());
    set(Size::query_heads, shape.Hq);
    set(Size::key_heads, shape.Hkv);
    set(Size::weight_heads,
        spec.attn_weights == AttnWeights::mean ? 1 : shape.Hq);
    set(Size::features, shape.D);
    set(Size::value_features, shape.Dv);
    set(Size::row_numbers, 2);
    set(Size::statistics, kStatistics);
    set(Size::top_keys, asked.top_keys);
    set(Size::map_rows, map_size(shape.Lq));
    set(Size::map_columns, map_size(shape.Lkv));
    const Extents<4> bias =
        spec.bias.given() ? spec.bias.extents() : Extents<4>{};
    set(Size::bias_sequences, bias[0]);
    set(Size::bias_heads, bias[1]);
    set(Size::bias_queries, bias[2]);
    set(Size::bias_keys, bias[3]);
    set(Size::t5_buckets, spec.t5_bias.table().extent(0));
  }

  std::size_t of(Size size) const {
    return sizes_[static_cast<std::size_t>(size)];
  }

 private:
  void set(Size size, std::size_t number) {
    sizes_[static_cast<std::size_t>(size)] = number;
  }

  std::array<std::size_t, kSizes> sizes_;
};

bool holds(const AttentionSpec& spec, Condition condition) {
  const StatisticsOptions& asked = spec.statistics.wanted();
  switch (condition) {
    case Condition::none:
      return true;
    case Condition::attn_weights:
      return spec.attn_weights != AttnWeights::none;
    case Condition::last_keys:
      return has_last_keys(spec.key_part);
    case Condition::key_part:
      return spec.key_part != KeyPart::all;
    case Condition::query_part:
      return spec.query_part != QueryPart::all;
    case Condition::scores:
      return spec.scores != ScoresStage::none;
    case Condition::rows:
      return asked.rows;
    case Condition::top_keys:
      return asked.top_keys != 0;
    case Condition::columns:
      return asked.columns;
    case Condition::map:
      return asked.map;
    case Condition::bias:
      return spec.bias.given();
    case Condition::t5_bias:
      return spec.t5_bias.given();
    case Condition::alibi:
      return spec.alibi.given();
    case Condition::score_weight:
      return spec.additive();
    case Condition::sinks:
      return spec.sinks.given();
    case Condition::bias_k:
      return spec.added_keys.learned();
  }
  return false;
}

std::string_view why_not(Condition condition) {
  switch (condition) {
    case Condition::last_keys:
      return "none: only the last part of the keys has it";
    case Condition::key_part:
      return "none: the options have no key_part";
    case Condition::query_part:
      return "none: the options have no query_part";
    case Condition::bias:
      return "none: the options have no bias";
    case Condition::t5_bias:
      return "none: the options have no t5_bias";
    case Condition::alibi:
      return "none: the options have no alibi";
    case Condition::score_weight:
      return "none: the options have no score_weight";
    case Condition::sinks:
      return "none: the options have no sinks";
    case Condition::bias_k:
      return "none: the options have no added_keys.bias_k";
    default:
      return "none: the options do not ask for it";
  }
}

// Whether a part of this kind may have a gradient of those parts.
Status check_gradient_of_part(std::string_view operation, std::string_view name,
                              const AttentionSpec& spec, Parts parts) {
  if (parts == Parts::any) {
    return ok();
  }
  const bool of_keys = parts == Parts::of_keys || parts == Parts::last_of_keys;
  if (spec.key_part != KeyPart::all && !of_keys) {
    return value_error(operation, name, "given", "none in a part of the keys",
                       ErrorCode::unsupported);
  }
  if (spec.query_part != QueryPart::all && parts != Parts::last_of_queries) {
    return value_error(operation, name, "given",
                       "none in a part of the queries", ErrorCode::unsupported);
  }
  if (parts == Parts::last_of_keys && !has_last_keys(spec.key_part)) {
    return value_error(operation, name, "given",
                       "none: only the last part of the keys has it");
  }
  if (parts == Parts::last_of_queries && !has_last_queries(spec.query_part)) {
    return value_error(operation, name, "given",
                       "none: only the last part of the queries has it");
  }
  return ok();
}

bool has_elements(const UntypedView& view) {
  return std::ranges::find(view.extents(), 0) == view.extents().end();
}

// One tensor against its row of the table.
class TensorCheck {
 public:
  TensorCheck(std::string_view operation, const AttentionSpec& spec,
              const CallTypes& types)
      : operation_(operation), spec_(spec), types_(types), sizes_(spec) {}

  Status inputs(std::span<const CallArgument> arguments) const {
    for (const CallArgument& argument : arguments) {
      HEADWISE_TRY(check(argument, !argument.optional));
    }
    return ok();
  }
  Status outputs(std::span<const CallArgument> arguments) const {
    for (const CallArgument& argument : arguments) {
      const CallTensorRow& row = row_of(argument.tensor);
      HEADWISE_TRY(check(argument, row.need != Need::if_wanted &&
                                       holds(spec_, row.condition)));
    }
    return ok();
  }

 private:
  Status check(const CallArgument& argument, bool needed) const {
    const CallTensorRow& row = row_of(argument.tensor);
    const bool given = argument.view.data() != nullptr;
    if (!given && !needed) {
      return ok();
    }
    if (given && has_elements(argument.view)) {
      HEADWISE_TRY(
          check_gradient_of_part(operation_, row.name, spec_, row.parts));
    }
    if (given && !holds(spec_, row.condition)) {
      // A view without elements cannot be written, so it counts as none.
      return has_elements(argument.view)
                 ? value_error(operation_, row.name, "given",
                               why_not(row.condition))
                 : ok();
    }
    if (const DType type = type_of(row.type); argument.view.dtype() != type) {
      return argument_error(
          operation_, row.name,
          message("is of type {}", name_of(argument.view.dtype())),
          name_of(type));
    }
    std::array<std::size_t, UntypedView::kMostAxes> extents;
    std::ranges::transform(row.sizes, extents.begin(),
                           [&](Size size) { return sizes_.of(size); });
    const std::span<const std::size_t> expected =
        std::span(extents).first(argument.view.extents().size());
    // Without elements there is nothing to write.
    if (!given && row.need == Need::if_asked &&
        std::ranges::find(expected, 0) != expected.end()) {
      return ok();
    }
    return check_shape(operation_, row.name, argument.view.extents(), axes(row),
                       expected);
  }

  DType type_of(ElementType type) const {
    switch (type) {
      case ElementType::of_call:
        return types_.of_call;
      case ElementType::of_sums:
        return types_.of_sums;
      case ElementType::float32:
        return DType::float32;
      case ElementType::int64:
        return DType::int64;
    }
    return DType::float32;
  }

  std::string_view axes(const CallTensorRow& row) const {
    const bool mean = row.sizes[1] == Size::weight_heads &&
                      spec_.attn_weights == AttnWeights::mean;
    if (row.sizes[3] == Size::pair_columns && spec_.added_keys.count() != 0) {
      return pair_axes(spec_.added_keys, mean);
    }
    const bool other = row.sizes[1] == Size::weight_heads
                           ? mean
                           : spec_.shape.has_query_rows();
    return other && !row.other_axes.empty() ? row.other_axes : row.axes;
  }

  std::string_view operation_;
  const AttentionSpec& spec_;
  const CallTypes& types_;
  Sizes sizes_;
};

// The offsets are looked at in each run; they may have changed.
Status check_offsets(std::string_view operation, const AttentionShape& shape,
                     std::size_t queries, std::size_t keys) {
  if (!shape.offsets.ragged()) {
    return ok();
  }
  HEADWISE_TRY(shape.offsets.check(queries, keys, operation));
  return check_longest(operation, shape, shape.offsets);
}

constexpr std::size_t kMostArguments = 15;  // read, or written
using Footprints = std::array<NamedFootprint, kMostArguments>;

// What the sums of a part become in the last one.
constexpr std::array<std::pair<CallTensor, CallTensor>, 5> kStates = {{
    {CallTensor::state_rows, CallTensor::softmax_rows},
    {CallTensor::state_context, CallTensor::output},
    {CallTensor::state_d_query, CallTensor::d_query},
    {CallTensor::state_d_key, CallTensor::d_key},
    {CallTensor::state_d_value, CallTensor::d_value},
}};

// Whether the tensor holds sums in the very place of what they become: the sums
// of a row are read before anything is written there.
bool is_in_its_output(const CallArgument& argument,
                      std::span<const CallArgument> arguments) {
  const auto* const state = std::ranges::find(
      kStates, argument.tensor, &std::pair<CallTensor, CallTensor>::first);
  return state != kStates.end() &&
         std::ranges::any_of(arguments, [&](const CallArgument& other) {
           return other.tensor == state->second &&
                  is_same_view(argument.view, other.view);
         });
}

// Those of tensors that are there.
std::span<const NamedFootprint> footprints_of(
    std::initializer_list<std::span<const CallArgument>> tensors,
    Footprints& memory) {
  std::size_t count = 0;
  for (const std::span<const CallArgument> arguments : tensors) {
    for (const CallArgument& argument : arguments) {
      if (argument.view.data() != nullptr &&
          !is_in_its_output(argument, arguments)) {
        assert(count < memory.size());
        memory[count++] = {row_of(argument.tensor).name,
                           Footprint(argument.view)};
      }
    }
  }
  return std::span(memory).first(count);
}

Status check_memory(std::string_view operation,
                    std::span<const CallArgument> inputs,
                    std::span<const CallArgument> also_read,
                    std::span<const CallArgument> outputs) {
  Footprints read;
  Footprints written;
  return check_overlap(operation, footprints_of({outputs}, written),
                       footprints_of({inputs, also_read}, read));
}

}  // namespace

Status check_longest(std::string_view operation, const AttentionShape& shape,
                     const Offsets& offsets) {
  const bool same = offsets.query.data() == offsets.key.data();
  for (const auto& [name, given, most] :
       {std::tuple(same ? "offsets" : "offsets.query", longest(offsets.query),
                   shape.Lq),
        std::tuple(same ? "offsets" : "offsets.key", longest(offsets.key),
                   shape.Lkv)}) {
    if (given > most) {
      return argument_error(
          operation, name, message("is of a sequence of {}", given),
          message("at most the plan's {}", most), ErrorCode::out_of_range);
    }
  }
  return ok();
}

Status check_call(std::string_view operation, const AttentionSpec& spec,
                  const CallTypes& types, std::span<const CallArgument> inputs,
                  std::span<const CallArgument> outputs) {
  HEADWISE_TRY(kernels::check_narrow(types.of_call != DType::float32));
  const TensorCheck check(operation, spec, types);
  HEADWISE_TRY(check.inputs(inputs));
  const auto rows_of = [&](CallTensor tensor) {
    const auto at = std::ranges::find(inputs, tensor, &CallArgument::tensor);
    return at->view.extents()[1];
  };
  HEADWISE_TRY(check_offsets(operation, spec.shape, rows_of(CallTensor::query),
                             rows_of(CallTensor::key)));
  HEADWISE_TRY(check_keys_of_part(operation, spec.key_part, spec.shape));
  HEADWISE_TRY(check.outputs(outputs));
  return check_memory(operation, inputs, {}, outputs);
}

template <class T>
Result<AttentionSpec> backward_spec(const BackwardInputsOf<T>& inputs,
                                    const AttentionGradientsOf<T>& gradients,
                                    const AttentionOptions& options,
                                    const OperationOptions& operation_options) {
  constexpr std::string_view kOperation = "attention_backward";
  const auto shape = attention_shape(
      inputs.query.extents(), inputs.key.extents(), inputs.value.extents());
  HEADWISE_TRY(shape);
  if (operation_options.statistics.any()) {
    return value_error(kOperation, "statistics", "asked for",
                       "none: the forward pass computes them");
  }
  auto spec =
      AttentionSpec::create(*shape, options, operation_options, kOperation);
  HEADWISE_TRY(spec);
  HEADWISE_TRY(check_backward(*spec, inputs, gradients));
  if (spec->key_part != KeyPart::all && gradients.alibi.data() != nullptr &&
      gradients.state.alibi.data() == nullptr) {
    return value_error(kOperation, "state.alibi", "not given",
                       "one with the rows' shares of d_alibi");
  }
  return spec;
}

#define HEADWISE_BACKWARD_SPEC(T)                                 \
  template Result<AttentionSpec> backward_spec(                   \
      const BackwardInputsOf<T>&, const AttentionGradientsOf<T>&, \
      const AttentionOptions&, const OperationOptions&);
HEADWISE_BACKWARD_SPEC(float)
HEADWISE_BACKWARD_SPEC(double)
HEADWISE_BACKWARD_SPEC(BFloat16)
HEADWISE_BACKWARD_SPEC(Float16)
#undef HEADWISE_BACKWARD_SPEC

}  // namespace headwise::inline HEADWISE_ABI

namespace headwise::internal::inline HEADWISE_ABI {

Status check_cached_call(std::string_view operation, const AttentionSpec& spec,
                         const CallTypes& types,
                         std::span<const CallArgument> inputs,
                         std::span<const CallArgument> appended,
                         std::span<const CallArgument> outputs) {
  const TensorCheck check(operation, spec, types);
  HEADWISE_TRY(check.inputs(inputs));
  HEADWISE_TRY(check.outputs(outputs));
  return check_memory(operation, inputs, appended, outputs);
}

}  // namespace headwise::internal::inline HEADWISE_ABI
