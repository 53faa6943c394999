#include "attention/backward_spec.h"

#include <string>

#include "attention/check_inputs.h"
#include "attention/check_memory.h"
#include "base/check.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kOperation = "attention_backward";

// A view that may be left out.
template <class T, std::size_t Rank>
Status check_wanted(TensorView<T, Rank> view, std::string_view name,
                    std::string_view symbols, const Extents<Rank>& expected) {
  return view.data() == nullptr
             ? ok()
             : check_shape(kOperation, name, view.extents(), symbols, expected);
}

template <class T>
Status check_rows(const AttentionSpec& spec,
                  const BackwardInputsOf<T>& inputs) {
  const auto& [B, Hq, Hkv, Lq, Lkv, D, Dv, offsets, kv_groups] = spec.shape;
  const std::size_t batches = spec.shape.batches();
  const std::size_t rows = spec.shape.query_rows();
  const bool ragged = offsets.ragged();
  const std::string_view of_output =
      ragged ? "(1, queries, Hq, Dv)" : "(B, Lq, Hq, Dv)";
  HEADWISE_TRY(check_shape(kOperation, "output", inputs.output.extents(),
                           of_output, {{batches, rows, Hq, Dv}}));
  HEADWISE_TRY(check_shape(kOperation, "softmax_rows",
                           inputs.softmax_rows.extents(),
                           ragged ? "(1, Hq, queries, 2)" : "(B, Hq, Lq, 2)",
                           {{batches, Hq, rows, 2}}));
  HEADWISE_TRY(check_shape(kOperation, "d_output", inputs.d_output.extents(),
                           of_output, {{batches, rows, Hq, Dv}}));
  if (inputs.d_attn_weights.data() == nullptr) {
    return ok();
  }
  if (spec.attn_weights == AttnWeights::none) {
    return value_error(kOperation, "d_attn_weights", "given",
                       "none: the options ask for no attention weights");
  }
  const bool mean = spec.attn_weights == AttnWeights::mean;
  return check_shape(kOperation, "d_attn_weights",
                     inputs.d_attn_weights.extents(),
                     mean ? "(B, 1, Lq, Lkv)" : "(B, Hq, Lq, Lkv)",
                     {{B, mean ? 1 : Hq, Lq, Lkv}});
}

template <class T>
Status check_bias(const AttentionSpec& spec, TensorView<T, 4> d_bias) {
  if (d_bias.data() == nullptr) {
    return ok();
  }
  if (!spec.bias.given()) {
    return value_error(kOperation, "gradients.bias", "wanted",
                       "none: the options have no bias");
  }
  return check_shape(kOperation, "gradients.bias", d_bias.extents(),
                     "by B, H, Lq, Lkv, 1 where broadcast",
                     spec.bias.extents());
}

template <class T>
Status check_score_weight(const AttentionSpec& spec,
                          TensorView<T, 2> d_score_weight) {
  if (d_score_weight.data() != nullptr && !spec.additive()) {
    return value_error(kOperation, "gradients.score_weight", "wanted",
                       "none: the options have no score_weight");
  }
  return check_wanted(d_score_weight, "gradients.score_weight", "(Hq, D)",
                      Extents<2>{spec.shape.Hq, spec.shape.D});
}

template <class T>
Status check_gradients(const AttentionSpec& spec,
                       const BackwardInputsOf<T>& inputs,
                       const AttentionGradientsOf<T>& gradients) {
  const auto& [B, Hq, Hkv, Lq, Lkv, D, Dv, offsets, kv_groups] = spec.shape;
  const bool ragged = offsets.ragged();
  HEADWISE_TRY(check_inputs<T>(
      spec.shape, {inputs.query, inputs.key, inputs.value}, kOperation));
  HEADWISE_TRY(check_rows(spec, inputs));
  HEADWISE_TRY(check_wanted(gradients.query, "gradients.query",
                            ragged ? "(1, queries, Hq, D)" : "(B, Lq, Hq, D)",
                            inputs.query.extents()));
  HEADWISE_TRY(check_wanted(gradients.key, "gradients.key",
                            ragged ? "(1, keys, Hkv, D)" : "(B, Lkv, Hkv, D)",
                            inputs.key.extents()));
  HEADWISE_TRY(check_wanted(gradients.value, "gradients.value",
                            ragged ? "(1, keys, Hkv, Dv)" : "(B, Lkv, Hkv, Dv)",
                            inputs.value.extents()));
  HEADWISE_TRY(check_bias(spec, gradients.bias));
  if (gradients.alibi.data() != nullptr && !spec.alibi.given()) {
    return value_error(kOperation, "gradients.alibi", "wanted",
                       "none: the options have no slopes");
  }
  HEADWISE_TRY(
      check_wanted(gradients.alibi, "gradients.alibi", "(Hq)", Extents<1>{Hq}));
  return check_score_weight(spec, gradients.score_weight);
}

}  // namespace

template <class T>
Result<AttentionSpec> backward_spec(const BackwardInputsOf<T>& inputs,
                                    const AttentionGradientsOf<T>& gradients,
                                    const AttentionOptions& options) {
  const auto shape = attention_shape(
      inputs.query.extents(), inputs.key.extents(), inputs.value.extents());
  HEADWISE_TRY(shape);
  if (options.statistics.any()) {
    return value_error(kOperation, "statistics", "asked for",
                       "none: attention_statistics() gives them");
  }
  auto spec = AttentionSpec::create(*shape, options, kOperation);
  if (!spec) {
    return spec;
  }
  HEADWISE_TRY(check_gradients(*spec, inputs, gradients));
  HEADWISE_TRY(
      check_backward_memory(*spec, inputs, Footprint(inputs.d_attn_weights),
                            gradients, Footprint(gradients.score_weight)));
  return spec;
}

template Result<AttentionSpec> backward_spec(const BackwardInputsOf<float>&,
                                             const AttentionGradientsOf<float>&,
                                             const AttentionOptions&);
template Result<AttentionSpec> backward_spec(
    const BackwardInputsOf<double>&, const AttentionGradientsOf<double>&,
    const AttentionOptions&);

}  // namespace headwise::inline HEADWISE_ABI
