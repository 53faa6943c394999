// The traps between libraries, one each: diff_dialects() names the step and
// why.
#include "headwise/interop/dialect_diff.h"

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "interop/mask_arrays.h"
#include "support/errors.h"
#include "support/matchers.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

// Two sequences, two heads, two queries, three keys.
class DialectDiffTest : public testing::Test {
 protected:
  DialectDiffTest()
      : query_(wavy(2, 2)),
        key_(wavy(3, 5)),
        input_{query_.view(), key_.view()} {}

  static Tensor<float, 4> wavy(std::size_t length, float phase) {
    auto tensor = filled<float, 4>({2, length, 2, 3}, 0.0F);
    for (std::size_t n = 0; n < tensor.size(); ++n) {
      tensor.data()[n] = std::sin(static_cast<float>(n) + phase);
    }
    return tensor;
  }
  Result<std::optional<DialectDifference>> diff(const char* a, const char* b) {
    return diff_dialects(*find_dialect(a), *find_dialect(b), input_);
  }
  void expect_same(const char* a, const char* b) {
    const auto found = diff(a, b).value();
    EXPECT_FALSE(found) << found->step << ": " << found->why.text();
  }
  DialectDifference expect(const char* a, const char* b, const char* step,
                           const char* why) {
    const auto found = diff(a, b);
    EXPECT_TRUE(found) << found.error().message();
    if (!found || !*found) {
      ADD_FAILURE() << "no difference, expected " << step;
      return {};
    }
    EXPECT_EQ((*found)->step, step);
    EXPECT_THAT((*found)->why.text(), HasSubstr(why));
    return **found;
  }

  Tensor<float, 4> query_;
  Tensor<float, 4> key_;
  DialectInput input_;
};

TEST_F(DialectDiffTest, Polarity) {
  const Array mask = bools({2, 3}, {1, 1, 0, 1, 0, 0});
  input_.mask = &mask;
  const auto found = expect("torch-mha", "keras", "mask",
                            "means masked in torch-mha and attend in keras");
  EXPECT_EQ(found.rows, 8U);
  ASSERT_EQ(found.first_rows.size(), 8U);
  EXPECT_EQ(found.first_rows[1], (std::array<std::size_t, 3>{0, 0, 1}));
  EXPECT_EQ(found.first + found.second, 1);
  expect_same("torch-sdpa", "onnx-1.23");
}

TEST_F(DialectDiffTest, PolarityOfKeyPadding) {
  const Array padding = bools({2, 3}, {1, 1, 0, 1, 1, 1});
  input_.key_padding = &padding;
  expect("torch-mha", "torch-sdpa", "mask", "in a key padding mask");
}

TEST_F(DialectDiffTest, RankThree) {
  const Array mask = bools({2, 2, 3}, {1, 0, 0, 1, 1, 0, 1, 1, 1, 0, 1, 1});
  input_.mask = &mask;
  expect("torch-sdpa", "keras", "mask",
         "rank 3 is (H, Lq, Lkv) in torch-sdpa and (B, Lq, Lkv) in keras");
}

TEST_F(DialectDiffTest, AMaskThatOneDoesNotTake) {
  const Array mask = bools({2, 2, 3}, std::vector<std::uint8_t>(12, 1));
  input_.mask = &mask;
  expect("torch-sdpa", "jax", "mask", "jax does not take this mask");
  EXPECT_THAT(diff("jax", "torch-mha"),
              IsError(ErrorCode::shape_mismatch, "mask"));
}

TEST_F(DialectDiffTest, NumbersAddedOrTruth) {
  const Array mask = floats({2, 3}, {0, 0, 1, 0, 1, 1});
  input_.mask = &mask;
  expect("torch-sdpa", "fill-1e12", "mask", "added to the score in torch-sdpa");
}

TEST_F(DialectDiffTest, CausalCorner) {
  input_.causal = true;
  const auto found =
      expect("torch-sdpa", "flash-attention", "causal_mask",
             "the first query with the first key in torch-sdpa and the last "
             "query with the last key in flash-attention");
  EXPECT_EQ(found.rows, 8U);
  EXPECT_EQ(found.at, (std::array<std::size_t, 4>{0, 0, 0, 1}));
  EXPECT_EQ(found.first, 0);
  EXPECT_EQ(found.second, 1);
  // With the cache that it describes, ONNX agrees with the bottom right.
  input_.past_length = 1;
  expect("torch-sdpa", "onnx-1.23", "causal_mask", "after the cache");
  expect_same("flash-attention", "onnx-1.23");
}

TEST_F(DialectDiffTest, RowWithoutAKey) {
  const Array mask = bools({2, 2, 2, 3}, {0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1,
                                          1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1});
  input_.mask = &mask;
  const auto found = expect("torch-sdpa", "jax", "attn_weights",
                            "a fully masked row gives 0 in torch-sdpa and the "
                            "mean of all values in jax");
  EXPECT_EQ(found.rows, 1U);
  EXPECT_EQ(found.first, 0);
  EXPECT_NEAR(found.second, 1.0 / 3, 1e-6);
  expect("onnx-1.21", "onnx-1.23", "attn_weights", "gives NaN in onnx-1.21");
  expect_same("jax", "flax");
}

