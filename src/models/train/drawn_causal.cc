#include "train/drawn_causal.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "headwise/json/json.h"
#include "headwise/module/multi_head_attention.h"
#include "headwise/steps/projection.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

// Each part of the parameters has random numbers of its own.
enum Stream : std::uint32_t { kToken = 16, kPosition, kUnembedding };

Array array_of(const AnyView& view) {
  Array array{.shape = {view.extents().begin(), view.extents().end()},
              .data = {}};
  std::size_t size = sizeof(float);
  for (const std::size_t extent : view.extents()) {
    size *= extent;
  }
  array.data.resize(size);
  std::memcpy(array.data.data(), view.data(), size);
  return array;
}

// The layers of one seed have different numbers.
Seed seed_of_layer(Seed seed, std::size_t layer) {
  const PhiloxCounter words =
      philox4x32({static_cast<std::uint32_t>(layer), 0, 0, 0},
                 {static_cast<std::uint32_t>(seed.value),
                  static_cast<std::uint32_t>(seed.value >> 32)});
  return {words[0] | std::uint64_t{words[1]} << 32};
}

class Draw {
 public:
  explicit Draw(std::size_t hidden_size) : hidden_size_(hidden_size) {}

  NamedArrays& made() { return made_; }

  Status table(const std::string& name, std::size_t rows,
               RandomStream numbers) {
    HEADWISE_ASSIGN(auto weight,
                    Tensor<float, 2>::create_unset({rows, hidden_size_}));
    numbers.fill_normal(weight.elements());
    put(name + ".weight", weight);
    return ok();
  }

  Status norm(const std::string& name) {
    HEADWISE_ASSIGN(auto values, Tensor<float, 1>::create({hidden_size_}));
    put(name + ".bias", values);
    std::ranges::fill(values.elements(), 1.0f);
    put(name + ".weight", values);
    return ok();
  }

  void linear(const std::string& name, const Linear& linear) {
    put(name + ".weight", linear.weight());
    if (linear.has_bias()) {
      put(name + ".bias", linear.bias());
    }
  }

 private:
  void put(const std::string& name, const AnyView& view) {
    made_.emplace(name, array_of(view));
  }

  std::size_t hidden_size_;
  NamedArrays made_;
};

}  // namespace

std::string causal_config(const CausalSizes& sizes) {
  return Json{{"model_type", "headwise-causal"},
              {"vocab_size", sizes.vocab_size},
              {"hidden_size", sizes.hidden_size},
              {"num_hidden_layers", sizes.num_layers},
              {"num_attention_heads", sizes.num_heads},
              {"max_position_embeddings", sizes.max_positions},
              {"layer_norm_eps", 1e-5}}
      .dump(2);
}

Result<NamedArrays> draw_causal(const CausalSizes& sizes, Seed seed) {
  Draw draw(sizes.hidden_size);
  HEADWISE_TRY(
      draw.table("token", sizes.vocab_size, RandomStream(seed, kToken)));
  HEADWISE_TRY(draw.table("position", sizes.max_positions,
                          RandomStream(seed, kPosition)));
  for (std::size_t n = 0; n < sizes.num_layers; ++n) {
    const std::string name = "layers." + std::to_string(n) + ".";
    HEADWISE_TRY(draw.norm(name + "norm"));
    HEADWISE_ASSIGN(const auto layer,
                    MultiHeadAttention::create({.embed_dim = sizes.hidden_size,
                                                .num_heads = sizes.num_heads},
                                               seed_of_layer(seed, n)));
    const MultiHeadAttentionParams& params = *layer.params();
    draw.linear(name + "w_q", params.w_q);
    draw.linear(name + "w_k", params.w_k);
    draw.linear(name + "w_v", *params.w_v);
    draw.linear(name + "w_o", *params.w_o);
  }
  HEADWISE_TRY(draw.norm("norm"));
  HEADWISE_ASSIGN(const auto unembedding,
                  Linear::create({.in_features = sizes.hidden_size,
                                  .out_features = sizes.vocab_size,
                                  .bias = false},
                                 RandomStream(seed, kUnembedding)));
  draw.linear("unembedding", unembedding);
  return std::move(draw.made());
}

}  // namespace headwise::inline HEADWISE_ABI
