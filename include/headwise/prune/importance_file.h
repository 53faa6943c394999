// A file with the scores of a model's heads, as JSON:
//
//   {"format": "headwise-importance", "version": 1,
//    "method": "gradient", "share_a_round": null, "loss": "classification",
//    "model": {"sha256": "..", "num_heads": 12},
//    "examples": 160, "max_tokens": 64, "seed": 0,
//    "heads":  [[0, 1, ..], ..],   // the numbers of each layer's heads
//    "scores": [[0.1, 0.7, ..], ..],
//    "order":  [[5, 3], [0, 7], ..]}   // layer and head, first removed first
//
// Errors: io_error; bad_data for text that is not such JSON: details().entry is
// the JSON path, with what was given and expected; out_of_memory.
//   read_importance: scores.json: scores[1][0] is null, expected a finite
//   number
//
// Example:
//   Status s = write_importance("scores.json", run.result());
//   ImportanceFile file = read_importance("scores.json").value();
//   s = check_importance(file, "scores.json", encoder);
//   file.importance.order.front();  // matters least
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/models/sentence_encoder.h"
#include "headwise/prune/importance.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

struct ImportanceFile {
  std::string method;
  std::optional<double> share_a_round{};
  std::string loss;  // "classification", "embedding", or "none" for random
  std::string model_sha256;   // digest_of_params()
  std::size_t num_heads = 0;  // per layer, before any was pruned
  std::size_t examples = 0;
  std::size_t max_tokens = 0;  // per example
  std::uint64_t seed = 0;
  std::vector<std::vector<std::size_t>> heads;  // per layer
  HeadImportance importance;
};

// One line for each layer.
std::string importance_json(const ImportanceFile& file);
Status write_importance(const std::string& path, const ImportanceFile& file);

// Without "order" the heads are ordered by their scores.
Result<ImportanceFile> read_importance(const std::string& path);
// Errors use `path` as the file.
Result<ImportanceFile> parse_importance(std::string_view text,
                                        const std::string& path);

// Checks that the scores, read from `path`, are for the heads of this model.
// Errors: bad_data; those of digest_of_params().
Status check_importance(const ImportanceFile& file, const std::string& path,
                        const SentenceEncoder& encoder);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
