// A pass of a model of token ids, as a harness describes it: a folder with
//
//   workload.json   {"kind": "forward", "model": DIR|FILE, "ids": [..],
//                    "arithmetic": "exact" | "bf16"}
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
  // "out", the logits after the last token, of the last run.
  std::vector<BenchCase::Output> outputs();

 private:
  ServedForward(Transformer model, RaggedTokens ids, const Executor& executor)
      : model_(std::move(model)), ids_(std::move(ids)), executor_(&executor) {}

  Transformer model_;
  RaggedTokens ids_;
  const Executor* executor_;
  Tensor<float, 2> logits_;
};

}  // namespace headwise::cli
