// The workload decode_short: one token after 127 others. Compares a call of an
// existing plan with the bare loops that it runs. The difference is the cost of
// checks, bookkeeping and dividing the work.
#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "headwise/decode/decode_plan.h"
#include "headwise/decode/kv_cache.h"
#include "headwise/run/executor.h"
#include "headwise/run/workspace.h"
#include "headwise/steps/mask.h"
#include "kernel_loop.h"
#include "kernels/row_tile.h"
#include "kernels/stored_rows.h"
#include "kernels/stored_tile.h"

namespace headwise {
namespace {

using namespace kernels;  // NOLINT(google-build-using-namespace): its loops

constexpr std::size_t kHeads = 32;
constexpr std::size_t kKeyHeads = 8;
constexpr std::size_t kTokens = kKeyBlock;
constexpr std::size_t kHeadSize = 128;
constexpr std::size_t kGroup = kHeads / kKeyHeads;
constexpr std::size_t kPanels = kTokens / kPanelKeys;
static_assert(kGroup == kRowsAtOnce);

// Query, keys and values of the new token, and its output: (heads, D).
struct Token {
  Tensor<float, 1> q = drawn(kHeads * kHeadSize, 1);
  Tensor<float, 1> k = drawn(kKeyHeads * kHeadSize, 2);
  Tensor<float, 1> v = drawn(kKeyHeads * kHeadSize, 3);
  Tensor<float, 1> output = drawn(kHeads * kHeadSize, 4);
};

struct Step {
  Step() {
    const Tensor<float, 1> x = drawn((kTokens - 1) * kKeyHeads * kHeadSize, 5);
    const TensorView<const float, 4> before(
        x.data(), {1, kTokens - 1, kKeyHeads, kHeadSize});
    if (!cache.append(ids, before, before)) {
      std::abort();
    }
  }

  void run() {
    const Extents<4> of_keys = {1, 1, kKeyHeads, kHeadSize};
    const Extents<4> of_queries = {1, 1, kHeads, kHeadSize};
    const bool ran(plan.run(
        ids, TensorView<const float, 4>(token.q.data(), of_queries),
        TensorView<const float, 4>(token.k.data(), of_keys),
        TensorView<const float, 4>(token.v.data(), of_keys),
        {.output = TensorView<float, 4>(token.output.data(), of_queries)},
        workspace));
    if (!ran || !cache.truncate(ids.front(), kTokens - 1)) {
      std::abort();
    }
  }

  Executor executor = Executor::with_threads(1).value();
  KvCache cache = KvCache::create({.num_kv_heads = kKeyHeads,
                                   .head_dim = kHeadSize,
                                   .page_size = 0,
                                   .max_tokens = kTokens})
                      .value();
  std::vector<SequenceId> ids = {cache.add().value()};
  DecodePlan plan =
      DecodePlan::create(cache, kHeads, 1,
                         {.mask = causal(), .executor = &executor})
          .value();
  Workspace workspace = Workspace::create(plan.workspace_bytes()).value();
  Token token;
};

struct Loops {
  void run() {
    for (std::size_t head = 0; head < kKeyHeads; ++head) {
      append(head);
      attend(head);
    }
  }

  void append(std::size_t head) {
    store_keys(
        Rows<const float>{token.k.data() + head * kHeadSize, 1, kHeadSize, 1},
        kHeadSize, StoredType::float32, kPanelKeys, kPanelKeys - 1,
        panel(head, kPanels - 1), nullptr);
    store_values(
        Rows<const float>{token.v.data() + head * kHeadSize, 1, kHeadSize, 1},
        kHeadSize, StoredType::float32,
        values_of(head) + (kTokens - 1) * kHeadSize, nullptr);
  }

  void attend(std::size_t head) {
    const StoredTile& stored = stored_tile(StoredType::float32);
    const std::size_t first = head * kGroup * kHeadSize;
    row_tile().pack_rows(
        Rows<const float>{token.q.data() + first, kGroup, kHeadSize, 1},
        kHeadSize, 0.1f, q.data());
    for (std::size_t n = 0; n < kPanels; ++n) {
      stored.score(q.data(), kGroup, {panel(head, n), nullptr, kPanelKeys},
                   kHeadSize, 1, scores.data() + n * kPanelKeys);
    }
    row_tile().softmax(kGroup, kTokens, nullptr, scores.data(), max);
    const ValueRows rows = {values_of(head), nullptr, kTokens, kHeadSize};
    stored.weigh(scores.data(), kGroup, &rows, 1, kHeadSize, false, sum,
                 context.data());
    std::ranges::fill(state_sum, 0.0f);
    row_tile().fold(kGroup, kHeadSize,
                    {max, sum, {state_max, state_sum}, false}, context.data(),
                    folded.data());
    row_tile().store(
        folded.data(), state_sum, kHeadSize,
        Rows<float>{token.output.data() + first, kGroup, kHeadSize, 1});
  }

  float* panel(std::size_t head, std::size_t n) {
    return keys.data() + (head * kPanels + n) * kPanelKeys * kHeadSize;
  }
  float* values_of(std::size_t head) {
    return values.data() + head * kTokens * kHeadSize;
  }

  Tensor<float, 1> keys = drawn(kKeyHeads * kTokens * kHeadSize, 5);
  Tensor<float, 1> values = drawn(kKeyHeads * kTokens * kHeadSize, 6);
  Tensor<float, 1> q = drawn(kGroup * kHeadSize, 7);
  Tensor<float, 1> scores = drawn(kGroup * kKeyBlock, 8);
  Tensor<float, 1> context = drawn(kGroup * kHeadSize, 9);
  Tensor<float, 1> folded = drawn(kGroup * kHeadSize, 10);
  // The loops take whole vectors of rows.
  alignas(64) float max[whole_lines(kGroup)] = {};
  alignas(64) float sum[whole_lines(kGroup)] = {};
  alignas(64) float state_max[whole_lines(kGroup)] = {};
  alignas(64) float state_sum[whole_lines(kGroup)] = {};
  Token token;
};

template <class Runs>
Prepare prepared() {
  return [] {
    const auto it = std::make_shared<Runs>();
    return [it] { it->run(); };
  };
}

}  // namespace

void add_decode_short(const std::string& target) {
  add_overhead("decode_short/" + target, prepared<Step>(), prepared<Loops>());
}

}  // namespace headwise
