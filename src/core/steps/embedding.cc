#include "headwise/steps/embedding.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/check.h"
#include "base/out_of_memory.h"
#include "run/float_environment.h"
#include "steps/check_token.h"
#include "steps/embedding_gradient.h"
#include "steps/one_nan.h"
#include "steps/step_checks.h"
#include "steps/token_blocks.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::uint32_t kEmbeddingStream = 0;

Status check_sizes(std::size_t vocab_size, std::size_t embed_dim) {
  HEADWISE_TRY(check_at_least_one("embedding", "vocab_size", vocab_size));
  return check_at_least_one("embedding", "embed_dim", embed_dim);
}

}  // namespace
}  // namespace headwise::inline HEADWISE_ABI

namespace headwise::internal::inline HEADWISE_ABI {

Result<Tensor<float, 2>> embedding_gradient(
    TensorView<const TokenId, 2> ids, TensorView<const float, 3> d_embedded,
    RowRange rows, TensorView<const std::int64_t, 1> offsets) {
  const auto [B, L, E] = d_embedded.extents();
  HEADWISE_ASSIGN(auto d_weight, Tensor<float, 2>::create({rows.count, E}));
  HEADWISE_ASSIGN(auto block_sum, Tensor<float, 2>::create({kTokenBlock, E}));
  const FloatEnvironment environment;
  for_each_token_block(B, L, offsets, [&, E = E](const TokenBlock& block) {
    // The sum for an id is at the first token that has it.
    std::array<std::size_t, kTokenBlock> place{};
    const auto id_of = [&](std::size_t t) {
      return static_cast<std::size_t>(ids(block.b, block.first + t));
    };
    const auto has_row = [&](std::size_t t) {
      return id_of(t) >= rows.first && id_of(t) < rows.end();
    };
    for (std::size_t t = 0; t < block.count; ++t) {
      if (!has_row(t)) {
        continue;
      }
      place[t] = 0;
      while (id_of(place[t]) != id_of(t)) {
        ++place[t];
      }
      float* sum = &block_sum(place[t], 0);
      for (std::size_t c = 0; c < E; ++c) {
        sum[c] = (place[t] == t ? 0 : sum[c]) +
                 d_embedded(block.b, block.first + t, c);
      }
    }
    for (std::size_t t = 0; t < block.count; ++t) {
      for (std::size_t c = 0; has_row(t) && place[t] == t && c < E; ++c) {
        d_weight(id_of(t) - rows.first, c) += block_sum(t, c);
      }
    }
  });
  unify_nans(d_weight.elements());
  return d_weight;
}

}  // namespace headwise::internal::inline HEADWISE_ABI

namespace headwise::inline HEADWISE_ABI {

Result<Embedding> Embedding::create(const EmbeddingConfig& config,
                                    Seed seed) try {
  HEADWISE_TRY(check_sizes(config.vocab_size, config.embed_dim));
  HEADWISE_ASSIGN(auto weight, Tensor<float, 2>::create(
                                   {config.vocab_size, config.embed_dim}));
  RandomStream(seed, kEmbeddingStream).fill_normal(weight.elements());
  return Embedding(std::move(weight));
} catch (...) {
  return caught_out_of_memory();
}

Result<Embedding> Embedding::from_weight(Tensor<float, 2> weight) try {
  HEADWISE_TRY(check_sizes(weight.extent(0), weight.extent(1)));
  return Embedding(std::move(weight));
} catch (...) {
  return caught_out_of_memory();
}

Result<Tensor<float, 3>> Embedding::forward(
    TensorView<const TokenId, 2> ids) const try {
  const auto [B, L] = ids.extents();
  HEADWISE_ASSIGN(auto embedded, Tensor<float, 3>::create({B, L, embed_dim()}));
  for (std::size_t b = 0; L != 0 && b < B; ++b) {
    for (std::size_t t = 0; t < L; ++t) {
      const TokenId id = ids(b, t);
      HEADWISE_TRY(check_token(id, b, t, vocab_size()));
      std::transform(&weight_(id, 0), &weight_(id, 0) + embed_dim(),
                     &embedded(b, t, 0), one_nan);
    }
  }
  return embedded;
} catch (...) {
  return caught_out_of_memory();
}

Result<Tensor<float, 2>> Embedding::backward(
    TensorView<const TokenId, 2> ids, TensorView<const float, 3> d_embedded,
    std::optional<TokenId> frozen,
    TensorView<const std::int64_t, 1> offsets) const try {
  const auto [B, L] = ids.extents();
  HEADWISE_TRY(check_shape("embedding", "d_embedded", d_embedded.extents(),
                           "(B, L, embed_dim)", {{B, L, embed_dim()}}));
  HEADWISE_TRY(check_token_offsets("embedding", B, L, offsets));
  for (std::size_t b = 0; L != 0 && b < B; ++b) {
    for (std::size_t t = 0; t < L; ++t) {
      HEADWISE_TRY(check_token(ids(b, t), b, t, vocab_size()));
    }
  }
  if (frozen &&
      (*frozen < 0 || static_cast<std::uint64_t>(*frozen) >= vocab_size())) {
    return value_error("embedding", "frozen", std::to_string(*frozen),
                       message("0 to vocab_size - 1 = {}", vocab_size() - 1),
                       ErrorCode::out_of_range);
  }
  HEADWISE_ASSIGN(
      auto d_weight,
      embedding_gradient(ids, d_embedded, {0, vocab_size()}, offsets));
  if (frozen) {
    std::fill_n(&d_weight(*frozen, 0), embed_dim(), 0.0f);
  }
  return d_weight;
} catch (...) {
  return caught_out_of_memory();
}

}  // namespace headwise::inline HEADWISE_ABI
