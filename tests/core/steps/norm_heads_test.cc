// Norms of queries and keys: the bits of docs/arithmetic.md in scalar code on
// every instruction set, the formula in binary64, and what they promise.
#include "headwise/steps/norm_heads.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "headwise/base/layout.h"
#include "headwise/steps/softmax.h"
#include "kernels/encoder_contract.h"
#include "steps/norm_params.h"
#include "steps/wide_norm.h"
#include "support/errors.h"
#include "support/matchers.h"
#include "support/targets.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

struct Form {
  std::string name;
  QkNorm norm;
};

std::vector<Form> forms() {
  std::vector<Form> all;
  for (const auto& [kind, name] :
       {std::pair(NormKind::rms, "rms"), {NormKind::layer, "layer"}}) {
    for (const auto& [over, of] : {std::pair(NormOver::head, ", head"),
                                   {NormOver::each_head, ", each head"},
                                   {NormOver::projection, ", projection"}}) {
      for (const bool plus_one : {false, true}) {
        all.push_back({std::string(name) + of + (plus_one ? ", 1 + w" : ""),
                       {.kind = kind,
                        .eps = 1e-5,
                        .over = over,
                        .plus_one = plus_one,
                        .bias = kind == NormKind::layer && !plus_one}});
      }
    }
  }
  return all;
}

HeadNormParams params_of(const QkNorm& norm, std::size_t H, std::size_t D) {
  const std::size_t count = norm_params(norm.over, H, D);
  return {uniform<1>({count}, 301, 0.5, 1.5),
          uniform<1>({norm.bias ? count : 0}, 302)};
}

struct Gradients {
  Tensor<float, 4> x;
  HeadNormGradients params;
};

Tensor<float, 4> normed(
    const QkNorm& norm, const HeadNormParams& params, const Tensor<float, 4>& x,
    const Executor& executor = Executor::default_executor()) {
  auto y = filled<float, 4>(x.extents(), -7);
  EXPECT_TRUE(norm_heads(norm, params, x, y, executor));
  return y;
}

Gradients gradients_of(
    const QkNorm& norm, const HeadNormParams& params, const Tensor<float, 4>& x,
    const Tensor<float, 4>& d_y, TensorView<const std::int64_t, 1> offsets = {},
    const Executor& executor = Executor::default_executor()) {
  auto d_x = filled<float, 4>(x.extents(), -7);
  auto of_params =
      norm_heads_backward(norm, params, x, d_y, d_x, offsets, executor).value();
  return {std::move(d_x), std::move(of_params)};
}

// ---- The arithmetic. ----

// What the contract of layer normalisation takes for row h of a token.
LayerNormParams contract_params(const QkNorm& norm,
                                const HeadNormParams& params, std::size_t h,
                                std::size_t E) {
  const std::size_t first = norm.over == NormOver::each_head ? h * E : 0;
  LayerNormParams made{filled<float, 1>({E}, 0), filled<float, 1>({E}, 0),
                       norm.eps};
  for (std::size_t e = 0; e < E; ++e) {
    const float weight = params.weight(first + e);
    made.weight(e) = norm.plus_one ? 1 + weight : weight;
    made.bias(e) = norm.bias ? params.bias(first + e) : 0;
  }
  return made;
}

// The rows that share parameters, in the order in which they are summed: (rows,
// E), of head h or of all.
Tensor<float, 2> rows_of(const Tensor<float, 4>& x, NormOver over,
                         std::size_t h) {
  const auto [B, L, H, D] = x.extents();
  if (over != NormOver::each_head) {
    const std::size_t E = over == NormOver::head ? D : H * D;
    auto rows = filled<float, 2>({x.size() / E, E}, 0);
    std::ranges::copy(x.elements(), rows.data());
    return rows;
  }
  auto rows = filled<float, 2>({B * L, D}, 0);
  for (std::size_t n = 0; n < B * L; ++n) {
    std::copy_n(&x(n / L, n % L, h, 0), D, &rows(n, 0));
  }
  return rows;
}

