// Parts of a tokenizer.json, for files of other formats, and the files next to
// them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "headwise/interop/file_subject.h"
#include "headwise/json/json.h"
#include "headwise/version.h"
#include "tokenizer/format_table.h"
#include "tokenizer/json_part.h"
#include "tokenizer/tokenizer_spec.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

inline constexpr std::string_view kReadTokenizer = "read_tokenizer";

// Longer tokens of a file are errors: they would make reading slow.
inline constexpr std::size_t kMostTokenBytes = 1024;
inline constexpr std::size_t kMostTokens = std::size_t{1} << 24U;

struct NamedToken {
  std::string text;
  std::uint32_t id = 0;
};

// What is wrong with a token of a file, or that it is among the `others`, which
// it joins; else empty.
Message token_fault(std::string_view text,
                    std::unordered_set<std::string_view>& others);

// A JSON text of this library.
Json json_of(std::string_view text);

// An entry of added_tokens that is cut out of texts before they are normalised.
Json added_token(std::string_view content, std::uint32_t id,
                 bool special = true);

// Adds a token in front of each text, and one behind it; null for neither.
Json template_processing(const std::optional<NamedToken>& first,
                         const std::optional<NamedToken>& last);

// Byte-level BPE, but for tokens.
Json byte_level_json(const WordSplit& split, bool ignores_merges);

// The ids of the spec's vocabulary, which must outlive them.
using TokenIds = std::unordered_map<std::string_view, std::uint32_t>;
TokenIds token_ids(const TokenizerSpec& spec);

// Sets the ids of the tokens that a BertProcessing or a RobertaProcessing
// names; null if one is not there.
void set_processing_ids(const TokenIds& ids, Json& processing);

// A file with settings in the folder of another one.
struct SettingsFile {
  Json json;  // null: there is none
  FileSubject subject;
  JsonPart part() const { return {&json, subject, ""}; }
};
// The settings `name` in the folder of `path`. Errors: bad_data; io_error.
Result<SettingsFile> read_settings(const std::string& path,
                                   std::string_view name);

// The folder that a file lies in, with a slash; empty for the current one.
std::string folder_of(const std::string& path);

FileSubject subject_of_line(const FileSubject& file, std::size_t number);

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
