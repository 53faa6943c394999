// Sentences to be encoded, as a harness describes them: a folder with a file
//
//   workload.json   {"kind": "encode", "model": DIR, "sentences": FILE,
//                    "arithmetic": "exact" | "bf16"}
//
// FILE has one sentence per line. The arithmetic may be left out: exact.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/bench_case.h"
#include "headwise/models/sentence_encoder.h"

namespace headwise::cli {

class ServedSentences {
 public:
  static bool is_in(const std::filesystem::path& folder);
  // `executor` must outlive it. Errors: those of SentenceEncoder::read();
  // io_error, bad_data.
  static Result<ServedSentences> read(const std::filesystem::path& folder,
                                      const Executor& executor);

  Status run();
  // "out" (sentences, embedding_size), of the last run.
  std::vector<BenchCase::Output> outputs();

 private:
  ServedSentences(SentenceEncoder model, std::string text,
                  const Executor& executor)
      : model_(std::move(model)),
        text_(std::make_unique<std::string>(std::move(text))),
        executor_(&executor) {}

  SentenceEncoder model_;
  std::unique_ptr<std::string> text_;  // the sentences are views of it
  const Executor* executor_;
  std::vector<std::string_view> sentences_;
  SentenceEmbeddings done_;
};

}  // namespace headwise::cli
