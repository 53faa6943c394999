// What `headwise bench` measures: attention and the layer at sizes that people
// run, by name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "headwise/attention/spec.h"
#include "headwise/decode/kv_cache.h"

namespace headwise::cli {

struct Workload {
  std::string name;
  AttentionShape shape;
  bool causal = false;        // the last query stands at the last key
  bool attn_weights = false;  // returned as well, one map a head
  bool bias = false;          // dense, (1, Hq, Lq, Lkv)
  std::optional<std::int64_t> window{};  // keys to the left of each query
  // The layer on (B, L, E), of Hq heads of D; Hq D is less than E where heads
  // were pruned. 0: attention.
  std::size_t embed_dim = 0;
  bool rotary = false;    // the layer rotates queries and keys
  bool bfloat16 = false;  // query, key, value and output; else float32
  std::vector<std::int64_t> lengths{};  // keys of each sequence; empty: all
  bool ragged = false;    // the lengths are those of the queries too, unpadded
  bool backward = false;  // the forward pass, then the backward one
  double dropout = 0;     // of the attention weights
  StatisticsOptions statistics{};  // taken beside the output
  // The keys are in a cache of this form and are causal; the shape gives its
  // sizes.
  std::optional<KvCacheOptions> cache{};
  std::size_t chunk = 0;  // queries of a call; 0: all
  bool shuffled = false;  // the pages of a sequence are not in a row
  Arithmetic arithmetic = Arithmetic::exact;
};

// In the order of the list that is shown.
const std::vector<Workload>& workloads();
std::vector<std::string> workload_names();

// The work of one run in 10^9 floating-point operations, a multiply-add being
// two: 2 (D + Dv) for each head and each pair of a query and a key that it may
// attend to, 8 B L E (Hq D) for the projections. What a mask hides is no work.
// A backward pass has 2.5 times the forward's.
double gflop(const Workload& workload);

}  // namespace headwise::cli
