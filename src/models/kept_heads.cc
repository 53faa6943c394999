#include "models/kept_heads.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>

#include "interop/error_text.h"

namespace headwise {
namespace {

using Json = nlohmann::json;

const std::string kNumHeads = "num_heads";
const std::string kKeptHeads = "kept_heads";

// Lists of numbers and nothing else.
std::optional<std::vector<std::vector<std::size_t>>> lists_of(
    const Json& json) {
  if (!json.is_array()) {
    return {};
  }
  std::vector<std::vector<std::size_t>> lists;
  for (const Json& list : json) {
    if (!list.is_array() ||
        !std::ranges::all_of(list, &Json::is_number_unsigned)) {
      return {};
    }
    lists.push_back(list.get<std::vector<std::size_t>>());
  }
  return lists;
}

bool are_heads(const std::vector<std::size_t>& numbers, std::size_t num_heads) {
  return std::ranges::adjacent_find(numbers, std::greater_equal<>()) ==
             numbers.end() &&
         (numbers.empty() || numbers.back() < num_heads);
}

Json counts_of(const std::vector<std::vector<std::size_t>>& kept) {
  Json counts = Json::array();
  for (const auto& layer : kept) {
    counts.push_back(layer.size());
  }
  return counts;
}

}  // namespace

Status read_kept_heads(const SafetensorsMetadata& metadata,
                       const std::string& subject, BertConfig& config) {
  const auto found = metadata.find(kKeptHeads);
  if (found == metadata.end()) {
    return ok();
  }
  const auto bad = [&](const std::string& what) {
    return Error{ErrorCode::bad_data,
                 subject + ": the metadata's kept_heads is " +
                     printable(found->second) + ", expected " + what};
  };
  const auto kept =
      lists_of(Json::parse(found->second, nullptr, /*allow_exceptions=*/false));
  if (!kept || kept->size() != config.num_layers) {
    return bad("a list of the heads of each of " +
               std::to_string(config.num_layers) + " layers");
  }
  for (const auto& layer : *kept) {
    if (!are_heads(layer, config.num_heads)) {
      return bad("ascending numbers below num_heads = " +
                 std::to_string(config.num_heads));
    }
  }
  const auto counts = metadata.find(kNumHeads);
  if (counts != metadata.end() &&
      Json::parse(counts->second, nullptr, false) != counts_of(*kept)) {
    return bad("as many heads as its num_heads, " + printable(counts->second));
  }
  config.kept_heads = *kept;
  return ok();
}

void write_kept_heads(const BertConfig& config, SafetensorsMetadata& metadata) {
  metadata.erase(kNumHeads);
  metadata.erase(kKeptHeads);
  if (!config.kept_heads.empty()) {
    metadata[kNumHeads] = counts_of(config.kept_heads).dump();
    metadata[kKeptHeads] = Json(config.kept_heads).dump();
  }
}

}  // namespace headwise
