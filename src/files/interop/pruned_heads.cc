#include "interop/pruned_heads.h"

#include <charconv>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <variant>

#include "interop/json_leaves.h"

namespace headwise::internal::inline HEADWISE_ABI {
namespace {

// {"0", "2"} of {"pruned_heads", "0", "2"}; nothing for other settings.
std::span<const std::string> in_record(const JsonPath& path) {
  const std::span all(path);
  if (all.size() > 1 && all[0] == "pruned_heads") {
    return all.subspan(1);
  }
  return all.size() > 2 && all[0] == "headwise_pruned_heads" &&
                 all[1] == "heads"
             ? all.subspan(2)
             : std::span<const std::string>();
}

std::optional<std::size_t> layer_number(const std::string& text) {
  std::size_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stop == end ? std::optional(number)
                                             : std::nullopt;
}

}  // namespace

Result<PrunedHeads> parse_pruned_heads(std::string_view text,
                                       const FileSubject& subject,
                                       std::size_t num_heads) {
  PrunedHeads pruned;
  const auto add = [&](const JsonPath& path, const JsonLeaf& value) -> Status {
    const auto record = in_record(path);
    if (record.empty()) {
      return ok();
    }
    const auto layer = layer_number(record[0]);
    const auto* const head = std::get_if<std::uint64_t>(&value);
    if (record.size() != 2 || !layer || head == nullptr || *head >= num_heads) {
      return subject.of_entry(path_text(path))
          .bad_data("is not a head of a layer",
                    message("a number below {}", num_heads));
    }
    pruned[*layer].insert(*head);
    return ok();
  };
  HEADWISE_TRY(visit_json_leaves(text, subject, add));
  return pruned;
}

}  // namespace headwise::internal::inline HEADWISE_ABI
