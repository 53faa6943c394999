// Value-weighted norms next to the forward pass of a layer of MiniLM's size:
//   norms_bench LENGTH ROUNDS
//
// A layer has 12 heads of 32 features and an inner layer of 1536. In each round
// it runs `forward`, the attention and the feed-forward part; `key_norms`, a
// norm per head and key; and `norms`, these and the statistics of each head's
// shares. Prints one line of JSON with the median of each, in seconds.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

#include "headwise/heads/norm_statistics.h"
#include "headwise/heads/projected_heads.h"
#include "headwise/heads/value_norms.h"
#include "headwise/module/multi_head_attention.h"
#include "headwise/steps/gelu.h"
#include "headwise/steps/layer_norm.h"

namespace headwise {
namespace {

constexpr std::size_t kHeads = 12;
constexpr std::size_t kHidden = 384;
constexpr std::size_t kIntermediate = 1536;

struct Layer {
  MultiHeadAttention attention =
      MultiHeadAttention::create({.embed_dim = kHidden, .num_heads = kHeads},
                                 Seed{1})
          .value();
  Linear intermediate =
      Linear::create({.in_features = kHidden, .out_features = kIntermediate},
                     RandomStream(Seed{1}, 1))
          .value();
  Linear output =
      Linear::create({.in_features = kIntermediate, .out_features = kHidden},
                     RandomStream(Seed{1}, 2))
          .value();

  void forward(TensorView<const float, 3> x) const {
    const auto attended = attention.forward(x, x, x).value();
    auto inner = intermediate.forward(attended.output).value();
    const TensorView<float, 2> rows(inner.data(),
                                    {inner.extent(1), inner.extent(2)});
    static_cast<void>(gelu(rows, rows, Executor::default_executor()));
    output.forward(inner).value();
  }
};

double median_seconds(std::size_t rounds, const std::function<void()>& work) {
  std::vector<double> seconds;
  for (std::size_t n = 0; n < rounds; ++n) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    seconds.push_back(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
            .count());
  }
  std::ranges::sort(seconds);
  return seconds[rounds / 2];
}

void run(std::size_t length, std::size_t rounds) {
  const Executor& executor = Executor::default_executor();
  const Layer layer;
  auto x = Tensor<float, 3>::create({1, length, kHidden}).value();
  RandomStream(Seed{2}, 1).fill_normal(x.elements());
  const double forward = median_seconds(rounds, [&] { layer.forward(x); });
  const auto values =
      layer.attention.params()->w_v->forward(x, "x", executor).value();
  const TensorView<const float, 4> value(values.data(),
                                         {1, length, kHeads, kHidden / kHeads});
  const double key_norms = median_seconds(
      rounds, [&] { value_norms(layer.attention, value).value(); });
  const auto heads = ProjectedHeads::of(layer.attention, x, executor).value();
  const double norms = median_seconds(rounds, [&] {
    const auto of_keys = value_norms(layer.attention, value).value();
    norm_statistics(heads.query(0, length), heads.key(0, length), of_keys, {},
                    {.statistics = {.rows = true}})
        .value();
  });
  std::printf(
      "{\"length\": %zu, \"forward\": %.4f, \"key_norms\": %.4f, \"norms\": "
      "%.4f, \"share\": %.3f}\n",
      length, forward, key_norms, norms, norms / forward);
}

}  // namespace
}  // namespace headwise

int main(int count, char** arguments) {
  if (count != 3) {
    std::fputs("usage: norms_bench LENGTH ROUNDS\n", stderr);
    return 2;
  }
  headwise::run(std::strtoul(arguments[1], nullptr, 10),
                std::strtoul(arguments[2], nullptr, 10));
}
