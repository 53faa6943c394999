// Parts of a tokenizer.json, for files of other formats.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "headwise/interop/file_subject.h"
#include "headwise/json/json.h"
#include "headwise/version.h"
#include "tokenizer/json_part.h"
#include "tokenizer/tokenizer_spec.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

inline constexpr std::string_view kReadTokenizer = "Tokenizer::read";

// Longer tokens of a file are errors: they would make reading slow.
inline constexpr std::size_t kMostTokenBytes = 1024;
inline constexpr std::size_t kMostTokens = std::size_t{1} << 24U;

// An entry of added_tokens that is cut out of texts before they are normalised.
Json added_token(std::string_view content, std::uint32_t id, bool special);

struct NamedToken {
  std::string text;
  std::uint32_t id = 0;
};
// Adds a token in front of each text, and one behind it; null for neither.
Json template_processing(const std::optional<NamedToken>& first,
                         const std::optional<NamedToken>& last);

// BertProcessing or RobertaProcessing.
Json cls_sep_processing(std::string_view type, const NamedToken& cls,
                        const NamedToken& sep);

Json byte_level_decoding();

// Everything of BERT but its tokens and their vocabulary.
Json wordpiece_json(std::string_view unknown);

// The pre-tokenizer that cuts texts by regular expressions, one after another,
// and takes the bytes of the words. Empty expressions are passed over.
Json byte_level_split(std::span<const std::string_view> patterns);

// A file with settings in the folder of another one.
struct SettingsFile {
  Json json;  // null: there is none
  FileSubject subject;
  JsonPart part() const { return {&json, subject, ""}; }
};
// The settings `name` in the folder of `path`. Errors: bad_data; io_error.
Result<SettingsFile> read_settings(const std::string& path,
                                   std::string_view name);

// The class that wrote the settings, without "Fast"; empty for none, and for
// one that says nothing.
Result<std::string> tokenizer_class(const JsonPart& settings);

// The ids of a vocabulary, which must outlive them.
class TokenIds {
 public:
  explicit TokenIds(const TokenizerSpec& spec) {
    for (const auto& [token, id] : spec.vocabulary) {
      ids_.emplace(token, id);
    }
  }
  std::optional<NamedToken> find(std::string_view token) const {
    const auto found = ids_.find(token);
    return found == ids_.end()
               ? std::nullopt
               : std::optional(NamedToken{std::string(token), found->second});
  }

 private:
  std::unordered_map<std::string_view, std::uint32_t> ids_;
};

// The folder that a file lies in, with a slash; empty for the current one.
std::string folder_of(const std::string& path);

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
