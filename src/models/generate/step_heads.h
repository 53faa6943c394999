// What a step of a generator sees of the heads, sequence by sequence.
#pragma once

#include <cstddef>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/generate/generator.h"
#include "headwise/transformer/model_cache.h"
#include "headwise/transformer/model_pass.h"
#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI {

struct SeenHeads {
  std::vector<std::vector<float>> attn_weights{};
  std::vector<HeadStatistics> statistics{};
};

class StepHeads {
 public:
  StepHeads(const GeneratorOptions& options, std::size_t sequences)
      : options_(options),
        statistics_(sequences),
        weights_(options.heads.size()) {}

  // Of a pass over one token of each sequence, which this must outlive.
  void see_in(ModelPass& pass);
  // Of one sequence, whose decoder has this many tokens. Errors: those of the
  // cache.
  Result<SeenHeads> of(std::size_t b, const ModelCache& cache, SequenceId id,
                       std::size_t tokens);

 private:
  Status keep_statistics(HookPlace at, TensorView<const float, 4> rows);

  const GeneratorOptions& options_;
  std::vector<std::vector<HeadStatistics>> statistics_;
  std::vector<Tensor<float, 4>> weights_;  // (B, 1, 1, keys) of each head
};

}  // namespace headwise::inline HEADWISE_ABI
