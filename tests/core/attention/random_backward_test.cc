// The backward pass of the kernels against the reference in binary64, over
// random calls: each element within the bound of gradient_bound.h. How many
// calls: as random_test.cc.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <cstdlib>
#include <sstream>
#include <string>

#include "attention/backward_call.h"
#include "attention/gradient_bound.h"
#include "attention/random_call.h"
#include "attention/random_call_tensors.h"

namespace headwise::testing_support {
namespace {

// The first element that is too far away, in words; empty: none is.
template <std::size_t Rank>
std::string far_away(const char* name, const Tensor<float, Rank>& got,
                     const Tensor<double, Rank>& want,
                     const Tensor<double, Rank>& bound) {
  for (std::size_t n = 0; n < got.size(); ++n) {
    const auto g = static_cast<double>(got.data()[n]);
    const double w = want.data()[n];
    const double allowed = bound.data()[n];
    if (g != w && !(std::abs(g - w) <= allowed)) {
      std::ostringstream text;
      text.precision(9);
      text << name << "'s element " << n << " is " << g << ", expected " << w
           << ", off by " << std::abs(g - w) << ", allowed " << allowed;
      return text.str();
    }
  }
  return "";
}

// A backward pass on 16-bit tensors gives what the same numbers, the rounded
// output among them, give as floats; the gradients of query, key and value are
// rounded once. Empty: all is well.
std::string compare_with_floats(DType dtype, const RandomCallTensors& tensors,
                                const Upstream<float>& upstream) {
  bool gaps_untouched = false;
  const auto got =
      tensors.differentiate_in(dtype, dtype, upstream, gaps_untouched);
  if (!got) {
    return got.error().message();
  }
  if (!gaps_untouched) {
    return "what stands between the elements of a gradient was written";
  }
  auto want =
      tensors.differentiate_in(DType::float32, dtype, upstream, gaps_untouched);
  if (!want) {
    return want.error().message();
  }
  for (Tensor<float, 4>* x : {&want->query, &want->key, &want->value}) {
    *x = rounded_to(dtype, *x);
  }
  const auto same = same_bits(*got, *want);
  return same ? "" : std::string(name_of(dtype)) + ": " + same.message();
}

// Empty: all is well.
std::string compare(const RandomCall& call) {
  const RandomCallTensors tensors(call);
  AttentionOptions options = tensors.options();
  options.scores = ScoresStage::none;
  const OperationOptions operation_options = tensors.operation_options();
  auto exact = tensors.outputs<double>(AttnWeights::per_head);
  const auto returned = tensors.outputs<float>(options.attn_weights);
  const Upstream<float> upstream = {
      rounded_to(call.dtype,
                 uniform<4>(returned.output.extents(), call.stream + 26)),
      uniform<4>(returned.attn_weights.extents(), call.stream + 27)};
  bool gaps_untouched = false;
  const auto got = tensors.differentiate(upstream, gaps_untouched);
  if (!got) {
    return got.error().message();
  }
  if (!gaps_untouched) {
    return "what stands between the elements of a gradient was written";
  }
  if (call.dtype != DType::float32) {
    const std::string failure =
        compare_with_floats(call.dtype, tensors, upstream);
    if (!failure.empty()) {
      return failure;
    }
  }
  const auto in = tensors.exact_inputs();
  Gradients<double> want =
      reference_gradients(in, widened(upstream), options, operation_options);
  const auto spec =
      AttentionSpec::create(tensors.tensors(), options, operation_options)
          .value();
  AttentionOptions per_head = options;
  per_head.attn_weights = AttnWeights::per_head;
  EXPECT_TRUE(reference_attention<double>(
      in.query, in.key, in.value, exact.views(), per_head, operation_options));
  Gradients<double> bound = GradientBound(tensors.inputs(), upstream, spec,
                                          exact, tensors.input_error())
                                .run(options, operation_options);
  tensors.rotate_back(want, bound);
  for (const std::string& failure :
       {far_away("d_query", got->query, want.query, bound.query),
        far_away("d_key", got->key, want.key, bound.key),
        far_away("d_value", got->value, want.value, bound.value),
        far_away("d_bias", got->bias, want.bias, bound.bias),
        far_away("d_t5_bias", got->t5_bias, want.t5_bias, bound.t5_bias),
        far_away("d_alibi", got->alibi, want.alibi, bound.alibi),
        far_away("d_score_weight", got->score_weight, want.score_weight,
                 bound.score_weight),
        far_away("d_sinks", got->sinks, want.sinks, bound.sinks),
        far_away("d_bias_k", got->bias_k, want.bias_k, bound.bias_k),
        far_away("d_bias_v", got->bias_v, want.bias_v, bound.bias_v)}) {
    if (!failure.empty()) {
      return failure;
    }
  }
  return "";
}

TEST(RandomBackwardTest, EveryGradientIsWithinTheBoundOfTheReference) {
  // rapidcheck reads it once.
  setenv("RC_PARAMS", "max_success=" HEADWISE_RANDOM_CALLS, 0);
  EXPECT_TRUE(rc::check([] {
    const RandomCall call = *random_call();
    const std::string failure = compare(call);
    if (!failure.empty()) {
      RC_FAIL(failure);
    }
  }));
}

}  // namespace
}  // namespace headwise::testing_support