void expect_contract(const Form& form, const Extents<4>& extents,
                     double range = 1) {
  const auto [B, L, H, D] = extents;
  const QkNorm& norm = form.norm;
  const HeadNormParams params = params_of(norm, H, D);
  const auto x = uniform<4>(extents, 303, -range, range);
  const auto d_y = uniform<4>(extents, 304);
  const auto y = normed(norm, params, x);
  const Gradients got = gradients_of(norm, params, x, d_y);
  const bool each = norm.over == NormOver::each_head;
  const bool centred = norm.kind == NormKind::layer;
  const std::size_t E = norm.over == NormOver::projection ? H * D : D;
  // Blocks of 128 tokens, which have H rows where all heads share.
  const std::size_t rows = norm.over == NormOver::head ? H : 1;
  std::vector<std::int64_t> starts;
  for (std::size_t b = 0; b <= B; ++b) {
    starts.push_back(static_cast<std::int64_t>(b * L * rows));
  }
  for (std::size_t h = 0; h < (each ? H : 1); ++h) {
    const LayerNormParams of_row = contract_params(norm, params, h, E);
    EXPECT_TRUE(same_bits(rows_of(y, norm.over, h),
                          contract_layer_norm(view_of(rows_of(x, norm.over, h)),
                                              of_row, centred)))
        << form.name;
    const auto want = contract_layer_norm_backward(
        view_of(rows_of(x, norm.over, h)), of_row,
        view_of(rows_of(d_y, norm.over, h)), starts,
        {.centred = centred, .rows_of_block = 128 * rows});
    EXPECT_TRUE(same_bits(rows_of(got.x, norm.over, h), want.d_x)) << form.name;
    EXPECT_TRUE(
        same_bits({&got.params.weight(h * E), E}, {want.weight.data(), E}))
        << form.name;
    if (norm.bias) {
      EXPECT_TRUE(
          same_bits({&got.params.bias(h * E), E}, {want.bias.data(), E}))
          << form.name;
    } else {
      EXPECT_EQ(got.params.bias.size(), 0u);
    }
  }
}

class NormHeadsContractTest : public TargetTest {};

