#include "kernel_loop.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "bench/bench_peak.h"
#include "headwise/base/random.h"

namespace headwise {
namespace {

// How much of what `rate` counts, in 10^9 a second, could have been done
// meanwhile.
double possible(benchmark::State& state, const Prepare& prepare,
                double (cli::PeakMeter::*rate)() const) {
  static const cli::PeakMeter kMeter = cli::PeakMeter::create(1).value();
  const std::function<void()> loop = prepare();
  const double before = (kMeter.*rate)();
  const double start = cli::thread_seconds();
  for ([[maybe_unused]] auto _ : state) {
    loop();
    benchmark::ClobberMemory();
  }
  const double seconds = cli::thread_seconds() - start;
  return seconds * 1e9 * (before + (kMeter.*rate)()) / 2;
}

// How many floating-point operations the processor could have done meanwhile.
double possible_operations(benchmark::State& state, const Prepare& prepare) {
  return possible(state, prepare, &cli::PeakMeter::fma_gflops);
}

// Of one run, as the mean of some in a row.
double seconds_of(const std::function<void()>& run) {
  constexpr std::size_t kRuns = 64;
  const double start = cli::thread_seconds();
  for (std::size_t n = 0; n < kRuns; ++n) {
    run();
    benchmark::ClobberMemory();
  }
  return (cli::thread_seconds() - start) / static_cast<double>(kRuns);
}

double median(std::vector<double> values) {
  const auto middle =
      values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

}  // namespace

void add_products(const std::string& name, double multiply_adds,
                  Prepare prepare) {
  benchmark::RegisterBenchmark(
      name.c_str(),
      [multiply_adds, prepare = std::move(prepare)](benchmark::State& state) {
        const double possible = possible_operations(state, prepare);
        const double done =
            2 * multiply_adds * static_cast<double>(state.iterations());
        state.counters["FLOP"] =
            benchmark::Counter(done, benchmark::Counter::kIsRate);
        state.counters["share"] = done / possible;
      });
}

void add_elements(const std::string& name, double elements, Prepare prepare) {
  benchmark::RegisterBenchmark(
      name.c_str(),
      [elements, prepare = std::move(prepare)](benchmark::State& state) {
        const double possible = possible_operations(state, prepare);
        const double done = elements * static_cast<double>(state.iterations());
        state.counters["elements"] =
            benchmark::Counter(done, benchmark::Counter::kIsRate);
        state.counters["FMAs_an_element"] = possible / 2 / done;
      });
}

void add_bytes(const std::string& name, double bytes, Prepare prepare) {
  benchmark::RegisterBenchmark(
      name.c_str(),
      [bytes, prepare = std::move(prepare)](benchmark::State& state) {
        const double most =
            possible(state, prepare, &cli::PeakMeter::read_gb_s);
        const double done = bytes * static_cast<double>(state.iterations());
        state.counters["bytes"] =
            benchmark::Counter(done, benchmark::Counter::kIsRate);
        state.counters["share"] = done / most;
      });
}

void add_overhead(const std::string& name, Prepare call, Prepare loops) {
  benchmark::RegisterBenchmark(
      name.c_str(), [call = std::move(call),
                     loops = std::move(loops)](benchmark::State& state) {
        const std::function<void()> whole = call();
        const std::function<void()> bare = loops();
        std::vector<double> calls;
        std::vector<double> loop_times;
        std::vector<double> more;
        for ([[maybe_unused]] auto _ : state) {
          calls.push_back(seconds_of(whole));
          loop_times.push_back(seconds_of(bare));
          more.push_back(calls.back() - loop_times.back());
        }
        state.counters["call_us"] = 1e6 * median(calls);
        state.counters["loops_us"] = 1e6 * median(loop_times);
        state.counters["more_us"] = 1e6 * median(more);
      });
}

Tensor<float, 1> drawn(std::size_t count, std::uint32_t stream) {
  Tensor<float, 1> tensor = Tensor<float, 1>::create({count}).value();
  RandomStream(Seed{7}, stream).fill_normal(tensor.elements());
  return tensor;
}

}  // namespace headwise
