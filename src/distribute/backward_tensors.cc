#include "distribute/backward_tensors.h"

#include <cstddef>

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kBiasAxes = "(B, Hq, Lq, Lkv) or 1 where broadcast";

struct OptionGradient {
  std::string_view argument;
  std::string_view none;  // what the call has, expected of the argument
  std::string_view axes;
  bool has_option;
};

template <std::size_t Rank>
Status check_one(std::string_view operation, const OptionGradient& of,
                 const TensorView<float, Rank>& gradient,
                 const Extents<Rank>& expected) {
  if (gradient.data() == nullptr) {
    return ok();
  }
  if (!of.has_option) {
    return value_error(operation, of.argument, "given", of.none);
  }
  return check_shape(operation, of.argument, gradient.extents(), of.axes,
                     expected);
}

}  // namespace

Status check_option_gradients(std::string_view operation,
                              const AttentionSpec& spec,
                              const AttentionGradients& gradients) {
  const AttentionShape& s = spec.shape;
  HEADWISE_TRY(check_one<4>(
      operation,
      {"gradients.bias", "none: the options have no bias", kBiasAxes,
       spec.bias.given()},
      gradients.bias, spec.bias.given() ? spec.bias.extents() : Extents<4>{}));
  HEADWISE_TRY(
      check_one<2>(operation,
                   {"gradients.t5_bias", "none: the options have no t5_bias",
                    "(buckets, Hq)", spec.t5_bias.given()},
                   gradients.t5_bias, {spec.t5_bias.table().extent(0), s.Hq}));
  HEADWISE_TRY(
      check_one<1>(operation,
                   {"gradients.alibi", "none: the options have no alibi",
                    "(Hq)", spec.alibi.given()},
                   gradients.alibi, {s.Hq}));
  HEADWISE_TRY(check_one<2>(
      operation,
      {"gradients.score_weight", "none: the options have no score_weight",
       "(Hq, D)", spec.additive()},
      gradients.score_weight, {s.Hq, s.D}));
  HEADWISE_TRY(
      check_one<1>(operation,
                   {"gradients.sinks", "none: the options have no sinks",
                    "(Hq)", spec.sinks.given()},
                   gradients.sinks, {s.Hq}));
  const bool learned = spec.added_keys.learned();
  constexpr std::string_view kNoBiasK =
      "none: the options have no added_keys.bias_k";
  HEADWISE_TRY(check_one<2>(operation,
                            {"gradients.bias_k", kNoBiasK, "(Hkv, D)", learned},
                            gradients.bias_k, {s.Hkv, s.D}));
  return check_one<2>(operation,
                      {"gradients.bias_v", kNoBiasK, "(Hkv, Dv)", learned},
                      gradients.bias_v, {s.Hkv, s.Dv});
}

}  // namespace headwise::inline HEADWISE_ABI
