// A model of two layers of attention without a file, whose texts are words
// with a space in between. Layer 1 has lost head 2 of its four heads.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headwise/models/text_model.h"
#include "support/tensors.h"

namespace headwise::testing_support {

class StubModel final : public TextModel {
 public:
  explicit StubModel(bool causal, std::vector<std::string> vocabulary = words(),
                     std::size_t max_positions = 70)
      : vocabulary_(std::move(vocabulary)) {
    shape_ = {.num_layers = 2,
              .num_heads = 4,
              .hidden_size = kSize,
              .vocab_size = vocabulary_.size(),
              .max_tokens = max_positions,
              .max_tokens_key = "max_positions",
              .max_positions = max_positions,
              .added_tokens = causal ? 0U : 2U,
              .causal = causal};
    embedding_ = uniform<2>({vocabulary_.size(), kSize}, 400, -2, 2);
    for (const std::size_t heads : {4U, 3U}) {
      layers_.push_back(
          MultiHeadAttention::create(
              {.embed_dim = kSize, .num_heads = heads, .head_dim = 4},
              Seed{heads})
              .value());
    }
  }

  static std::vector<std::string> words() {
    std::vector<std::string> words = {"[CLS]", "[SEP]"};
    for (int n = 0; n < 40; ++n) {
      words.push_back("w" + std::to_string(n));
    }
    return words;
  }

  // The attention weights of this head of the last layer become NaN.
  void overflow(std::size_t head) {
    const std::size_t from = head * 4 * kSize;
    EXPECT_TRUE(layers_.back().update(
        [&](std::string_view name, std::span<float> values) {
          if (name == "w_q.weight" || name == "w_k.weight") {
            std::ranges::fill(values.subspan(from, 4 * kSize), 3e38F);
          }
          return ok();
        }));
  }

  const TextModelShape& shape() const override { return shape_; }
  std::vector<std::size_t> heads_in(std::size_t layer) const override {
    return layer == 0 ? std::vector<std::size_t>{0, 1, 2, 3}
                      : std::vector<std::size_t>{0, 1, 3};
  }
  const MultiHeadAttention& attention(std::size_t layer) const override {
    return layers_[layer];
  }

  Result<ModelTokens> encode(std::string_view text,
                             std::size_t max_tokens) const override {
    ModelTokens tokens;
    if (!shape_.causal) {
      tokens.ids.push_back(0);
    }
    while (!text.empty()) {
      const std::string_view word = text.substr(0, text.find(' '));
      text.remove_prefix(std::min(word.size() + 1, text.size()));
      tokens.ids.push_back(std::ranges::find(vocabulary_, word) -
                           vocabulary_.begin());
    }
    if (!shape_.causal) {
      tokens.ids.push_back(1);
    }
    EXPECT_LE(tokens.ids.size(), max_tokens);
    return tokens;
  }
  std::string_view token(TokenId id) const override {
    return vocabulary_[static_cast<std::size_t>(id)];
  }

  Status run(const RaggedTokens& ids, const ModelPass& pass) const override {
    std::vector<float> rows;
    for (const auto& sequence : ids) {
      for (const TokenId id : sequence) {
        const float* const row = &embedding_(static_cast<std::size_t>(id), 0);
        rows.insert(rows.end(), row, row + kSize);
      }
    }
    for (std::size_t n = 0; n < pass.before_layer.value_or(2); ++n) {
      if (pass.before_each) {
        HEADWISE_TRY(pass.before_each(
            n, {rows.data(), {1, rows.size() / kSize, kSize}}));
      }
      HEADWISE_TRY(add_attention(n, ids, pass, rows));
    }
    return ok();
  }

 private:
  static constexpr std::size_t kSize = 16;

  // Sequence by sequence, as the hooks see it.
  Status add_attention(std::size_t n, const RaggedTokens& ids,
                       const ModelPass& pass, std::vector<float>& rows) const {
    AttentionOptions options;
    options.mask = shape_.causal ? causal() : Mask();
    options.executor = pass.executor;
    float* first = rows.data();
    for (const auto& sequence : ids) {
      const HookPlace at{n,
                         static_cast<std::size_t>(first - rows.data()) / kSize};
      const HeadHooks hooks{.see_inputs = [&](const HookedHeads& heads) {
        return pass.hooks.see_inputs ? pass.hooks.see_inputs(at, heads) : ok();
      }};
      const TensorView<const float, 3> x(first, {1, sequence.size(), kSize});
      HEADWISE_ASSIGN(const auto added,
                      layers_[n].forward(x, x, x, options, {.hooks = &hooks}));
      for (const float value : added.output.elements()) {
        *first++ += value;
      }
    }
    return ok();
  }

  std::vector<std::string> vocabulary_;
  TextModelShape shape_;
  Tensor<float, 2> embedding_;
  std::vector<MultiHeadAttention> layers_;
};

}  // namespace headwise::testing_support
