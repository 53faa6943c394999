#include "bench_measure.h"

#include <algorithm>
#include <fstream>
#include <vector>

#include "bench_case.h"
#include "headwise/kernels/targets.h"

namespace headwise::cli {
namespace {

std::string cpu_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) {
      return line.substr(colon + 2);
    }
  }
  return "unknown";
}

// Seconds of one of `count` runs.
Result<double> time_case_runs(BenchCase& bench_case, std::size_t count,
                              const Executor& executor) {
  const auto now = executor.threads() == 1 ? process_seconds : wall_seconds;
  const double start = now();
  for (std::size_t n = 0; n < count; ++n) {
    HEADWISE_TRY(bench_case.run());
  }
  return (now() - start) / static_cast<double>(count);
}

// The runs of one round.
struct Slice {
  std::size_t runs;
  // A run that is not timed comes first: taking the memory's speed has emptied
  // the caches. In a long run that does not show.
  bool warms_up;
};

// Tries it out, which warms everything up by the way.
Result<Slice> fill_slice(BenchCase& bench_case, const Executor& executor) {
  constexpr double kLong = 0.5;  // seconds
  HEADWISE_TRY(bench_case.run());
  for (std::size_t runs = 1;; runs *= 2) {
    HEADWISE_ASSIGN(const auto seconds,
                    time_case_runs(bench_case, runs, executor));
    if (seconds * static_cast<double>(runs) >= kSliceSeconds) {
      return Slice{runs, seconds < kLong};
    }
  }
}

Result<double> time_slice(BenchCase& bench_case, const Slice& slice,
                          const Executor& executor) {
  if (slice.warms_up) {
    HEADWISE_TRY(bench_case.run());
  }
  return time_case_runs(bench_case, slice.runs, executor);
}

}  // namespace

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half]
                                : (values[half - 1] + values[half]) / 2;
}

Result<BenchResult> measure(const Workload& workload, const Executor& executor,
                            const PeakMeter& peak, std::size_t rounds) {
  HEADWISE_ASSIGN(const auto target, current_target());
  HEADWISE_ASSIGN(auto inputs, draw_inputs(workload));
  HEADWISE_ASSIGN(auto bench_case,
                  BenchCase::create(workload, std::move(inputs), executor));
  HEADWISE_ASSIGN(const auto slice, fill_slice(bench_case, executor));
  const double work = gflop(workload);
  std::vector<double> times;
  std::vector<double> peaks;
  std::vector<double> fractions;
  std::vector<double> reads;
  for (std::size_t round = 0; round < rounds; ++round) {
    const double before = peak.gflops(workload.arithmetic);
    HEADWISE_ASSIGN(const auto seconds,
                    time_slice(bench_case, slice, executor));
    times.push_back(seconds);
    peaks.push_back((before + peak.gflops(workload.arithmetic)) / 2);
    fractions.push_back(work / times.back() / peaks.back());
    reads.push_back(peak.read_gb_s());
  }
  return BenchResult{.workload = workload.name,
                     .cpu = cpu_name(),
                     .target = target,
                     .threads = executor.threads(),
                     .arithmetic = workload.arithmetic,
                     .seconds_min = *std::ranges::min_element(times),
                     .seconds_median = median(times),
                     .gflops = work / median(times),
                     .peak_gflops = median(peaks),
                     .peak_fraction = median(fractions),
                     .read_gb_s = median(reads)};
}

}  // namespace headwise::cli
