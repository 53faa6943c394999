// The backward pass of the kernel: near the reference, and what it promises.
#include "headwise/attention/backward.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "attention/backward_call.h"
#include "attention/contract_backward.h"
#include "support/matchers.h"
#include "support/targets.h"

namespace headwise::testing_support {
namespace {

template <std::size_t Rank>
testing::AssertionResult near_reference(const Tensor<float, Rank>& got,
                                        const Tensor<double, Rank>& want) {
  // Terms of about this size cancel where the whole gradient is 0.
  double largest = 0.1;
  for (const double x : want.elements()) {
    largest = std::isfinite(x) ? std::max(largest, std::abs(x)) : largest;
  }
  return all_near<float, double>(got.elements(), want.elements(),
                                 1e-5 * largest, 1e-4);
}

class BackwardTest : public TargetTest {};

TEST_P(BackwardTest, IsNearTheReferenceForEveryOption) {
  for (const AttentionShape& shape : kShapes) {
    const Inputs<float> in = random_inputs(shape, 3300, 1);
    const EveryMask every_mask(shape, true);
    for (const OptionsCase& c : every_options(every_mask)) {
      const Upstream<float> upstream =
          random_upstream(in, c.options, 3310, c.operation_options);
      const Gradients<float> got =
          differentiate(in, upstream, c.options, c.operation_options);
      const Gradients<double> want = reference_gradients(
          widened(in), widened(upstream), c.options, c.operation_options);
      EXPECT_TRUE(near_reference(got.query, want.query)) << c.name;
      EXPECT_TRUE(near_reference(got.key, want.key)) << c.name;
      EXPECT_TRUE(near_reference(got.value, want.value)) << c.name;
      EXPECT_TRUE(near_reference(got.bias, want.bias)) << c.name;
      EXPECT_TRUE(near_reference(got.t5_bias, want.t5_bias)) << c.name;
      EXPECT_TRUE(near_reference(got.alibi, want.alibi)) << c.name;
      EXPECT_TRUE(near_reference(got.score_weight, want.score_weight))
          << c.name;
      EXPECT_TRUE(near_reference(got.sinks, want.sinks)) << c.name;
      EXPECT_TRUE(near_reference(got.bias_k, want.bias_k)) << c.name;
      EXPECT_TRUE(near_reference(got.bias_v, want.bias_v)) << c.name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, BackwardTest, testing::ValuesIn(targets()),
                         target_name);

class BackwardContractTest : public TargetTest {
 protected:
  static void expect_contract(const Inputs<float>& in,
                              const AttentionOptions& options,
                              const OperationOptions& operation_options,
                              const std::string& name) {
    expect_contract(in, random_upstream(in, options, 3410, operation_options),
                    options, operation_options, name);
  }
  static void expect_contract(const Inputs<float>& in,
                              const Upstream<float>& upstream,
                              const AttentionOptions& options,
                              const OperationOptions& operation_options,
                              const std::string& name) {
    auto out = outputs_for(in, options, operation_options);
    const auto [B, Lq, Hq, D] = in.query.extents();
    auto rows = Tensor<float, 4>::create({B, Hq, Lq, 2}).value();
    AttentionOutputs outputs = out.views();
    outputs.softmax_rows = rows;
    ASSERT_TRUE(attention(in.query, in.key, in.value, outputs, options,
                          operation_options));
    const Gradients<float> got =
        differentiate(in, upstream, options, operation_options);
    const Gradients<float> want =
        ContractBackward(in, out.output, rows, upstream, options,
                         operation_options)
            .run();
    EXPECT_TRUE(same_bits(got, want)) << name;
  }
};

TEST_P(BackwardContractTest, HoldsForEveryOption) {
  for (const AttentionShape& shape : kShapes) {
    const Inputs<float> in = random_inputs(shape, 3400);
    const EveryMask every_mask(shape, true);
    for (const OptionsCase& c : every_options(every_mask)) {
      expect_contract(in, c.options, c.operation_options, c.name);
    }
  }
}

TEST_P(BackwardContractTest, HoldsInBf16ForEveryOption) {
  std::vector<AttentionShape> shapes = kShapes;
  shapes.push_back({1, 2, 1, 97, 130, 9, 11});
  for (const AttentionShape& shape : shapes) {
    const Inputs<float> in = random_inputs(shape, 3430);
    const EveryMask every_mask(shape, true);
    for (const OptionsCase& c : every_options(every_mask)) {
      AttentionOptions options = c.options;
      options.arithmetic = Arithmetic::bf16;
      expect_contract(in, options, c.operation_options, c.name);
    }
  }
}

// NaN, infinities and numbers that round to infinity reach only the gradients
// that may read them.
TEST_P(BackwardContractTest, HoldsInBf16WhereNumbersAreNotFinite) {
  const AttentionShape shape{1, 2, 1, 97, 130, 9, 11};
  const float kPoisons[] = {kNaN, 3.4e38f, kMinusInf};
  std::size_t turn = 0;
  for (auto tensor :
       {&Inputs<float>::query, &Inputs<float>::key, &Inputs<float>::value}) {
    Inputs<float> in = random_inputs(shape, 3440);
    for (std::size_t n = 61; n < (in.*tensor).size(); n += 577) {
      (in.*tensor).data()[n] = kPoisons[turn++ % 3];
    }
    const EveryMask every_mask(shape, true);
    for (const auto& [name, mask] : every_mask.masks()) {
      expect_contract(in, {.mask = mask, .arithmetic = Arithmetic::bf16}, {},
                      name);
    }
  }
  const Inputs<float> in = random_inputs(shape, 3450);
  const EveryMask every_mask(shape, true);
  for (const auto& [name, mask] : every_mask.masks()) {
    const AttentionOptions options = {.mask = mask,
                                      .arithmetic = Arithmetic::bf16};
    Upstream<float> upstream = random_upstream(in, options, 3460);
    for (std::size_t n = 5; n < upstream.d_output.size(); n += 401) {
      upstream.d_output.data()[n] = kPoisons[turn++ % 3];
    }
    expect_contract(in, upstream, options, {}, name + ", d_output");
  }
}

// The first queries see an odd number of keys, all of them or not. The next
// key, which other queries see, is NaN.
TEST_P(BackwardContractTest, HoldsInBf16BehindTheLastKeyOfABlock) {
  const AttentionShape shape{1, 1, 1, 96, 9, 6, 10};
  Inputs<float> in = random_inputs(shape, 3470);
  in.key(0, 5, 0, 3) = kNaN;
  auto lengths = Tensor<std::int64_t, 2>::create({1, 96}).value();
  for (std::size_t i = 0; i < 96; ++i) {
    lengths(0, i) = i < 48 ? 5 : 9;
  }
  const Mask seen = key_lengths(lengths.view());
  for (const Mask& mask : {seen, seen & window(3, 9)}) {
    expect_contract(in, {.mask = mask, .arithmetic = Arithmetic::bf16}, {},
                    "odd lengths");
  }
}

TEST_P(BackwardContractTest, HoldsForUnevenGroups) {
  const AttentionShape shape{2, 7, 2, 97, 257, 9, 11};
  const Inputs<float> in = random_inputs(shape, 3420);
  const EveryMask every_mask(shape, true);
  for (const bool additive : {false, true}) {
    OperationOptions operation_options = {.kv_groups = groups_of({3, 4})};
    if (additive) {
      operation_options.score_weight = every_mask.score_weight();
    }
    expect_contract(in, {.mask = causal()}, operation_options,
                    additive ? "additive" : "dot");
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, BackwardContractTest,
                         testing::ValuesIn(targets(kFusedTargets)),
                         target_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(BackwardContractTest);

}  // namespace
}  // namespace headwise::testing_support
