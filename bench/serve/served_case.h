// A workload that a harness describes: a folder with a file spec.txt of lines
//
//   KEY VALUE
//   tensor NAME f32|i32 DIM...
//
// and for each tensor a file NAME.bin, little-endian, in C order.
//
//   kind     sdpa (attention), ragged (the same, lens for the queries, too: the
//            padding is removed at load), training (attention and its
//            gradients), module (the layer) or cached (the keys before the
//            queries' are in a cache, and a run appends those of its queries)
//   B Hq Hkv Lq Lk d     the sizes; dv, where it is not d; D, of the layer: its
//            embed_dim
//   causal lens bias weights     0 or 1; causal 1 of a cached workload
//   dtype    f32, the default; sdpa: bf16, of query, key, value and output;
//            cached: bf16, f16 or i8, of the numbers in the cache
//   arithmetic   exact, the default, or bf16
//   window   keys to the left of each query that it sees, besides its own
//   page     tokens per page of the cache; without it the cache is contiguous
//   prefix   0 or 1: the values are the keys' first dv features, not stored
//   shuffled 0 or 1: the pages of a sequence do not follow one another
//   chunk    queries per call; without it all in one call
//
//   q (B, Hq, Lq, d)   k (B, Hkv, Lk, d)   v (B, Hkv, Lk, dv), not with prefix
//   lens (B), keys of each sequence
//   bias (1, Hq, Lq, Lk)   do (B, Hq, Lq, d), of training: d_output
//   x (B, Lq, D), y = x w^T + b of
//   wq wk wv (Hq d, D)   bq bk bv (Hq d)   wo (D, Hq d)   bo (D)
#pragma once

#include <filesystem>

#include "bench/bench_case.h"
#include "bench/bench_workload.h"

namespace headwise::cli {

struct ServedCase {
  Workload workload;
  BenchInputs inputs;
};

// Errors: unsupported for what is well-formed but not offered; bad_data,
// io_error, shape_mismatch, out_of_memory.
Result<ServedCase> read_served_case(const std::filesystem::path& folder);

}  // namespace headwise::cli
