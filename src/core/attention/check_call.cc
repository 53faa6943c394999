#include "attention/check_call.h"

#include <algorithm>
#include <cassert>
#include <span>
#include <string>
#include <tuple>

#include "attention/call_tensors.h"
#include "attention/check_parts.h"
#include "base/check.h"
#include "base/for_number_type.h"
#include "base/memory_overlap.h"
#include "kernels/narrow.h"
#include "steps/step_checks.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kBackward = "attention_backward";

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
  void set(Size size, std::size_t number) {
    sizes_[static_cast<std::size_t>(size)] = number;
  }
  // Of a tensor, as many as it has axes.
  class OfTensor {
   public:
    OfTensor(const Sizes& sizes, const CallTensorRow& row) {
      for (; rank_ < row.sizes.size() && row.sizes[rank_] != Size::none;
           ++rank_) {
        extents_[rank_] = sizes.of(row.sizes[rank_]);
      }
    }
    std::span<const std::size_t> all() const {
      return std::span(extents_).first(rank_);
    }
    bool no_element() const { return std::ranges::count(all(), 0) != 0; }

   private:
    std::array<std::size_t, TensorArg::kMostAxes> extents_{};
    std::size_t rank_ = 0;
  };

 private:
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

bool has_elements(const TensorArg& tensor) {
  return tensor.rank() != 0 && std::ranges::count(tensor.extents(), 0) == 0;
}

// Those of a tensor that has as many axes as are expected, or is missing.
std::span<const std::size_t> extents_of(const TensorArg& tensor,
                                        std::size_t axes) {
  static constexpr std::array<std::size_t, TensorArg::kMostAxes> kNone{};
  return tensor.rank() != 0 ? tensor.extents() : std::span(kNone).first(axes);
}

// Where the gradients and their state begin, behind the outputs of a forward
// call, and those behind what is read.
constexpr std::size_t kFirstOutput = index_of(CallTensor::output);
constexpr std::size_t kFirstGradient = index_of(CallTensor::d_query);

// A tensor that only a backward call reads.
constexpr bool is_saved(CallTensor tensor) {
  return tensor == CallTensor::saved_output ||
         tensor == CallTensor::saved_rows || tensor == CallTensor::d_output;
}

// A call's tensors: what it is given, and those of its options.
class Arguments {
 public:
  Arguments(const AttentionSpec& spec, const CallTensors& tensors)
      : tensors_(tensors) {
    add_option_tensors(spec, of_options_);
  }

  const TensorArg& of(CallTensor tensor) const {
    return of_options_.has(tensor) ? of_options_[tensor] : tensors_[tensor];
  }
  // Calls body(tensor, argument) for each that the call reads, in order, while
  // it returns ok(), and likewise for each that it writes; but not for those
  // that may be missing and are.
  template <class Body>
  Status for_each_read(const Body& body) const {
    for (std::size_t n = 0; n < kFirstOutput; ++n) {
      const auto tensor = static_cast<CallTensor>(n);
      if (tensors_.backward() || !is_saved(tensor)) {
        HEADWISE_TRY(call(body, tensor, of(tensor)));
      }
    }
    return ok();
  }
  template <class Body>
  Status for_each_written(const Body& body) const {
    const std::size_t end = tensors_.backward() ? kCallTensors : kFirstGradient;
    for (std::size_t n = tensors_.backward() ? kFirstGradient : kFirstOutput;
         n < end; ++n) {
      const auto tensor = static_cast<CallTensor>(n);
      HEADWISE_TRY(call(body, tensor, tensors_[tensor]));
    }
    return ok();
  }

 private:
  template <class Body>
  static Status call(const Body& body, CallTensor tensor,
                     const TensorArg& argument) {
    return argument.given() || row_of(tensor).need != Need::if_wanted
               ? body(tensor, argument)
               : ok();
  }

  CallTensors of_options_;
  const CallTensors& tensors_;
};

// `number`: of the query.
DType type_of(ElementType type, DType number) {
  switch (type) {
    case ElementType::of_call:
      return number;
    case ElementType::of_sums:
      return number == DType::float64 ? DType::float64 : DType::float32;
    case ElementType::float32:
      return DType::float32;
    case ElementType::int64:
      return DType::int64;
  }
  return DType::float32;
}

Status check_element_type(std::string_view operation, std::string_view name,
                          const CallTensorRow& row, const TensorArg& argument,
                          DType number) {
  const DType type = type_of(row.type, number);
  return !argument.given() || argument.dtype() == type
             ? ok()
             : Status(argument_error(
                   operation, name,
                   message("is of type {}", name_of(argument.dtype())),
                   name_of(type)));
}

