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
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <optional>
#include <vector>

#include "headwise/attention/forward.h"
#include "headwise/attention/statistics.h"
#include "headwise/heads/norm_statistics.h"
#include "headwise/module/multi_head_attention.h"
#include "headwise/steps/activation.h"
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
    static_cast<void>(
        activate(Activation::gelu, rows, rows, Executor::default_executor()));
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

// What the work is done on.
struct Inputs {
  explicit Inputs(std::size_t tokens)
      : length(tokens),
        x(Tensor<float, 3>::create({1, tokens, kHidden}).value()),
        output(Tensor<float, 4>::create({1, tokens, kHeads, kHidden / kHeads})
                   .value()) {
    RandomStream(Seed{2}, 1).fill_normal(x.elements());
    const HeadHooks keep{.see_inputs = [&](const HookedHeads& heads) {
      queries = copied(heads.query);
      keys = copied(heads.key);
      values = copied(heads.value);
      return ok();
    }};
    layer.attention.forward(x, x, x, {}, {.hooks = &keep}).value();
  }

  static Tensor<float, 4> copied(TensorView<const float, 4> x) {
    auto copy = Tensor<float, 4>::create(x.extents()).value();
    std::copy_n(x.data(), copy.size(), copy.data());
    return copy;
  }

  TensorView<const float, 4> query() const { return queries; }
  TensorView<const float, 4> key() const { return keys; }
  TensorView<const float, 4> value() const { return values; }
  TensorView<float, 4> nothing() const {
    return {nullptr, {1, length, kHeads, 0}};
  }
  Tensor<float, 3> norms() const {
    return value_norms(layer.attention, value()).value();
  }

  const Executor& executor = Executor::default_executor();
  Layer layer;
  std::size_t length;
  Tensor<float, 3> x;
  Tensor<float, 4> queries;
  Tensor<float, 4> keys;
  Tensor<float, 4> values;
  Tensor<float, 4> output;
};

// In the order of a round.
enum Work {
  kForward,
  kAttention,
  kKeyNorms,
  kWithNorms,
  kAlone,
  kStatisticsOnly,
  kBoth
};

std::vector<Measured> works_on(Inputs& in) {
  const auto attend = [&in] {
    static_cast<void>(attention(in.query(), in.key(), in.value(),
                                {.output = in.output.view()}));
  };
  const auto attend_with_norms = [&in] {
    const auto norms = in.norms();
    attention_with_norms({in.query(), in.key(), in.value()}, norms,
                         {.output = in.output.view()})
        .value();
  };
  const auto norms_alone = [&in] {
    const auto norms = in.norms();
    norm_statistics(in.query(), in.key(), norms, {}, {}).value();
  };
  const OperationOptions rows = {.statistics = {.rows = true}};
  const auto statistics = [&in, rows] {
    attention_statistics(in.query(), in.key(), in.nothing(),
                         {.output = in.nothing()}, {}, rows)
        .value();
  };
  const auto both = [&in, rows] {
    in.layer.attention.params()->w_v->forward(in.x, "x", in.executor).value();
    const auto norms = in.norms();
    attention_statistics_with_norms({in.query(), in.key(), in.nothing()}, norms,
                                    {.output = in.nothing()}, {}, rows)
        .value();
  };
  return {{"forward", [&in] { in.layer.forward(in.x); }},
          {"attention", attend},
          {"key_norms", [&in] { in.norms(); }},
          {"with_norms", attend_with_norms},
          {"alone", norms_alone},
          {"statistics", statistics},
          {"both", both}};
}

void run(std::size_t length, std::size_t rounds) {
  Inputs in(length);
  std::vector<Measured> works = works_on(in);
  for (std::size_t round = 0; round < rounds; ++round) {
    for (Measured& work : works) {
      work.run();
    }
  }
  std::printf("{\"length\": %zu, ", length);
  for (const Measured& work : works) {
    work.print();
  }
  const double forward = works[kForward].median();
  const double attention = works[kAttention].median();
  const double added = works[kWithNorms].median() - attention;
  std::printf(
      "\"share\": %.3f, \"share_of_attention\": %.3f, \"share_of_key_norms\": "
      "%.3f, \"share_alone\": %.3f, \"share_of_command\": %.3f}\n",
      added / forward, added / attention, works[kKeyNorms].median() / forward,
      works[kAlone].median() / forward,
      (works[kBoth].median() - works[kStatisticsOnly].median()) / forward);
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
