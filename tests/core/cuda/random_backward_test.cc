// The GPU's gradients against the reference in binary64, over the random calls
// of the CPU's tests.
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>
#include <string>

#include "attention/random_call.h"
#include "attention/random_call_tensors.h"
#include "cuda/device_tensors.h"
#include "cuda/random_gpu_calls.h"

namespace headwise::testing_support {
namespace {

// What the roundings to 16 bits of P, dS, the output and the gradients, each by
// a relative `u`, can add up to: the sums of the gradients over magnitudes.
struct Magnitudes {
  Tensor<double, 4> query;
  Tensor<double, 4> key;
  Tensor<double, 4> value;
  Tensor<double, 4> bias;
  Tensor<double, 1> alibi;
};

Tensor<double, 4> zeros(const Tensor<float, 4>& like) {
  return filled<double, 4>(like.extents(), 0);
}

Magnitudes magnitudes_of(const AttentionSpec& spec, const Inputs<float>& in,
                         const Tensor<float, 4>& d_output,
                         const Outputs<double>& forward) {
  const AttentionShape& s = spec.shape;
  const Extents<4> of_bias =
      spec.bias.given() ? spec.bias.extents() : Extents<4>{0, 0, 0, 0};
  Magnitudes sums = {zeros(in.query), zeros(in.key), zeros(in.value),
                     filled<double, 4>(of_bias, 0),
                     filled<double, 1>({spec.alibi.given() ? s.Hq : 0}, 0)};
  const double factor = spec.dropout.active() ? spec.dropout.factor() : 1;
  for (std::size_t b = 0; b < s.B; ++b) {
    const SequencePlace at = s.sequence(b);
    for (std::size_t h = 0; h < s.Hq; ++h) {
      const std::size_t g = s.kv_head(h);
      for (std::size_t i = 0; i < at.Lq; ++i) {
        const std::size_t q = at.first_query + i;
        double delta = 0;
        for (std::size_t d = 0; d < s.Dv; ++d) {
          delta += std::abs(double{d_output(at.batch, q, h, d)} *
                            forward.output(at.batch, q, h, d));
        }
        delta = std::isnan(delta) ? 0 : delta;
        for (std::size_t j = 0; j < at.Lkv; ++j) {
          const std::size_t k = at.first_key + j;
          double p = forward.attn_weights(b, h, i, j);
          p = std::isnan(p) ? 0 : p;
          double dp = 0;
          for (std::size_t d = 0; d < s.Dv; ++d) {
            const double go = std::abs(double{d_output(at.batch, q, h, d)});
            dp += go * std::abs(double{in.value(at.batch, k, g, d)}) * factor;
            sums.value(at.batch, k, g, d) += p * go * factor;
          }
          const double term = p * (dp + delta);
          const double ds = term * std::abs(spec.scale);
          if (spec.bias.given()) {
            const auto along = [&](std::size_t axis, std::size_t n) {
              return of_bias[axis] == 1 ? 0 : n;
            };
            sums.bias(along(0, b), along(1, h), along(2, i), along(3, j)) +=
                term;
          }
          if (spec.alibi.given()) {
            sums.alibi(h) +=
                term *
                std::abs(static_cast<double>(spec.alibi.offset(b, i, j)));
          }
          for (std::size_t d = 0; d < s.D; ++d) {
            sums.query(at.batch, q, h, d) +=
                ds * std::abs(double{in.key(at.batch, k, g, d)});
            sums.key(at.batch, k, g, d) +=
                ds * std::abs(double{in.query(at.batch, q, h, d)});
          }
        }
      }
    }
  }
  return sums;
}

double largest(const Tensor<float, 4>& x) {
  double most = 0;
  for (const float element : x.elements()) {
    most = std::max(most, std::abs(double{element}));
  }
  return most;
}

template <std::size_t Rank>
std::string compare(const char* name, const Tensor<float, Rank>& got,
                    const Tensor<double, Rank>& want,
                    const Tensor<double, Rank>& magnitude, double u) {
  for (std::size_t n = 0; n < want.size(); ++n) {
    const double bound = 4 * u * magnitude.data()[n] + 2e-6;
    const double off = std::abs(got.data()[n] - want.data()[n]);
    if (!(off <= bound)) {
      std::ostringstream failure;
      failure << name << "[" << n << "] is " << got.data()[n] << ", expected "
              << want.data()[n] << " within " << bound;
      return failure.str();
    }
  }
  return "";
}

// Empty: all is well.
template <class T>
std::string compare(const RandomCall& call) {
  const RandomCallTensors tensors(call);
  const OperationOptions operation_options = tensors.operation_options();
  AttentionOptions options = tensors.options();
  options.attn_weights = AttnWeights::none;
  const Inputs<float> in = {rounded<T>(tensors.inputs().query),
                            rounded<T>(tensors.inputs().key),
                            rounded<T>(tensors.inputs().value)};
  auto forward = tensors.outputs<double>(AttnWeights::per_head);
  const auto d_output =
      rounded<T>(uniform<4>(forward.output.extents(), call.stream + 26, -1, 1));
  const auto got =
      differentiate_on_device<T>(in, d_output, options, operation_options);
  if (!got) {
    return got.error().message();
  }
  const auto wide = widened(in);
  AttentionOptions with_weights = options;
  with_weights.attn_weights = AttnWeights::per_head;
  reference_attention<double>(wide.query.view(), wide.key.view(),
                              wide.value.view(), forward.views(), with_weights,
                              operation_options)
      .value();
  Inputs<double> want = {zeros(in.query), zeros(in.key), zeros(in.value)};
  const auto spec =
      AttentionSpec::create(tensors.tensors(), options, operation_options)
          .value();
  auto want_bias = filled<double, 4>(got->bias.extents(), 0);
  auto want_alibi = filled<double, 1>(got->alibi.extents(), 0);
  const auto no_rows = filled<double, 4>(
      {in.query.extent(0), in.query.extent(2), in.query.extent(1), 2}, 0);
  const auto wide_d_output = widened(d_output);
  reference_attention_backward<double>(
      {.query = wide.query.view(),
       .key = wide.key.view(),
       .value = wide.value.view(),
       .output = forward.output.view(),
       .softmax_rows = no_rows.view(),
       .d_output = wide_d_output.view()},
      {.query = want.query.view(),
       .key = want.key.view(),
       .value = want.value.view(),
       .bias = {spec.bias.given() ? want_bias.data() : nullptr,
                want_bias.extents()},
       .alibi = {spec.alibi.given() ? want_alibi.data() : nullptr,
                 want_alibi.extents()}},
      options, operation_options)
      .value();
  const Magnitudes magnitudes = magnitudes_of(spec, in, d_output, forward);
  // A score's rounding, in float32, is a relative error of its weight.
  const double score = std::abs(spec.scale) * largest(in.query) *
                       largest(in.key) * static_cast<double>(spec.shape.D);
  const double u = kRounding<T> + score * 0x1p-22;
  for (const std::string& failure :
       {compare("d_value", got->value, want.value, magnitudes.value, u),
        compare("d_query", got->query, want.query, magnitudes.query, u),
        compare("d_key", got->key, want.key, magnitudes.key, u),
        compare("d_bias", got->bias, want_bias, magnitudes.bias, u),
        compare("d_alibi", got->alibi, want_alibi, magnitudes.alibi, u)}) {
    if (!failure.empty()) {
      return failure;
    }
  }
  return "";
}

TEST(RandomBackwardTest, EveryGradientIsWithinTheBoundOfTheReference) {
  HEADWISE_NEEDS_GPU();
  expect_for_random_calls([](const RandomCall& call, auto type) {
    return compare<decltype(type)>(call);
  });
}

}  // namespace
}  // namespace headwise::testing_support