TEST_P(NormHeadsContractTest, HoldsForEveryFormAndSize) {
  for (const Form& form : forms()) {
    for (const std::size_t D : {1u, 7u, 16u, 37u, 64u}) {
      expect_contract(form, {2, 3, 4, D});
    }
    expect_contract(form, {2, 300, 3, 5});  // several blocks of tokens
    for (const double range : {1e-38, 1e-20, 1e18, 3e38}) {
      expect_contract(form, {1, 2, 2, 33}, range);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, NormHeadsContractTest,
                         testing::ValuesIn(targets()), target_name);

TEST(NormHeadsTest, StaysNearTheFormulaInDouble) {
  for (const Form& form : forms()) {
    const HeadNormParams params = params_of(form.norm, 3, 24);
    const auto x = uniform<4>({2, 5, 3, 24}, 305, -2, 3);
    const auto d_y = uniform<4>(x.extents(), 306);
    const auto wide = widened(x);
    const WideNorm want(form.norm, params, wide);
    EXPECT_TRUE(
        all_near(normed(form.norm, params, x), want.forward(), 1e-6, 1e-6))
        << form.name;
    const Gradients got = gradients_of(form.norm, params, x, d_y);
    const auto gradients = want.backward(widened(d_y));
    EXPECT_TRUE(all_near(got.x, gradients.x, 2e-6, 2e-6)) << form.name;
    EXPECT_TRUE(all_near(got.params.weight, gradients.weight, 1e-5, 2e-6))
        << form.name;
    if (form.norm.bias) {
      EXPECT_TRUE(all_near(got.params.bias, gradients.bias, 1e-5, 2e-6))
          << form.name;
    }
  }
}

// ---- What is promised. ----

TEST(NormHeadsTest, IsTheSameInPlaceAndForAnyNumberOfThreads) {
  const Executor one = Executor::with_threads(1).value();
  const Executor three = Executor::with_threads(3).value();
  for (const Form& form : forms()) {
    const HeadNormParams params = params_of(form.norm, 4, 64);
    const auto x = uniform<4>({3, 150, 4, 64}, 307);
    const auto d_y = uniform<4>(x.extents(), 308);
    const auto want = normed(form.norm, params, x, one);
    auto here = clone(x);
    EXPECT_TRUE(norm_heads(form.norm, params, here, here, three));
    EXPECT_TRUE(same_bits(here, want)) << form.name;
    const auto back = gradients_of(form.norm, params, x, d_y, {}, one);
    auto d_here = clone(d_y);
    const auto of_params =
        norm_heads_backward(form.norm, params, x, d_here, d_here, {}, three)
            .value();
    EXPECT_TRUE(same_bits(d_here, back.x)) << form.name;
    EXPECT_TRUE(same_bits(of_params.weight, back.params.weight)) << form.name;
    EXPECT_TRUE(same_bits(of_params.bias, back.params.bias)) << form.name;
  }
}

TEST(NormHeadsTest, ARowWithoutGradientIsLeftOutWhateverItHolds) {
  for (const Form& form : forms()) {
    const HeadNormParams params = params_of(form.norm, 2, 16);
    auto x = uniform<4>({1, 4, 2, 16}, 309);
    auto d_y = uniform<4>(x.extents(), 310);
    std::fill_n(&d_y(0, 3, 0, 0), 32, 0.0f);
    const auto want = gradients_of(form.norm, params, x, d_y);
    std::fill_n(&x(0, 3, 0, 0), 32, kNaN);
    const auto got = gradients_of(form.norm, params, x, d_y);
    EXPECT_TRUE(same_bits(got.x, want.x)) << form.name;
    EXPECT_TRUE(same_bits(got.params.weight, want.params.weight)) << form.name;
    EXPECT_TRUE(same_bits({&got.x(0, 3, 0, 0), 32},
                          {filled<float, 1>({32}, 0).data(), 32}))
        << form.name;
  }
}

TEST(NormHeadsTest, ARaggedBatchHasTheGradientsOfThePaddedOne) {
  for (const Form& form : forms()) {
    const HeadNormParams params = params_of(form.norm, 2, 16);
    auto padded = uniform<4>({2, 200, 2, 16}, 311);
    auto d_padded = uniform<4>(padded.extents(), 312);
    std::fill_n(&d_padded(0, 131, 0, 0), 69 * 32, 0.0f);
    auto ragged = filled<float, 4>({1, 331, 2, 16}, 0);
    auto d_ragged = filled<float, 4>(ragged.extents(), 0);
    for (const auto& [from, to] :
         {std::pair(&padded, &ragged), {&d_padded, &d_ragged}}) {
      std::copy_n(from->data(), 131 * 32, to->data());
      std::copy_n(&(*from)(1, 0, 0, 0), 200 * 32, &(*to)(0, 131, 0, 0));
    }
    const auto offsets = tensor_of<std::int64_t, 1>({3}, {0, 131, 331});
    const auto of_padded = gradients_of(form.norm, params, padded, d_padded);
    const auto of_ragged =
        gradients_of(form.norm, params, ragged, d_ragged, offsets);
    EXPECT_TRUE(same_bits(of_padded.params.weight, of_ragged.params.weight))
        << form.name;
    EXPECT_TRUE(same_bits(of_padded.params.bias, of_ragged.params.bias))
        << form.name;
    EXPECT_TRUE(same_bits({&of_padded.x(1, 0, 0, 0), 200 * 32},
                          {&of_ragged.x(0, 131, 0, 0), 200 * 32}))
        << form.name;
  }
}

TEST(NormHeadsTest, NothingIsNormalisedWhereThereIsNothing) {
  const QkNorm norm;
  for (const Extents<4>& extents :
       {Extents<4>{0, 3, 2, 4}, {2, 0, 2, 4}, {2, 3, 0, 4}, {2, 3, 2, 0}}) {
    const HeadNormParams params = params_of(norm, extents[2], extents[3]);
    auto x = filled<float, 4>(extents, 0);
    EXPECT_TRUE(norm_heads(norm, params, x, x));
    const auto back = norm_heads_backward(norm, params, x, x, x);
    EXPECT_TRUE(back);
    EXPECT_EQ(back->weight.size(), extents[3]);
  }
}

TEST(NormHeadsTest, ErrorsNameTheArgument) {
  const auto x = uniform<4>({2, 3, 2, 8}, 313);
  auto y = filled<float, 4>(x.extents(), -7);
  const auto refused = [&](const QkNorm& norm, const HeadNormParams& params) {
    return norm_heads(norm, params, x, y);
  };
  const auto sized = [](std::size_t weight, std::size_t bias = 0) {
    return HeadNormParams{filled<float, 1>({weight}, 1),
                          filled<float, 1>({bias}, 0)};
  };
  EXPECT_THAT(refused({}, sized(16)),
              HasError({.code = ErrorCode::shape_mismatch,
                        .operation = "norm_heads",
                        .argument = "weight",
                        .given = {"(16)"},
                        .expected = {"(D) = (8)"}}));
  EXPECT_THAT(refused({.over = NormOver::each_head}, sized(8)),
              HasError({.code = ErrorCode::shape_mismatch,
                        .operation = "norm_heads",
                        .argument = "weight",
                        .given = {"(8)"},
                        .expected = {"(H * D) = (16)"}}));
  EXPECT_THAT(refused({}, sized(8, 8)),
              HasError({.code = ErrorCode::invalid_argument,
                        .operation = "norm_heads",
                        .argument = "bias",
                        .given = {"given"},
                        .expected = {"RMS"}}));
  EXPECT_THAT(refused({.kind = NormKind::layer}, sized(8, 7)),
              HasError({.code = ErrorCode::shape_mismatch,
                        .operation = "norm_heads",
                        .argument = "bias",
                        .given = {"(7)"}}));
  for (const double eps : {0.0, -1.0, 1e-40}) {
    EXPECT_THAT(refused({.eps = eps}, sized(8)),
                HasError({.code = ErrorCode::invalid_argument,
                          .operation = "norm_heads",
                          .argument = "eps"}));
  }
  auto other = filled<float, 4>({2, 3, 2, 9}, 0);
  EXPECT_THAT(norm_heads({}, sized(8), x, other),
              HasError({.code = ErrorCode::shape_mismatch,
                        .operation = "norm_heads",
                        .argument = "y"}));
  // Heads before rows: those of a token are no row of features.
  EXPECT_THAT(
      norm_heads({.over = NormOver::projection}, sized(16),
                 as_blhd(TensorView<const float, 4>(x.data(), {2, 2, 3, 8})),
                 y),
      HasError({.code = ErrorCode::invalid_argument,
                .operation = "norm_heads",
                .argument = "x",
                .given = {"stride", "H"},
                .expected = {"D = 8"}}));
  auto both = uniform<4>({2, 4, 2, 8}, 314);
  EXPECT_THAT(norm_heads({}, sized(8),
                         TensorView<const float, 4>(both.data(), {2, 3, 2, 8}),
                         TensorView<float, 4>(both.data() + 16, {2, 3, 2, 8})),
              HasError({.code = ErrorCode::invalid_argument,
                        .operation = "norm_heads",
                        .argument = "y"}));
  EXPECT_TRUE(
      std::ranges::all_of(y.elements(), [](float v) { return v == -7; }));
}

}  // namespace
}  // namespace headwise::testing_support
