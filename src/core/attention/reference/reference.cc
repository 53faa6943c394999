#include "headwise/attention/reference.h"

#include "attention/check_call.h"
#include "attention/check_parts.h"
#include "attention/ragged_weights.h"
#include "attention/reference/reference_row.h"
#include "base/out_of_memory.h"
#include "steps/rows.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

// The mean over the heads, which share its rows: one (b, i) at a time.
template <class T>
void mean_rows(const AttentionSpec& spec, const AttentionInputsOf<T>& inputs,
               TensorView<T, 4> mean) {
  const auto& shape = spec.shape;
  for_each_row(*spec.executor, {shape.B, 1, shape.Lq},
               [&](std::size_t b, std::size_t, std::size_t i) {
                 const SequencePlace place = shape.sequence(b);
                 if (i >= place.Lq) {
                   return;
                 }
                 for (std::size_t j = 0; j < spec.pair_columns(); ++j) {
                   mean(b, 0, i, j) = 0;
                 }
                 for (std::size_t h = 0; h < shape.Hq; ++h) {
                   ReferenceRow<T> row(spec, b, h, i);
                   row.normalised(inputs);
                   row.add_to_mean(mean);
                 }
                 for (std::size_t j = 0; j < spec.pair_columns(); ++j) {
                   mean(b, 0, i, j) /= static_cast<T>(shape.Hq);
                 }
               });
}

template <class T>
void reference_rows(const AttentionSpec& spec,
                    const AttentionInputsOf<T>& inputs,
                    const AttentionOutputsOf<T>& outputs) {
  const auto& shape = spec.shape;
  for_each_row(*spec.executor, {shape.B, shape.Hq, shape.Lq},
               [&](std::size_t b, std::size_t h, std::size_t i) {
                 if (i < shape.sequence(b).Lq) {
                   ReferenceRow<T>(spec, b, h, i).run(inputs, outputs);
                 }
               });
}

}  // namespace

template <class T>
Status reference_attention(TensorView<const T, 4> query,
                           TensorView<const T, 4> key,
                           TensorView<const T, 4> value,
                           const AttentionOutputsOf<T>& outputs,
                           const AttentionOptions& options,
                           const OperationOptions& operation_options) try {
  const AttentionInputsOf<T> inputs = {query, key, value};
  const CallTensors tensors(inputs, outputs);
  HEADWISE_ASSIGN(const auto shape, attention_shape(tensors));
  HEADWISE_TRY(check_no_part("attention", operation_options));
  HEADWISE_ASSIGN(const auto spec,
                  AttentionSpec::create(shape, options, operation_options));
  HEADWISE_TRY(check_call("attention", spec, tensors, DTypeOf<T>::value));
  reference_rows<T>(spec, inputs, outputs);
  fill_beyond_sequences<T>(spec, tensors);
  if (spec.attn_weights == AttnWeights::mean) {
    mean_rows(spec, inputs, outputs.attn_weights);
  }
  return ok();
} catch (...) {
  return caught_out_of_memory();
}

template Status reference_attention<float>(TensorView<const float, 4>,
                                           TensorView<const float, 4>,
                                           TensorView<const float, 4>,
                                           const AttentionOutputsOf<float>&,
                                           const AttentionOptions&,
                                           const OperationOptions&);
template Status reference_attention<double>(TensorView<const double, 4>,
                                            TensorView<const double, 4>,
                                            TensorView<const double, 4>,
                                            const AttentionOutputsOf<double>&,
                                            const AttentionOptions&,
                                            const OperationOptions&);

}  // namespace headwise::inline HEADWISE_ABI
