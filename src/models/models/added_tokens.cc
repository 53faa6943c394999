#include <algorithm>
#include <array>
#include <cstddef>
#include <variant>

#include "interop/error_text.h"
#include "interop/json_leaves.h"
#include "models/model_files.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr auto kOwnTokens = std::to_array<std::string_view>(
    {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"});
constexpr auto kTokenLists = std::to_array<std::string_view>(
    {"added_tokens", "added_tokens_decoder", "additional_special_tokens",
     "extra_special_tokens"});
constexpr auto kOwnKeys = std::to_array<std::string_view>(
    {"pad_token", "unk_token", "cls_token", "sep_token", "mask_token"});

Status check_token(std::string_view token, const FileSubject& subject) {
  return std::ranges::find(kOwnTokens, token) != kOwnTokens.end()
             ? ok()
             : Status(subject.error(ErrorCode::unsupported,
                                    message("has {}", printable(token)),
                                    "only [PAD], [UNK], [CLS], [SEP] and "
                                    "[MASK]"));
}

// A token is a text, or the `content` of an object.
Status check_leaf(const JsonPath& path, const JsonLeaf& value,
                  const FileSubject& subject) {
  const auto* const token = std::get_if<std::string>(&value);
  const auto own = std::ranges::find(kOwnKeys, path[0]);
  const bool is_list =
      std::ranges::find(kTokenLists, path[0]) != kTokenLists.end();
  if (token == nullptr || (own == kOwnKeys.end() && !is_list) ||
      (path.size() > (is_list ? 2 : 1) && path.back() != "content")) {
    return ok();
  }
  const FileSubject entry = subject.of_entry(path[0]);
  if (is_list) {
    return check_token(*token, entry);
  }
  const std::string_view expected =
      kOwnTokens[static_cast<std::size_t>(own - kOwnKeys.begin())];
  return *token == expected
             ? ok()
             : Status(entry.error(ErrorCode::unsupported,
                                  message("is {}", printable(*token)),
                                  std::string(expected)));
}

}  // namespace

Status check_listed_tokens(std::string_view text, const FileSubject& subject) {
  return visit_json_leaves(text, subject,
                           [&](const JsonPath& path, const JsonLeaf& value) {
                             return check_leaf(path, value, subject);
                           });
}

Status check_added_tokens(std::string_view text, const FileSubject& subject) {
  return visit_json_leaves(text, subject,
                           [&](const JsonPath& path, const JsonLeaf& /*id*/) {
                             return check_token(path[0], subject);
                           });
}

}  // namespace headwise::inline HEADWISE_ABI
