// The GPU against the reference in binary64, over the random calls of the CPU's
// tests.
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

// A bound of q.k over sqrt(D).
double largest_score(const Inputs<float>& in) {
  const auto largest = [](const Tensor<float, 4>& x) {
    double most = 0;
    for (const float element : x.elements()) {
      most = std::max(most, std::abs(double{element}));
    }
    return most;
  };
  return largest(in.query) * largest(in.key) *
         std::sqrt(static_cast<double>(in.query.extent(3)));
}

// Empty: all is well.
template <class T>
std::string compare(const RandomCall& call) {
  const RandomCallTensors tensors(call);
  const AttentionOptions options = tensors.options();
  const OperationOptions operation_options = tensors.operation_options();
  const Inputs<float> in = {rounded<T>(tensors.inputs().query),
                            rounded<T>(tensors.inputs().key),
                            rounded<T>(tensors.inputs().value)};
  const auto got = attend_on_device<T>(in, options, operation_options);
  if (!got) {
    return got.error().message();
  }
  auto want = tensors.outputs<double>(options.attn_weights);
  const auto wide = widened(in);
  reference_attention<double>(wide.query.view(), wide.key.view(),
                              wide.value.view(), want.views(), options,
                              operation_options)
      .value();
  double largest = 0;
  for (const float v : in.value.elements()) {
    largest = std::max(largest, std::abs(double{v}));
  }
  const double factor =
      options.dropout.training ? 1 / (1 - *options.dropout.p) : 1;
  // Each weight and the output are rounded; scores have float32's errors.
  const double bound = 3 * kRounding<T> * largest * factor + 1e-5;
  const auto off = [](double a, double b, double within) {
    return std::isnan(b) ? !std::isnan(a)
                         : !(a == b || std::abs(a - b) <= within);
  };
  std::ostringstream failure;
  for (std::size_t n = 0; n < want.output.size(); ++n) {
    if (off(got->output.data()[n], want.output.data()[n], bound)) {
      failure << "output[" << n << "] is " << got->output.data()[n]
              << ", expected " << want.output.data()[n] << " within " << bound;
      return failure.str();
    }
  }
  for (std::size_t n = 0; n < want.lse.size(); ++n) {
    const double lse = want.lse.data()[n];
    if (off(got->lse.data()[n], lse, 2e-5 * (1 + std::abs(lse)) + 1e-4)) {
      failure << "lse[" << n << "] is " << got->lse.data()[n] << ", expected "
              << lse;
      return failure.str();
    }
  }
  // The weights are of float32: what they are off comes from the scores.
  const double score = 1e-5 + largest_score(in) * 0x1p-21;
  for (std::size_t n = 0; n < want.attn_weights.size(); ++n) {
    const double weight = want.attn_weights.data()[n];
    if (off(got->attn_weights.data()[n], weight, score * factor)) {
      failure << "attn_weights[" << n << "] is " << got->attn_weights.data()[n]
              << ", expected " << weight;
      return failure.str();
    }
  }
  return "";
}

TEST(RandomForwardTest, EveryOutputIsWithinTheBoundOfTheReference) {
  HEADWISE_NEEDS_GPU();
  expect_for_random_calls([](const RandomCall& call, auto type) {
    return compare<decltype(type)>(call);
  });
}

}  // namespace
}  // namespace headwise::testing_support
