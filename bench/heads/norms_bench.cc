// Value-weighted norms next to the forward pass of a layer of MiniLM's size:
//   norms_bench LENGTH ROUNDS
//
// A layer has 12 heads of 32 features and an inner layer of 1536. Each round
// runs, one after the other,
//
//   forward     attention with its projections, and the feed-forward part
//   attention   of the heads alone
//   key_norms   a norm per head and key
//   with_norms  these, and attention with the statistics of its shares: what a
//               forward pass with norms has in place of `attention`
//   alone       the norms and the statistics without attention
//   statistics  of the attention weights, without values: what `headwise stats`
//               computes of a layer
//   both        these, the values, the norms and the statistics of the shares:
//               what `headwise stats --attribution norms` computes
//
// Prints a line of JSON with the seconds of processor time of every round, and
// shares of the medians: `share` is what norms add to `forward`, (with_norms -
// attention) / forward; `share_of_attention` what they add to `attention`;
// `share_of_command` is (both - statistics) / forward.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <vector>

#include "headwise/attention/forward.h"
#include "headwise/attention/statistics.h"
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

// The seconds of each round.
struct Measured {
  const char* name;
  std::function<void()> work;
  std::vector<double> seconds{};

  void run() {
    const std::clock_t begin = std::clock();
    work();
    seconds.push_back(static_cast<double>(std::clock() - begin) /
                      CLOCKS_PER_SEC);
  }
  double median() const {
    std::vector<double> sorted = seconds;
    std::ranges::sort(sorted);
    return sorted[sorted.size() / 2];
  }
  void print() const {
    std::printf("\"%s\": [", name);
    for (std::size_t n = 0; n < seconds.size(); ++n) {
      std::printf("%s%.4f", n == 0 ? "" : ", ", seconds[n]);
    }
    std::printf("], ");
  }
};

void run(std::size_t length, std::size_t rounds) {
  const Executor& executor = Executor::default_executor();
  const Layer layer;
  auto x = Tensor<float, 3>::create({1, length, kHidden}).value();
  RandomStream(Seed{2}, 1).fill_normal(x.elements());
  const auto values =
      layer.attention.params()->w_v->forward(x, "x", executor).value();
  const TensorView<const float, 4> value(values.data(),
                                         {1, length, kHeads, kHidden / kHeads});
  const auto heads = ProjectedHeads::of(layer.attention, x, executor).value();
  const AttentionInputsOf<float> inputs = {heads.query(0, length),
                                           heads.key(0, length), value};
  auto output = Tensor<float, 4>::create(value.extents()).value();
  Measured forward = {"forward", [&] { layer.forward(x); }};
  Measured alone_attention = {
      "attention", [&] {
        static_cast<void>(attention(inputs.query, inputs.key, inputs.value,
                                    {.output = output.view()}));
      }};
  Measured key_norms = {"key_norms",
                        [&] { value_norms(layer.attention, value).value(); }};
  Measured with_norms = {
      "with_norms", [&] {
        const auto norms = value_norms(layer.attention, value).value();
        attention_with_norms(inputs, norms, {.output = output.view()}).value();
      }};
  Measured alone = {
      "alone", [&] {
        const auto norms = value_norms(layer.attention, value).value();
        norm_statistics(inputs.query, inputs.key, norms, {}, {}).value();
      }};
  const TensorView<const float, 4> no_value(nullptr, {1, length, kHeads, 0});
  const AttentionOutputs no_output = {
      .output = TensorView<float, 4>(nullptr, {1, length, kHeads, 0})};
  const OperationOptions rows = {.statistics = {.rows = true}};
  Measured statistics = {"statistics", [&] {
                           attention_statistics(inputs.query, inputs.key,
                                                no_value, no_output, {}, rows)
                               .value();
                         }};
  Measured both = {
      "both", [&] {
        layer.attention.params()->w_v->forward(x, "x", executor).value();
        const auto norms = value_norms(layer.attention, value).value();
        attention_statistics_with_norms({inputs.query, inputs.key, no_value},
                                        norms, no_output, {}, rows)
            .value();
      }};
  const std::array<Measured*, 7> all = {
      &forward, &alone_attention, &key_norms, &with_norms,
      &alone,   &statistics,      &both};
  for (std::size_t round = 0; round < rounds; ++round) {
    for (Measured* const one : all) {
      one->run();
    }
  }
  std::printf("{\"length\": %zu, ", length);
  for (const Measured* const one : all) {
    one->print();
  }
  const double added = with_norms.median() - alone_attention.median();
  std::printf(
      "\"share\": %.3f, \"share_of_attention\": %.3f, \"share_of_key_norms\": "
      "%.3f, \"share_alone\": %.3f, \"share_of_command\": %.3f}\n",
      added / forward.median(), added / alone_attention.median(),
      key_norms.median() / forward.median(), alone.median() / forward.median(),
      (both.median() - statistics.median()) / forward.median());
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
