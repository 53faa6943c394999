#include "headwise/steps/embedding.h"

#include <algorithm>

#include "base/check.h"

namespace headwise {
namespace {

constexpr std::uint32_t kEmbeddingStream = 0;

Status check_sizes(std::size_t vocab_size, std::size_t embed_dim) {
  if (Status s = check_at_least_one("embedding", "vocab_size", vocab_size);
      !s) {
    return s;
  }
  return check_at_least_one("embedding", "embed_dim", embed_dim);
}

}  // namespace

Result<Embedding> Embedding::create(const EmbeddingConfig& config, Seed seed) {
  if (Status s = check_sizes(config.vocab_size, config.embed_dim); !s) {
    return s.error();
  }
  auto weight = Tensor<float, 2>::create({config.vocab_size, config.embed_dim});
  if (!weight) {
    return weight.error();
  }
  RandomStream(seed, kEmbeddingStream).fill_normal(weight->elements());
  return Embedding(*std::move(weight));
}

Result<Embedding> Embedding::from_weight(Tensor<float, 2> weight) {
  if (Status s = check_sizes(weight.extent(0), weight.extent(1)); !s) {
    return s.error();
  }
  return Embedding(std::move(weight));
}

Result<Tensor<float, 3>> Embedding::forward(
    TensorView<const TokenId, 2> ids) const {
  const auto [B, L] = ids.extents();
  auto embedded = Tensor<float, 3>::create({B, L, embed_dim()});
  if (!embedded) {
    return embedded.error();
  }
  for (std::size_t b = 0; b < B; ++b) {
    for (std::size_t t = 0; t < L; ++t) {
      const TokenId id = ids(b, t);
      if (Status s = check_token(id, b, t, vocab_size()); !s) {
        return s.error();
      }
      std::copy_n(&weight_(id, 0), embed_dim(), &(*embedded)(b, t, 0));
    }
  }
  return embedded;
}

}  // namespace headwise
