#include "transformer/kept_heads.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "interop/error_text.h"
#include "interop/json_events.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

const std::string kNumHeads = "num_heads";
const std::string kKeptHeads = "kept_heads";

// Lists of numbers and nothing else, `lists` of them and each of `numbers` at
// most: what the text costs of memory is bounded by the model's sizes.
class ListEvents : public JsonEvents {
 public:
  ListEvents(std::size_t lists, std::size_t numbers)
      : most_lists_(lists), most_numbers_(numbers) {}

  KeptHeadLists take() { return std::move(lists_); }

  bool number_unsigned(std::uint64_t number) override {
    if (depth_ != 2 || lists_.back().size() == most_numbers_) {
      return JsonEvents::number_unsigned(number);
    }
    lists_.back().push_back(number);
    return true;
  }
  bool start_array(std::size_t elements) override {
    if (depth_ == 2 || lists_.size() == most_lists_) {
      return JsonEvents::start_array(elements);
    }
    if (depth_++ == 1) {
      lists_.emplace_back();
    }
    return true;
  }
  bool end_array() override {
    --depth_;
    return true;
  }
  bool key(std::string& /*key*/) override { return false; }  // no object opens

 private:
  Place place() const override { return {"", "lists of numbers"}; }

  std::size_t most_lists_;
  std::size_t most_numbers_;
  std::size_t depth_ = 0;
  KeptHeadLists lists_;
};

std::optional<KeptHeadLists> lists_of(std::string_view text, std::size_t lists,
                                      std::size_t numbers) {
  ListEvents events(lists, numbers);
  return read_json(text, events, {}) ? std::optional(events.take())
                                     : std::nullopt;
}

bool are_heads(const std::vector<std::size_t>& numbers, std::size_t num_heads) {
  return std::ranges::adjacent_find(numbers, std::greater_equal<>()) ==
             numbers.end() &&
         (numbers.empty() || numbers.back() < num_heads);
}

std::vector<std::size_t> counts_of(const KeptHeadLists& kept) {
  std::vector<std::size_t> counts;
  for (const auto& layer : kept) {
    counts.push_back(layer.size());
  }
  return counts;
}

// "[2,0]". (A tree of JSON ends the program where memory does.)
std::string kept_text(const std::vector<std::size_t>& numbers) {
  return "[" + list_text(numbers, ",") + "]";
}

}  // namespace

Status check_kept(std::string_view operation, const KeptAttention& kept,
                  const HeadSizes& sizes) {
  if (kept.layer >= sizes.num_layers) {
    return value_error(operation, "layer", std::to_string(kept.layer),
                       message("0 to {}", sizes.num_layers - 1),
                       ErrorCode::out_of_range);
  }
  const MultiHeadAttentionConfig& attention = kept.attention.config();
  const std::vector<std::size_t>& heads = kept.kept_heads;
  HEADWISE_TRY(check_shape(
      operation, "attention",
      Extents<3>{*attention.query_dim, attention.embed_dim,
                 attention.num_heads},
      "(hidden_size, hidden_size, heads)",
      Extents<3>{sizes.hidden_size, sizes.hidden_size, heads.size()}));
  for (std::size_t n = 0; n < heads.size(); ++n) {
    if (heads[n] >= sizes.num_heads || (n != 0 && heads[n] <= heads[n - 1])) {
      return value_error(
          operation, "kept_heads[" + std::to_string(n) + "]",
          std::to_string(heads[n]),
          message("ascending numbers below num_heads = {}", sizes.num_heads),
          ErrorCode::out_of_range);
    }
  }
  return ok();
}

Status read_kept_heads(const SafetensorsMetadata& metadata,
                       const FileSubject& subject, std::size_t num_layers,
                       std::size_t num_heads, KeptHeadLists& kept) {
  const auto found = metadata.find(kKeptHeads);
  if (found == metadata.end()) {
    return ok();
  }
  const auto bad = [&](Message expected) {
    return subject.of_entry("__metadata__.kept_heads")
        .bad_data(message("is {}", printable(found->second)),
                  std::move(expected));
  };
  auto lists = lists_of(found->second, num_layers, num_heads);
  if (!lists || lists->size() != num_layers) {
    return bad(message("a list of the heads of each of {} layers", num_layers));
  }
  for (const auto& layer : *lists) {
    if (!are_heads(layer, num_heads)) {
      return bad(message("ascending numbers below num_heads = {}", num_heads));
    }
  }
  const auto counts = metadata.find(kNumHeads);
  if (counts != metadata.end() &&
      lists_of("[" + counts->second + "]", 1, num_layers) !=
          KeptHeadLists{counts_of(*lists)}) {
    return bad(message("as many heads as its num_heads, {}",
                       printable(counts->second)));
  }
  kept = *std::move(lists);
  return ok();
}

void write_kept_heads(const KeptHeadLists& kept,
                      SafetensorsMetadata& metadata) {
  metadata.erase(kNumHeads);
  metadata.erase(kKeptHeads);
  if (!kept.empty()) {
    metadata[kNumHeads] = kept_text(counts_of(kept));
    metadata[kKeptHeads] = "[" + list_text(kept, ",", kept_text) + "]";
  }
}

}  // namespace headwise::inline HEADWISE_ABI
