// The job itself: every step run (or only sized) and kept.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "explain_flags.h"
#include "headwise/base/result.h"
#include "headwise/inspect/trace.h"
#include "headwise/run/progress.h"

namespace headwise::cli {

struct ExplainedJob {
  std::vector<TracedStep> steps;
  bool from_tokens = true;
  bool cross = false;
  bool batched = true;
  bool out_proj = true;
  bool value_proj = true;
  bool additive = false;           // scoring
  std::set<std::string> biased{};  // of q, k, v and output: those with a bias
  std::size_t batch = 0;
  std::size_t query_length = 0;  // of the longest sequence
  std::size_t key_length = 0;
  std::size_t vocab_size = 0;
  std::size_t embed_dim = 0;
  std::size_t num_heads = 1;
  std::size_t num_kv_heads = 1;
  double scale = 0;
  std::optional<double> softcap{};
  double dropout = 0;
  // (B) lists of token ids, for labels; empty for vectors.
  std::vector<std::vector<std::int64_t>> query_ids;
  std::vector<std::vector<std::int64_t>> key_ids;

  // How many heads of queries read one of keys and values.
  std::size_t group() const { return num_heads / num_kv_heads; }
  // Null when there is no such step.
  const TracedStep* find(std::string_view name) const;
};

// `progress` counts sequences that were padded.
Result<ExplainedJob> run_job(const ExplainFlags& flags,
                             const Progress& progress);

}  // namespace headwise::cli
