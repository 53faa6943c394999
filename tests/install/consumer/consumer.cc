// A program of somebody who uses headwise.
#include <headwise/headwise.h>

#include <cmath>
#include <cstring>
#include <iostream>

namespace hw = headwise;

int main() {
  const hw::RaggedTokens tokens = {{3, 1, 4}, {1, 5}};
  const auto padded = hw::pad(tokens).value();
  const auto embedding =
      hw::Embedding::create({.vocab_size = 10, .embed_dim = 8}, hw::Seed{1})
          .value();
  auto layer = hw::MultiHeadAttention::create({.embed_dim = 8, .num_heads = 2},
                                              hw::Seed{1})
                   .value();
  const auto x = embedding.forward(padded.ids).value();
  const auto result =
      layer.forward(x, x, x, {.mask = hw::key_padding(padded.padding_mask)})
          .value();
  std::cout << "headwise " << hw::version() << '\n';
  // Headers and library of one version, and the work was done.
  const bool same_version =
      std::strcmp(hw::version(), HEADWISE_VERSION_STRING) == 0;
  return same_version && std::isfinite(result.output(1, 2, 7)) ? 0 : 1;
}
