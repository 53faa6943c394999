// What `headwise generate` works on, and what comes of it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "generate_flags.h"
#include "headwise/base/result.h"
#include "headwise/generate/text_generator.h"
#include "headwise/run/executor.h"

namespace headwise::cli {

struct GenerateJob {
  TextGenerator model;
  Executor executor;
  RaggedTokens prompts{};
  std::vector<std::string> texts{};  // of the prompts; empty: they were ids
  TextOptions options{};
  // The other prompt of --patch-from.
  std::optional<std::vector<TokenId>> patch_from{};

  // Errors: those of the options, and of reading.
  static Result<GenerateJob> create(const GenerateFlags& flags);
};

// The model as it is, or with heads changed.
struct Variant {
  std::string name;  // "without 18.6"; empty: as it is
  std::vector<GeneratedText> texts{};
  // With --keep-tokens, of each text, what its tokens' log-probabilities are
  // with the whole cache.
  std::vector<std::vector<double>> whole_cache{};
};

}  // namespace headwise::cli
