// A pass of a model of token ids, as a harness describes it: a folder with
//
//   workload.json   {"kind": "forward", "model": DIR|FILE, "ids": [..],
//                    "arithmetic": "exact" | "bf16", "new_tokens": N}
//
// With "new_tokens" it generates so many tokens after these.
#pragma once

#include <filesystem>
#include <utility>
#include <vector>

#include "bench/bench_case.h"
#include "headwise/transformer/transformer.h"

namespace headwise::cli {

class ServedForward {
 public:
  static bool is_in(const std::filesystem::path& folder);
  // `executor` must outlive it. Errors: those of Transformer::read(); io_error,
  // bad_data.
  static Result<ServedForward> read(const std::filesystem::path& folder,
                                    const Executor& executor);

  Status run();
  // "out", of the last run: the logits after the last token, or the generated
  // ids.
  std::vector<BenchCase::Output> outputs();

 private:
  ServedForward(Transformer model, RaggedTokens ids, std::size_t new_tokens,
                const Executor& executor)
      : model_(std::move(model)),
        ids_(std::move(ids)),
        new_tokens_(new_tokens),
        executor_(&executor) {}
  Status generate();

  Transformer model_;
  RaggedTokens ids_;
  std::size_t new_tokens_;  // 0: none, a pass
  const Executor* executor_;
  Tensor<float, 2> logits_{};
  std::vector<float> generated_{};
};

}  // namespace headwise::cli
