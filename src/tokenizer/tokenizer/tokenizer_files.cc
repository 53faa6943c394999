// Finds out what kind of file a tokenizer is in.

#include <array>
#include <optional>

#include "interop/error_text.h"
#include "interop/folder.h"
#include "interop/gguf.h"
#include "interop/input_file.h"
#include "interop/mapped_file.h"
#include "interop/read_bytes.h"
#include "tokenizer/spec_parts.h"
#include "tokenizer/tokenizer_file.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

// In the order in which a folder is searched. tokenizer.json says everything;
// tekken.json says more than a tokenizer.model next to it; that is exact where
// the vocabularies after it need settings.
constexpr auto kTokenizerFiles = std::to_array<std::string_view>(
    {"tokenizer.json", "tekken.json", "tokenizer.model", "spiece.model",
     "sentencepiece.bpe.model", "qwen.tiktoken", "vocab.json", "encoder.json",
     "vocab.txt"});

Result<TokenizerSpec> parse_file(std::string_view bytes,
                                 const FileSubject& subject) {
  if (is_sentencepiece(bytes)) {
    HEADWISE_ASSIGN(const auto settings,
                    read_settings(subject.file, "tokenizer_config.json"));
    return parse_sentencepiece(bytes, subject, settings.part());
  }
  const std::size_t first = bytes.find_first_not_of(" \t\r\n");
  if (first != std::string_view::npos && bytes[first] == '{') {
    return parse_tokenizer_json(bytes, subject, /*or_others=*/true);
  }
  if (is_tiktoken(bytes)) {
    return parse_tiktoken(bytes, subject);
  }
  if (bytes.starts_with("#version")) {
    return subject.bad_data("has merges alone",
                            "the vocabulary that they belong to");
  }
  return parse_vocab_txt(bytes, subject);
}

Result<TokenizerSpec> read_whole(InputFile& file) {
  HEADWISE_ASSIGN(const auto bytes, read_at_most(file, kMostTokenizerBytes));
  return parse_file(text_of(bytes), file.subject());
}

Result<std::string> find_in_folder(const std::string& folder) {
  for (const std::string_view name : kTokenizerFiles) {
    std::string path = folder + "/" + std::string(name);
    HEADWISE_ASSIGN(const bool found, is_regular_file(kReadTokenizer, path));
    if (found) {
      return path;
    }
  }
  return FileSubject{std::string(kReadTokenizer), folder}.bad_data(
      "has no tokenizer", Message::verbatim(list_text(kTokenizerFiles, ", ")));
}

}  // namespace

Result<TokenizerSpec> read_tokenizer_spec(const std::string& path) {
  HEADWISE_TRY(check_path(kReadTokenizer, path));
  HEADWISE_ASSIGN(const auto kind, kind_behind_links(kReadTokenizer, path));
  std::string name = path;
  if (kind == EntryKind::folder) {
    HEADWISE_ASSIGN(name, find_in_folder(path));
  }
  HEADWISE_ASSIGN(auto file, InputFile::open(kReadTokenizer, name));
  if (!file.size()) {
    return read_whole(file);
  }
  std::optional<Result<TokenizerSpec>> spec;
  const FileSubject subject = file.subject();
  HEADWISE_TRY(
      with_mapped_bytes(std::move(file), [&](std::span<const std::byte> bytes) {
        if (text_of(bytes).starts_with(kGgufMagic)) {
          spec = parse_gguf_tokenizer(text_of(bytes), subject);
        }
      }));
  if (spec) {
    return *std::move(spec);
  }
  HEADWISE_ASSIGN(auto again, InputFile::open(kReadTokenizer, name));
  return read_whole(again);
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
