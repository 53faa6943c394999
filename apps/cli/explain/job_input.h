// From the options of `explain` to the job they ask for: an example or the
// user's tokens, with every size known.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "examples.h"
#include "explain_flags.h"
#include "headwise/base/result.h"
#include "headwise/interop/file_subject.h"
#include "headwise/steps/padding.h"

namespace headwise::cli {

struct JobInput {
  RaggedTokens queries;              // tokens; empty for vectors
  std::optional<RaggedTokens> keys;  // tokens of keys and values, if others
  // As messages name them: --tokens and its file. Empty: those of an example.
  FileSubject query_source;
  FileSubject key_source;
  std::optional<Vectors> vectors;
  bool batched = true;

  std::size_t vocab_size = 100;
  std::size_t embed_dim = 512;
  std::size_t num_heads = 8;
  std::optional<std::size_t> num_kv_heads;  // not given: num_heads
  bool bias = true;
  bool out_proj = true;
  PaddingOptions padding;
  bool mask_padding = false;
  bool mask_causal = false;
  std::vector<std::int64_t> key_lengths;

  const RaggedTokens& key_tokens() const { return keys ? *keys : queries; }
};

// Errors: those of the files; invalid_argument for options that contradict
// each other.
Result<JobInput> job_input(const ExplainFlags& flags);

}  // namespace headwise::cli
