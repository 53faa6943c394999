// The scores of a model's heads in a file, as JSON:
//
//   {"format": "headwise-importance", "version": 1,
//    "method": "gradient", "share_a_round": null, "loss": "classification",
//    "model": {"sha256": "..", "num_heads": 12},
//    "examples": 160, "max_tokens": 64, "seed": 0,
//    "heads":  [[0, 1, ..], ..],   // the numbers of each layer's heads
//    "scores": [[0.1, 0.7, ..], ..],
//    "order":  [[5, 3], [0, 7], ..]}   // layer and head, the first to go first
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/prune/importance.h"

namespace headwise::cli {

struct ImportanceFile {
  std::string method;
  std::optional<double> share_a_round{};
  std::string loss;  // "classification", "embedding", or "none" of random
  std::string model_sha256;
  std::size_t num_heads = 0;  // of a layer, before any was pruned
  std::size_t examples = 0;
  std::size_t max_tokens = 0;
  std::uint64_t seed = 0;
  std::vector<std::vector<std::size_t>> heads;
  HeadImportance importance;
};

// One line for each layer.
std::string json_of(const ImportanceFile& file);

// Errors: io_error; bad_data for text that is no such JSON, with the key, what
// was given and what was expected: a score that is no number, an order that
// does not name every head once. Without "order" it is that of the scores.
Result<ImportanceFile> read_importance(const std::string& path);

// Whether these are scores of the model's heads. Errors: bad_data.
Status check_model(const ImportanceFile& file, const std::string& path,
                   const std::string& model_sha256,
                   const std::vector<std::vector<std::size_t>>& heads);

}  // namespace headwise::cli
