#include "bench/bench_case.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "bench/bench_workload.h"

namespace headwise::cli {
namespace {

Workload workload_of(const std::string& name) {
  return *std::ranges::find(workloads(), name, &Workload::name);
}

TEST(BenchCaseTest, LayerHasTheHeadsOfItsShape) {
  for (Workload workload : workloads()) {
    if (workload.embed_dim == 0) {
      continue;
    }
    // Drawing the largest parameters would take seconds.
    workload.embed_dim = std::min<std::size_t>(workload.embed_dim, 768);
    SCOPED_TRACE(workload.name);
    const BenchInputs inputs = draw_inputs(workload).value();
    const AttentionShape& shape = workload.shape;
    const MultiHeadAttention& layer = inputs.layer.value();
    const MultiHeadAttentionParams& params = layer.params().value();
    const Extents<2> in{shape.Hq * shape.D, workload.embed_dim};
    EXPECT_EQ(layer.config().num_heads, shape.Hq);
    EXPECT_EQ(layer.config().rotary.has_value(), workload.rotary);
    EXPECT_EQ(params.w_q.weight().extents(), in);
    EXPECT_EQ(params.w_k.weight().extents(), in);
    EXPECT_EQ(params.w_v->weight().extents(), in);
    EXPECT_EQ(params.w_o->weight().extents(),
              (Extents<2>{workload.embed_dim, shape.Hq * shape.D}));
  }
}

TEST(BenchCaseTest, HalfTheHeadsAreHalfTheWorkOnAsMuch) {
  for (const std::string name : {"layer_768", "layer_384"}) {
    SCOPED_TRACE(name);
    const Workload full = workload_of(name);
    const Workload half = workload_of(name + "_half");
    EXPECT_EQ(full.embed_dim, full.shape.Hq * full.shape.D);
    EXPECT_EQ(half.embed_dim, full.embed_dim);
    EXPECT_EQ(half.shape.Lq, full.shape.Lq);
    EXPECT_EQ(half.shape.D, full.shape.D);
    EXPECT_EQ(2 * half.shape.Hq, full.shape.Hq);
    EXPECT_DOUBLE_EQ(2 * gflop(half), gflop(full));
  }
}

}  // namespace
}  // namespace headwise::cli