// One tensor against its row of the table.
class TensorCheck {
 public:
  TensorCheck(std::string_view operation, const AttentionSpec& spec,
              DType given, DType widest)
      : operation_(operation),
        spec_(spec),
        type_(is_narrow(given) ? given : widest),
        sizes_(spec) {}

  Status operator()(CallTensor tensor, const TensorArg& argument) const {
    const CallTensorRow& row = row_of(tensor);
    const bool given = argument.given();
    if (!given && !holds(spec_, row.condition)) {
      return ok();
    }
    if (given && has_elements(argument)) {
      HEADWISE_TRY(
          check_gradient_of_part(operation_, row.name, spec_, row.parts));
    }
    if (given && !holds(spec_, row.condition)) {
      // A view without elements cannot be written, so it counts as none.
      return has_elements(argument) ? value_error(operation_, row.name, "given",
                                                  why_not(row.condition))
                                    : ok();
    }
    HEADWISE_TRY(
        check_element_type(operation_, row.name, row, argument, type_));
    const Sizes::OfTensor expected(sizes_, row);
    // Without elements there is nothing to write.
    if (!given && row.need == Need::if_asked && expected.no_element()) {
      return ok();
    }
    return check_shape(operation_, row.name,
                       extents_of(argument, expected.all().size()), axes(row),
                       expected.all());
  }

 private:
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
  DType type_;
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

// What the sums of a part become in the last one.
CallTensor becomes(CallTensor state) {
  switch (state) {
    case CallTensor::state_rows:
      return CallTensor::softmax_rows;
    case CallTensor::state_context:
      return CallTensor::output;
    case CallTensor::state_d_query:
      return CallTensor::d_query;
    case CallTensor::state_d_key:
      return CallTensor::d_key;
    case CallTensor::state_d_value:
      return CallTensor::d_value;
    default:
      return state;
  }
}

// Whether the tensor holds sums in the very place of what they become: the sums
// of a row are read before anything is written there.
bool is_in_its_output(const CallTensors& tensors, CallTensor tensor) {
  const CallTensor output = becomes(tensor);
  return output != tensor && is_same_view(tensors[tensor], tensors[output]);
}

// The memory of tensors that are there.
class Footprints {
 public:
  Status operator()(CallTensor tensor, const TensorArg& argument) {
    if (argument.given()) {
      assert(count_ < memory_.size());
      memory_[count_++] = {row_of(tensor).name, Footprint(argument)};
    }
    return ok();
  }
  std::span<const NamedFootprint> all() const {
    return std::span(memory_).first(count_);
  }

