// The inner loops of attention, each alone on a tile in the caches, and the
// plain loops that they stand for. Names say the instruction set in use
// (HEADWISE_TARGET forces one) and the head size. `share` is the rate over
// the FMA peak taken before and after, in processor time.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "bench_peak.h"
#include "headwise/base/random.h"
#include "headwise/base/tensor.h"
#include "headwise/kernels/targets.h"
#include "kernels/attention_tile.h"
#include "kernels/tile_layout.h"

namespace headwise::kernels {
namespace {

Tensor<float, 1> drawn(std::size_t count, std::uint32_t stream) {
  Tensor<float, 1> tensor = Tensor<float, 1>::create({count}).value();
  RandomStream(Seed{7}, stream).fill_normal(tensor.elements());
  return tensor;
}

// A full tile of queries and one block of keys and values, of head size D.
struct Block {
  explicit Block(std::size_t head_size)
      : D(head_size),
        rows(drawn(lanes * D, 1)),
        q_t(drawn(lanes * D, 2)),
        keys(drawn(kKeyBlock * D, 3)),
        values(drawn(kKeyBlock * D, 4)),
        scores(drawn(kKeyBlock * lanes, 5)),
        context(drawn(lanes * D, 6)),
        output(drawn(lanes * D, 7)),
        max(drawn(lanes, 8)),
        sum(drawn(lanes, 9)),
        state_max(drawn(lanes, 10)),
        state_sum(drawn(lanes, 11)) {
    std::ranges::fill(sum.elements(), 1.0f);
    std::ranges::fill(state_sum.elements(), 1.0f);
  }

  RowState state() { return {state_max.data(), state_sum.data()}; }

  const AttentionTile& tile = attention_tile();
  const TileLayout& layout = tile_layout();
  std::size_t lanes = tile.query_lanes;
  std::size_t D;
  Tensor<float, 1> rows;  // (lanes, D)
  Tensor<float, 1> q_t, keys, values, scores, context, output;
  Tensor<float, 1> max, sum, state_max, state_sum;
};

void pack(Block& b) {
  b.layout.pack_queries(
      {b.rows.data(), b.lanes, static_cast<std::ptrdiff_t>(b.D), 1}, b.D, 0.18f,
      b.lanes, b.q_t.data());
}
void score(Block& b) {
  b.tile.score(b.q_t.data(), b.keys.data(), b.D, kKeyBlock, b.D, b.lanes,
               b.scores.data());
}
void softmax(Block& b) {
  b.tile.softmax(kKeyBlock, b.lanes, b.scores.data(), b.max.data(),
                 b.sum.data());
}
void weigh(Block& b) {
  b.tile.weigh(b.scores.data(), b.values.data(), kKeyBlock, kKeyBlock, b.D,
               b.lanes, b.max.data(), b.sum.data(), b.state(),
               b.context.data());
}
void store(Block& b) {
  b.layout.store(
      b.context.data(), b.sum.data(), b.D, b.lanes,
      {b.output.data(), b.lanes, static_cast<std::ptrdiff_t>(b.D), 1});
}

// ---- The same by plain loops, a row at a time. ----

void plain_score(Block& b) {
  for (std::size_t i = 0; i < b.lanes; ++i) {
    for (std::size_t k = 0; k < kKeyBlock; ++k) {
      float sum = 0;
      for (std::size_t d = 0; d < b.D; ++d) {
        sum += b.rows(i * b.D + d) * b.keys(k * b.D + d);
      }
      b.scores(i * kKeyBlock + k) = sum;
    }
  }
}
void plain_softmax(Block& b) {
  for (std::size_t i = 0; i < b.lanes; ++i) {
    float* row = b.scores.data() + i * kKeyBlock;
    const float max = *std::max_element(row, row + kKeyBlock);
    float sum = 0;
    for (std::size_t k = 0; k < kKeyBlock; ++k) {
      row[k] = std::exp2(row[k] - max);
      sum += row[k];
    }
    b.max(i) = max;
    b.sum(i) = sum;
  }
}
void plain_weigh(Block& b) {
  for (std::size_t i = 0; i < b.lanes; ++i) {
    for (std::size_t d = 0; d < b.D; ++d) {
      float sum = 0;
      for (std::size_t k = 0; k < kKeyBlock; ++k) {
        sum += b.scores(i * kKeyBlock + k) * b.values(k * b.D + d);
      }
      b.context(i * b.D + d) = sum;
    }
  }
}

// ---- What is counted. ----

using Loop = void (*)(Block&);

// How many floating-point operations the processor could have done meanwhile.
double possible_operations(benchmark::State& state, Block& block, Loop loop) {
  static const cli::PeakMeter kMeter = cli::PeakMeter::create(1).value();
  const double before = kMeter.fma_gflops();
  const double start = cli::thread_seconds();
  for ([[maybe_unused]] auto _ : state) {
    loop(block);
    benchmark::ClobberMemory();
  }
  const double seconds = cli::thread_seconds() - start;
  return seconds * 1e9 * (before + kMeter.fma_gflops()) / 2;
}

// Multiply-adds: the rate in floating-point operations, and its share.
void measure_products(benchmark::State& state, std::size_t D, Loop loop) {
  Block block(D);
  const double possible = possible_operations(state, block, loop);
  const double done = 2.0 * static_cast<double>(block.lanes) *
                      static_cast<double>(kKeyBlock * D) *
                      static_cast<double>(state.iterations());
  state.counters["FLOP"] =
      benchmark::Counter(done, benchmark::Counter::kIsRate);
  state.counters["share"] = done / possible;
}

// Loops without products: elements a second, and the multiply-adds that the
// processor could have done meanwhile, an element.
void measure_elements(benchmark::State& state, std::size_t D,
                      std::size_t a_lane, Loop loop) {
  Block block(D);
  const double possible = possible_operations(state, block, loop);
  const double done = static_cast<double>(block.lanes * a_lane) *
                      static_cast<double>(state.iterations());
  state.counters["elements"] =
      benchmark::Counter(done, benchmark::Counter::kIsRate);
  state.counters["FMAs_an_element"] = possible / 2 / done;
}

void add_all(const std::string& target) {
  for (const std::size_t D : {64, 128}) {
    const auto name = [&](const std::string& loop, const std::string& way) {
      return loop + "/" + way + "/D:" + std::to_string(D);
    };
    const auto add_products = [&](const std::string& full, Loop loop) {
      benchmark::RegisterBenchmark(full.c_str(), [=](benchmark::State& state) {
        measure_products(state, D, loop);
      });
    };
    const auto add_elements = [&](const std::string& full, std::size_t a_lane,
                                  Loop loop) {
      benchmark::RegisterBenchmark(full.c_str(), [=](benchmark::State& state) {
        measure_elements(state, D, a_lane, loop);
      });
    };
    add_products(name("score", target), score);
    add_products(name("score", "plain"), plain_score);
    add_products(name("weigh", target), weigh);
    add_products(name("weigh", "plain"), plain_weigh);
    add_elements(name("softmax", target), kKeyBlock, softmax);
    add_elements(name("softmax", "plain"), kKeyBlock, plain_softmax);
    add_elements(name("pack_queries", target), D, pack);
    add_elements(name("store", target), D, store);
  }
}

}  // namespace
}  // namespace headwise::kernels

int main(int argc, char** argv) {
  const auto target = headwise::current_target();
  if (!target) {
    std::fprintf(stderr, "kernels_bench: %s\n", target.error().message.c_str());
    return 2;
  }
  headwise::kernels::add_all(*target);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) {
    return 2;
  }
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
