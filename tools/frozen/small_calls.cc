// How often calls of attention allocate, and how long the smallest one takes.
// tools/small_calls.py compiles this with two versions of the library.
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>
#include <vector>

#include "headwise/attention/statistics.h"
#include "headwise/headwise.h"

namespace hw = headwise;

namespace {

std::atomic<long> allocations = 0;

hw::AttentionShape smallest() {
  return {.B = 1, .Hq = 1, .Hkv = 1, .Lq = 8, .Lkv = 8, .D = 8, .Dv = 8};
}

template <class T>
struct Tensors {
  explicit Tensors(const hw::AttentionShape& s)
      : query(filled({s.B, s.Lq, s.Hq, s.D})),
        key(filled({s.B, s.Lkv, s.Hkv, s.D})),
        value(filled({s.B, s.Lkv, s.Hkv, s.Dv})),
        output(filled({s.B, s.Lq, s.Hq, s.Dv})) {}

  static hw::Tensor<T, 4> filled(const hw::Extents<4>& extents) {
    auto tensor = hw::Tensor<T, 4>::create(extents).value();
    float x = 0;
    for (T& element : tensor.elements()) {
      element = T(x = x * 0.7F + 0.3F);
    }
    return tensor;
  }

  hw::Status attend(const hw::AttentionOptions& options) {
    return hw::attention(query.view(), key.view(), value.view(), output.view(),
                         options);
  }

  void summarise(const hw::AttentionOptions& options) {
    hw::OperationOptions wanted;
    wanted.statistics.columns = true;
    hw::attention_statistics(query.view(), key.view(), value.view(),
                             hw::AttentionOutputsOf<T>{.output = output.view()},
                             options, wanted)
        .value();
  }

  hw::Tensor<T, 4> query, key, value, output;
};

template <class Call>
void count(const char* name, const Call& call) {
  call();  // what is made once
  const long before = allocations;
  call();
  std::printf("allocations %s %ld\n", name, allocations - before);
}

double processor_time() {
  timespec now = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 +
         static_cast<double>(now.tv_nsec);
}

// Nanoseconds of a call: the median of 101 times 500 calls.
template <class Call>
void time(const char* name, const Call& call) {
  std::vector<double> times;
  for (int batch = 0; batch < 101; ++batch) {
    const double begin = processor_time();
    for (int n = 0; n < 500; ++n) {
      call();
    }
    times.push_back((processor_time() - begin) / 500);
  }
  std::nth_element(times.begin(), times.begin() + 50, times.end());
  std::printf("nanoseconds %s %.1f\n", name, times[50]);
}

template <class T>
void measure(const char* type, const hw::AttentionOptions& options) {
  Tensors<T> small(smallest());
  Tensors<T> large(
      {.B = 2, .Hq = 4, .Hkv = 2, .Lq = 70, .Lkv = 90, .D = 16, .Dv = 24});
  const auto plan = hw::AttentionPlan::create(smallest(), options).value();
  auto workspace = hw::Workspace::create(plan.workspace_bytes()).value();
  const auto run = [&] {
    plan.run(small.query.view(), small.key.view(), small.value.view(),
             hw::AttentionOutputsOf<T>{.output = small.output.view()},
             workspace)
        .value();
  };
  const auto name = std::string(type) + (options.softcap ? "_options" : "");
  count((name + "_call").c_str(), [&] { small.attend(options).value(); });
  count((name + "_larger").c_str(), [&] { large.attend(options).value(); });
  count((name + "_plan").c_str(),
        [&] { hw::AttentionPlan::create(smallest(), options).value(); });
  count((name + "_run").c_str(), run);
  count((name + "_statistics").c_str(), [&] { small.summarise(options); });
  time((name + "_call").c_str(), [&] { small.attend(options).value(); });
  time((name + "_run").c_str(), run);
  time((name + "_statistics").c_str(), [&] { small.summarise(options); });
}

}  // namespace

void* operator new(std::size_t bytes) {
  ++allocations;
  return std::malloc(bytes);
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  ++allocations;
  const auto unit = static_cast<std::size_t>(alignment);
  return std::aligned_alloc(unit, (bytes + unit - 1) / unit * unit);
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept {
  std::free(p);
}

int main() {
  const hw::Executor executor = hw::Executor::with_threads(1).value();
  const hw::AttentionOptions plain = {.executor = &executor};
  const hw::AttentionOptions more = {.mask = hw::causal() & hw::window(4, 0),
                                     .softcap = 5,
                                     .executor = &executor};
  for (const auto& options : {plain, more}) {
    measure<float>("float32", options);
    measure<hw::BFloat16>("bfloat16", options);
  }
}