TEST_F(DialectDiffTest, AskingForWeightsChangesARowWithoutAKey) {
  const Array mask = bools({2, 3}, {0, 0, 0, 1, 1, 1});
  input_.mask = &mask;
  expect("keras", "torch-sdpa", "attn_weights",
         "the mean of all values in keras and 0 in torch-sdpa");
  input_.returns_weights = true;
  expect_same("keras", "torch-sdpa");
}

TEST_F(DialectDiffTest, LengthZero) {
  const std::vector<std::int64_t> lengths = {0, 3};
  input_.key_lengths = TensorView<const std::int64_t, 1>(lengths.data(), {2});
  expect("d2l", "onnx-1.23", "attn_weights",
         "the mean of all values in d2l and 0 in onnx-1.23");
  expect("ort-contrib", "onnx-1.23", "attn_weights",
         "what it gives without a mask in ort-contrib");
}

TEST_F(DialectDiffTest, TrueScoresBelowAReplacedFill) {
  for (std::size_t n = 0; n < key_.size(); ++n) {
    query_.data()[n % query_.size()] = 2000;
    key_.data()[n] = -1000;
  }
  const std::vector<std::int64_t> lengths = {2, 3};
  input_.key_lengths = TensorView<const std::int64_t, 1>(lengths.data(), {2});
  const auto found = expect("d2l", "torch-sdpa", "masked_scores",
                            "replaced with -1000000 in d2l");
  EXPECT_EQ(found.rows, 4U);  // all of sequence 0
  EXPECT_NEAR(found.first + found.second, 1, 0.6);
  expect("d2l", "fill-1e12", "masked_scores",
         "replaced with -1e+12 in fill-1e12");
}

TEST_F(DialectDiffTest, MaskAndCausalTogether) {
  const Array mask = bools({2, 3}, {1, 1, 0, 1, 0, 0});
  input_.mask = &mask;
  input_.causal = true;
  expect("keras", "torch-sdpa", "mask",
         "torch-sdpa does not take this mask: it is given next to causal, "
         "expected a mask or causal, not both");
  EXPECT_THAT(diff("torch-sdpa", "torch-sdpa"),
              IsError(ErrorCode::invalid_argument, "mask"));
}

TEST_F(DialectDiffTest, ShortMask) {
  const Array mask = bools({2, 2}, {1, 1, 1, 0});
  input_.mask = &mask;
  expect("onnx-1.23", "torch-sdpa", "mask",
         "torch-sdpa does not take this mask: it has shape (2, 2)");
}

TEST_F(DialectDiffTest, RowOfMinusInf) {
  const std::vector<float> closed(24, -INFINITY);
  const Array mask = floats({2, 2, 2, 3}, closed);
  input_.mask = &mask;
  expect("transformers", "torch-sdpa", "attn_weights",
         "a fully masked row gives NaN in transformers and 0 in torch-sdpa");
}

TEST_F(DialectDiffTest, Softcap) {
  const Array mask = bools({2, 3}, {1, 1, 0, 1, 0, 0});
  input_.mask = &mask;
  input_.softcap = 2.0;
  expect("onnx-1.23", "onnx-1.21", "softcap",
         "onnx-1.23 caps scores before the mask and onnx-1.21 after it");
}

TEST_F(DialectDiffTest, ReturnedWeights) {
  input_.returns_weights = true;
  const auto found = expect("torch-mha", "flax", "returned_weights",
                            "torch-mha returns the mean over the heads");
  EXPECT_EQ(found.rows, 8U);
  input_.dropout = 0.5;
  expect("transformers", "flax", "returned_weights",
         "transformers returns the weights after dropout");
}

TEST_F(DialectDiffTest, WithoutMasksAllAgree) {
  for (const Dialect& dialect : dialects()) {
    expect_same("torch-sdpa", std::string(dialect.name).c_str());
  }
}

TEST_F(DialectDiffTest, TensorsThatDoNotFitAreErrors) {
  const auto other = filled<float, 4>({2, 3, 2, 4}, 0.0F);
  input_.key = other.view();
  EXPECT_FALSE(diff("keras", "jax"));
  const TensorView<const float, 4> nothing(nullptr, {2, 1UL << 40, 2, 0});
  input_ = {nothing, nothing};
  EXPECT_FALSE(diff("keras", "jax"));
  input_ = {query_.view(), key_.view()};
  const std::vector<std::int64_t> lengths = {1};
  input_.key_lengths = TensorView<const std::int64_t, 1>(lengths.data(), {1});
  EXPECT_THAT(diff("keras", "jax"),
              IsError(ErrorCode::shape_mismatch, "key_lengths"));
}

}  // namespace
}  // namespace headwise::testing_support
