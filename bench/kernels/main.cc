#include <benchmark/benchmark.h>

#include <cstdio>

#include "headwise/kernels/targets.h"
#include "kernel_loop.h"

int main(int argc, char** argv) {
  const auto target = headwise::current_target();
  if (!target) {
    std::fprintf(stderr, "kernels_bench: %s\n",
                 target.error().message().c_str());
    return 2;
  }
  headwise::add_attention_tile(*target);
  headwise::add_tile_layout(*target);
  headwise::add_row_tile(*target);
  headwise::add_gemm(*target);
  headwise::add_decode_short(*target);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) {
    return 2;
  }
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
