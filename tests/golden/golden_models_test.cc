// Attentions of transformers' models (write_models_golden.py).
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "headwise/attention/forward.h"
#include "headwise/decode/decode_plan.h"
#include "headwise/run/workspace.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

using nlohmann::json;

// Both sides are off by a few last places of numbers of about 1.
constexpr double kWithin = 2e-6;

json golden(const char* name) {
  std::ifstream file(HEADWISE_MODELS_GOLDEN);
  return json::parse(file)[name];
}

void collect(const json& array, std::vector<float>& numbers) {
  for (const json& x : array) {
    if (x.is_array()) {
      collect(x, numbers);
    } else {
      numbers.push_back(x);
    }
  }
}

// A case's array `name`, which may lack the first axis, of 1.
template <std::size_t Rank>
Tensor<float, Rank> tensor_in(const json& model, const char* name) {
  std::vector<std::size_t> sizes;
  for (const json* at = &model[name]; at->is_array(); at = &at->front()) {
    sizes.push_back(at->size());
  }
  Extents<Rank> extents;
  extents.fill(1);
  std::copy(sizes.rbegin(), sizes.rend(), extents.rbegin());
  std::vector<float> numbers;
  collect(model[name], numbers);
  return tensor_of<float, Rank>(extents, numbers);
}

template <std::size_t Rank>
void expect_near(const Tensor<float, Rank>& got,
                 const Tensor<float, Rank>& want) {
  ASSERT_EQ(got.extents(), want.extents());
  for (std::size_t n = 0; n < got.size(); ++n) {
    EXPECT_NEAR(got.data()[n], want.data()[n], kWithin) << n;
  }
}

TEST(ModelsGoldenTest, SinksAreThoseOfGptOss) {
  const json model = golden("sinks");
  const auto query = tensor_in<4>(model, "query");
  const auto key = tensor_in<4>(model, "key");
  const auto value = tensor_in<4>(model, "value");
  const auto weights = tensor_in<4>(model, "attn_weights");
  const auto sinks = tensor_in<1>(model, "sinks");
  auto output = filled<float, 4>(query.extents(), 42);
  auto attn_weights = filled<float, 4>(weights.extents(), 42);
  const Status attended = attention(
      query, key, value, {.output = output, .attn_weights = attn_weights},
      {.mask = causal(),
       .scale = model["scale"].get<double>(),
       .sinks = sinks,
       .attn_weights = AttnWeights::per_head});
  // On a target that this machine lacks the message says so.
  ASSERT_TRUE(attended) << attended.error().message();
  expect_near(output, tensor_in<4>(model, "output"));
  expect_near(attn_weights, weights);
}

// What each head gives before o_proj: its part of kv_b_proj times the context
// of the latent vectors.
Tensor<float, 4> values_of(const Tensor<float, 4>& context,
                           const Tensor<float, 3>& w_uv) {
  auto y = filled<float, 4>(
      {1, context.extent(1), context.extent(2), w_uv.extent(1)}, 0);
  for (std::size_t i = 0; i < y.extent(1); ++i) {
    for (std::size_t h = 0; h < y.extent(2); ++h) {
      for (std::size_t c = 0; c < y.extent(3); ++c) {
        double sum = 0;
        for (std::size_t r = 0; r < w_uv.extent(2); ++r) {
          sum += double{w_uv(h, c, r)} * double{context(0, i, h, r)};
        }
        y(0, i, h, c) = static_cast<float>(sum);
      }
    }
  }
  return y;
}

// Some tokens of (1, L, heads, features).
TensorView<float, 4> tokens(Tensor<float, 4>& all, std::size_t first,
                            std::size_t count) {
  return {&all(0, first, 0, 0),
          {1, count, all.extent(2), all.extent(3)},
          all.view().strides()};
}

TEST(ModelsGoldenTest, LatentAttentionIsThatOfDeepSeekV3) {
  const json model = golden("latent");
  auto query = tensor_in<4>(model, "query");
  auto key = tensor_in<4>(model, "key");
  const auto w_uv = tensor_in<3>(model, "w_uv");
  const std::size_t length = query.extent(1);
  for (const std::size_t chunk : {std::size_t{1}, std::size_t{4}, length}) {
    auto cache = KvCache::create({.num_kv_heads = 1,
                                  .head_dim = key.extent(3),
                                  .v_head_dim = w_uv.extent(2),
                                  .max_tokens = 128,
                                  .max_sequences = 1,
                                  .value_is_key_prefix = true})
                     .value();
    const auto plan =
        DecodePlan::create(
            cache, query.extent(2), length,
            {.mask = causal(), .scale = model["scale"].get<double>()})
            .value();
    auto workspace = Workspace::create(plan.workspace_bytes()).value();
    const std::array ids = {cache.add().value()};
    auto context =
        filled<float, 4>({1, length, query.extent(2), w_uv.extent(2)}, 42);
    for (std::size_t n = 0; n < length; n += chunk) {
      const std::size_t count = std::min(chunk, length - n);
      ASSERT_TRUE(plan.run(ids, tokens(query, n, count), tokens(key, n, count),
                           {}, {.output = tokens(context, n, count)},
                           workspace));
    }
    expect_near(values_of(context, w_uv), tensor_in<4>(model, "output"));
  }
}

}  // namespace
}  // namespace headwise::testing_support