 private:
  std::array<NamedFootprint, kFirstOutput> memory_;  // as many as are read
  std::size_t count_ = 0;
};

Status check_memory(std::string_view operation, const Arguments& arguments,
                    const CallTensors& tensors) {
  Footprints read;
  Footprints written;
  HEADWISE_TRY(arguments.for_each_read(
      [&](CallTensor tensor, const TensorArg& argument) {
        return read(tensor, argument);
      }));
  HEADWISE_TRY(arguments.for_each_written([&](CallTensor tensor,
                                              const TensorArg& argument) {
    return is_in_its_output(tensors, tensor) ? ok() : written(tensor, argument);
  }));
  return check_overlap(operation, written.all(), read.all());
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

std::string_view name_of(CallTensor tensor) { return row_of(tensor).name; }

TensorArg expected_tensor(const AttentionSpec& spec, CallTensor tensor,
                          DType number) {
  const CallTensorRow& row = row_of(tensor);
  const bool wanted = row.need == Need::if_wanted && !is_gradient(tensor);
  return wanted || holds(spec, row.condition)
             ? TensorArg(nullptr, type_of(row.type, number),
                         Sizes::OfTensor(Sizes(spec), row).all())
             : TensorArg();
}

Result<AttentionShape> attention_shape(const CallTensors& tensors) {
  const auto extents = [&](CallTensor tensor) {
    return tensors[tensor].extents4();
  };
  return attention_shape(extents(CallTensor::query), extents(CallTensor::key),
                         extents(CallTensor::value));
}

Status check_call(std::string_view operation, const AttentionSpec& spec,
                  const CallTensors& tensors, DType widest) {
  const TensorArg& query = tensors[CallTensor::query];
  HEADWISE_TRY(kernels::check_narrow(query.dtype() != DType::float32));
  const TensorCheck check(operation, spec, query.dtype(), widest);
  const Arguments arguments(spec, tensors);
  HEADWISE_TRY(arguments.for_each_read(check));
  HEADWISE_TRY(check_offsets(operation, spec.shape, query.extent(1),
                             tensors[CallTensor::key].extent(1)));
  HEADWISE_TRY(check_keys_of_part(operation, spec.key_part, spec.shape));
  HEADWISE_TRY(arguments.for_each_written(check));
  return check_memory(operation, arguments, tensors);
}

Status check_backward(const AttentionSpec& spec, const CallTensors& tensors,
                      DType widest) {
  if (spec.statistics.any()) {
    return value_error(kBackward, "statistics", "asked for",
                       "none: the forward pass computes them");
  }
  HEADWISE_TRY(check_call(kBackward, spec, tensors, widest));
  return spec.key_part != KeyPart::all && tensors.has(CallTensor::d_alibi) &&
                 !tensors.has(CallTensor::state_d_alibi)
             ? Status(value_error(kBackward, "state.alibi", "not given",
                                  "one with the rows' shares of d_alibi"))
             : ok();
}

Result<AttentionSpec> backward_spec(const CallTensors& tensors,
                                    const AttentionOptions& options,
                                    const OperationOptions& operation_options,
                                    DType widest) {
  HEADWISE_ASSIGN(const auto shape, attention_shape(tensors));
  HEADWISE_ASSIGN(auto spec, AttentionSpec::create(
                                 shape, options, operation_options, kBackward));
  HEADWISE_TRY(check_backward(spec, tensors, widest));
  return spec;
}

}  // namespace headwise::inline HEADWISE_ABI

namespace headwise::internal::inline HEADWISE_ABI {

Status check_cached_call(std::string_view operation, const AttentionSpec& spec,
                         const CallTensors& tensors) {
  const TensorCheck check(operation, spec, tensors[CallTensor::query].dtype(),
                          DType::float32);
  const Arguments arguments(spec, tensors);
  HEADWISE_TRY(arguments.for_each_read(
      [&](CallTensor tensor, const TensorArg& argument) {
        const bool appended =
            tensor == CallTensor::key || tensor == CallTensor::value;
        return appended ? ok() : check(tensor, argument);
      }));
  HEADWISE_TRY(arguments.for_each_written(check));
  return check_memory(operation, arguments, tensors);
}

Status check_own_tensors(std::string_view operation, const AttentionSpec& spec,
                         const OwnTokens& own, const CallTensors& tensors) {
  Sizes sizes(spec);
  sizes.set(Size::batch, 1);
  sizes.set(Size::queries, own.queries);
  sizes.set(Size::keys, own.keys);
  const DType given = tensors[CallTensor::query].dtype();
  const DType number = is_narrow(given) ? given : DType::float32;
  const auto check = [&](CallTensor tensor) -> Status {
    const CallTensorRow& row = row_of(tensor);
    const TensorArg& argument = tensors[tensor];
    if (!argument.given() && row.need == Need::if_wanted) {
      return ok();
    }
    // d_query: gradients.query
    const bool gradient = is_gradient(tensor);
    const std::string name =
        (gradient ? "gradients." : "") +
        std::string(row.name.substr(gradient ? sizeof("d_") - 1 : 0));
    if (!holds(spec, row.condition)) {
      return value_error(operation, name, "given", why_not(row.condition));
    }
    HEADWISE_TRY(check_element_type(operation, name, row, argument, number));
    const Sizes::OfTensor expected(sizes, row);
    const bool has_rows = row.sizes[0] == Size::batch;
    return has_rows && !has_elements(argument) && expected.no_element()
               ? ok()
               : check_shape(operation, name,
                             extents_of(argument, expected.all().size()),
                             has_rows ? row.other_axes : row.axes,
                             expected.all());
  };
  using enum CallTensor;
  for (const CallTensor tensor : {query, key, value}) {
    HEADWISE_TRY(check(tensor));
  }
  // Their sizes are those of the rank's heads.
  for (const CallTensor tensor : {attn_weights, scores, d_attn_weights}) {
    const CallTensorRow& row = row_of(tensor);
    HEADWISE_TRY(
        check_element_type(operation, row.name, row, tensors[tensor], number));
  }
  if (!tensors.backward()) {
    for (const CallTensor tensor : {output, lse, softmax_rows}) {
      HEADWISE_TRY(check(tensor));
    }
    return ok();
  }
  for (const CallTensor tensor : {saved_output, saved_rows, d_output}) {
    HEADWISE_TRY(check(tensor));
  }
  for (std::size_t n = index_of(d_query); n <= index_of(d_bias_v); ++n) {
    HEADWISE_TRY(check(static_cast<CallTensor>(n)));
  }
  return ok();
}

}  // namespace headwise::internal::inline HEADWISE_ABI
