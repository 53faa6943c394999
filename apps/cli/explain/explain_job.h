// The job itself: every step run (or only sized) and kept.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "explain_flags.h"
#include "headwise/base/result.h"
#include "headwise/inspect/trace.h"
#include "headwise/module/multi_head_attention.h"
#include "headwise/run/reports.h"

namespace headwise::cli {

// A token of a sentence; of [CLS] and [SEP] no byte is in it.
struct ExplainedToken {
  std::int64_t id = 0;
  std::string text;
  std::size_t begin = 0;  // the bytes [begin, end) of the sentence
  std::size_t end = 0;
};

// A sentence on its way through one layer of a model.
struct ExplainedSentence {
  std::string text;
  std::string model;  // the folder
  std::size_t layer = 0;
  std::size_t num_layers = 0;
  HiddenStates hidden{};
  std::vector<ExplainedToken> tokens{};
  std::size_t cut = 0;  // tokens beyond max_tokens
  std::size_t max_tokens = 0;
};

struct ExplainedJob {
  std::vector<TracedStep> steps;
  std::vector<TracedStep> params{};  // of the layer, with --step
  bool from_tokens = true;
  bool cross = false;
  bool decode = false;  // the steps are those of decode_steps()
  bool batched = true;
  bool out_proj = true;
  bool value_proj = true;
  bool additive = false;  // scoring
  std::optional<QkNorm> qk_norm{};
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
  std::optional<ExplainedSentence> sentence{};  // given: of a model's layer

  // How many heads of queries read one of keys and values.
  std::size_t group() const { return num_heads / num_kv_heads; }
  // Null when there is no such step.
  const TracedStep* find(std::string_view name) const;
  // A step, or else a parameter of that name.
  const TracedStep* find_tensor(std::string_view name) const;
  // The scores in which -inf masks; null where nothing does.
  const TracedStep* masked_scores() const;
};

// Of q, k, v and output those that add a bias.
std::set<std::string> biased_projections(
    const MultiHeadAttentionParams& params);

// `progress` counts sequences that were padded.
Result<ExplainedJob> run_job(const ExplainFlags& flags,
                             const Progress& progress);

}  // namespace headwise::cli
