#include "bench_peak.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <latch>
#include <numeric>
#include <thread>
#include <vector>

#include "headwise/kernels/targets.h"
#include "headwise/run/workspace.h"

namespace headwise::cli {
namespace {

constexpr std::size_t kMemoryBytes = std::size_t{256} << 20;

double seconds_of(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) +
         1e-9 * static_cast<double>(time.tv_nsec);
}

// Both are taken in the thread that works.
double rate_of(const std::function<double(std::size_t)>& work,
               std::size_t thread) {
  const double start = thread_seconds();
  const double amount = work(thread);
  return amount / (thread_seconds() - start);
}

// Turns of `run` that fill a slice.
std::size_t turns_of(double (*run)(std::size_t turns)) {
  std::size_t turns = 1024;
  for (double seconds = 0; seconds < kSliceSeconds; turns *= 2) {
    const double start = thread_seconds();
    run(turns);
    seconds = thread_seconds() - start;
  }
  return turns;
}

}  // namespace

double thread_seconds() { return seconds_of(CLOCK_THREAD_CPUTIME_ID); }
double process_seconds() { return seconds_of(CLOCK_PROCESS_CPUTIME_ID); }
double wall_seconds() { return seconds_of(CLOCK_MONOTONIC); }

Result<PeakMeter> PeakMeter::create(std::size_t threads) {
  HEADWISE_ASSIGN(auto memory, Tensor<float, 1>::create_unset(
                                   {kMemoryBytes / sizeof(float)}));
  // As the memory of a cache: small pages would read slower than it is.
  prefer_large_pages(memory.data(), kMemoryBytes);
  std::ranges::fill(memory.elements(), 0.0f);
  return PeakMeter(threads, std::move(memory));
}

PeakMeter::PeakMeter(std::size_t threads, Tensor<float, 1> memory)
    : threads_(threads),
      fma_turns_(turns_of(kernels::run_multiply_adds)),
      bf16_turns_(turns_of(kernels::run_pair_products)),
      memory_(std::move(memory)) {}

double PeakMeter::sum_of_rates(
    const std::function<double(std::size_t)>& work) const {
  if (threads_ == 1) {
    return rate_of(work, 0);
  }
  std::vector<double> rates(threads_);
  std::latch all_here(static_cast<std::ptrdiff_t>(threads_));
  std::vector<std::jthread> workers;
  for (std::size_t thread = 0; thread < threads_; ++thread) {
    workers.emplace_back([&, thread] {
      all_here.arrive_and_wait();
      rates[thread] = rate_of(work, thread);
    });
  }
  workers.clear();  // joins them
  return std::accumulate(rates.begin(), rates.end(), 0.0);
}

double PeakMeter::fma_gflops() const {
  return 1e-9 * sum_of_rates([&](std::size_t) {
           return kernels::run_multiply_adds(fma_turns_);
         });
}

double PeakMeter::bf16_gflops() const {
  return 1e-9 * sum_of_rates([&](std::size_t) {
           return kernels::run_pair_products(bf16_turns_);
         });
}

double PeakMeter::read_gb_s() const {
  return 1e-9 * sum_of_rates([&](std::size_t thread) {
           const auto all = memory_.elements();
           const std::size_t begin = all.size() * thread / threads_;
           const std::size_t end = all.size() * (thread + 1) / threads_;
           kernels::read_all(all.subspan(begin, end - begin));
           return static_cast<double>((end - begin) * sizeof(float));
         });
}

}  // namespace headwise::cli
