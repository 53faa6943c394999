// GPT-2's vocab.json and merges.txt, and those of its relatives.
#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "interop/error_text.h"
#include "interop/input_file.h"
#include "interop/json_events.h"
#include "interop/read_bytes.h"
#include "tokenizer/added_entries.h"
#include "tokenizer/spec_parts.h"
#include "tokenizer/text_lines.h"
#include "tokenizer/tiktoken_families.h"
#include "tokenizer/tokenizer_files.h"
#include "tokenizer/vocabulary_files.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

constexpr std::string_view kEndOfGpt2 = "<|endoftext|>";

// {"token": id}
class VocabularyEvents : public JsonEvents {
 public:
  explicit VocabularyEvents(TokenizerSpec& spec) : spec_(spec) {}

  bool start_object(std::size_t /*elements*/) override {
    return !std::exchange(in_object_, true) || unexpected("an object");
  }
  bool key(std::string& value) override {
    token_ = std::move(value);
    return true;
  }
  bool number_unsigned(std::uint64_t value) override {
    if (!in_object_ || value > std::numeric_limits<std::uint32_t>::max() ||
        token_.size() > kMostTokenBytes) {
      return unexpected(message("the id {} of {} bytes", value, token_.size()));
    }
    spec_.vocabulary.emplace_back(std::move(token_),
                                  static_cast<std::uint32_t>(value));
    return true;
  }

 private:
  Place place() const override {
    return {
        printable(token_),
        message("the id of a token with at most {} bytes", kMostTokenBytes)};
  }

  TokenizerSpec& spec_;
  bool in_object_ = false;
  std::string token_;
};

// How the tokenizers of a class, or of a vocabulary, split texts.
enum class Bpe { gpt2, roberta, clip, qwen2 };

Result<Bpe> bpe_of(const JsonPart& settings, const TokenIds& ids) {
  struct Known {
    std::string_view name;
    Bpe kind;
  };
  constexpr auto kKnown =
      std::to_array<Known>({{"GPT2Tokenizer", Bpe::gpt2},
                            {"RobertaTokenizer", Bpe::roberta},
                            {"BartTokenizer", Bpe::roberta},
                            {"LongformerTokenizer", Bpe::roberta},
                            {"LEDTokenizer", Bpe::roberta},
                            {"CLIPTokenizer", Bpe::clip},
                            {"Qwen2Tokenizer", Bpe::qwen2}});
  HEADWISE_ASSIGN(const auto name, tokenizer_class(settings));
  if (name.empty()) {
    return ids.find("<|startoftext|>") && ids.find("a</w>") ? Bpe::clip
           : ids.find("<s>") && ids.find("</s>") && ids.find("<mask>")
               ? Bpe::roberta
               : Bpe::gpt2;
  }
  const auto* const found = std::ranges::find(kKnown, name, &Known::name);
  if (found == kKnown.end()) {
    return settings.unexpected(
        "tokenizer_class",
        Message::verbatim(list_text(kKnown, ", ", &Known::name)),
        ErrorCode::unsupported);
  }
  return found->kind;
}

Json clip_normalizer() {
  Json steps = Json::array();
  steps.push_back({{"type", "NFC"}});
  steps.push_back({{"type", "Replace"},
                   {"pattern", {{"Regex", R"(\s+)"}}},
                   {"content", " "}});
  steps.push_back({{"type", "Lowercase"}});
  return {{"type", "Sequence"}, {"normalizers", steps}};
}

void set_clip(TokenizerSpec& spec) {
  constexpr std::string_view kWords =
      R"(<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+)";
  spec.json["normalizer"] = clip_normalizer();
  Json split = byte_level_split({&kWords, 1});
  split["pretokenizers"][0]["behavior"] = "Removed";
  split["pretokenizers"][0]["invert"] = true;
  spec.json["pre_tokenizer"] = std::move(split);
  spec.json["model"]["end_of_word_suffix"] = "</w>";
  spec.json["model"]["unk_token"] = kEndOfGpt2;
}

// Null if the vocabulary has not both.
Json processing_between(const TokenIds& ids, std::string_view cls,
                        std::string_view sep, bool trims) {
  const auto first = ids.find(cls);
  const auto last = ids.find(sep);
  if (!first || !last) {
    return nullptr;
  }
  Json processing = cls_sep_processing("RobertaProcessing", *first, *last);
  processing["trim_offsets"] = trims;
  processing["add_prefix_space"] = false;
  return processing;
}

Status set_bpe_parts(const JsonPart& settings, TokenizerSpec& spec) {
  const TokenIds ids(spec);
  HEADWISE_ASSIGN(const Bpe kind, bpe_of(settings, ids));
  bool prefix_space = false;
  HEADWISE_TRY(settings.get("add_prefix_space", prefix_space));
  spec.json = {{"version", "1.0"},
               {"pre_tokenizer",
                {{"type", "ByteLevel"},
                 {"add_prefix_space", prefix_space},
                 {"trim_offsets", true},
                 {"use_regex", true}}},
               {"decoder", byte_level_decoding()},
               {"model", {{"type", "BPE"}}}};
  switch (kind) {
    case Bpe::roberta:
      spec.json["post_processor"] =
          processing_between(ids, "<s>", "</s>", /*trims=*/true);
      break;
    case Bpe::clip:
      set_clip(spec);
      spec.json["post_processor"] = processing_between(
          ids, "<|startoftext|>", kEndOfGpt2, /*trims=*/false);
      break;
    case Bpe::qwen2:
      spec.json["normalizer"] = {{"type", "NFC"}};
      spec.json["pre_tokenizer"] = byte_level_split({&kQwen2Pattern, 1});
      break;
    case Bpe::gpt2:
      break;
  }
  return ok();
}

Status set_added_tokens(const std::string& path, const JsonPart& settings,
                        TokenizerSpec& spec) {
  constexpr auto kNames = std::to_array<std::string_view>(
      {"bos_token", "eos_token", "unk_token", "sep_token", "pad_token",
       "cls_token", "mask_token", "additional_special_tokens"});
  AddedEntries entries;
  HEADWISE_ASSIGN(const auto map,
                  read_settings(path, "special_tokens_map.json"));
  for (const JsonPart& part : {settings, map.part()}) {
    for (const std::string_view name : kNames) {
      HEADWISE_TRY(entries.add(part.at(name)));
    }
  }
  const JsonPart decoder = settings.at("added_tokens_decoder");
  for (std::size_t n = 0; decoder.exists() && n < decoder.json().size(); ++n) {
    HEADWISE_TRY(entries.add(decoder.at(decoder.json().key(n))));
  }
  HEADWISE_ASSIGN(const auto added, read_settings(path, "added_tokens.json"));
  for (std::size_t n = 0; n < added.json.size(); ++n) {
    std::size_t id = 0;
    HEADWISE_TRY(added.part().get(added.json.key(n), id));
    const Json content = added.json.key(n);
    HEADWISE_TRY(entries.add({&content, added.subject, added.json.key(n)},
                             static_cast<std::uint32_t>(id)));
  }
  if (entries.empty()) {
    const TokenIds ids(spec);
    for (const std::string_view text :
         {kEndOfGpt2, std::string_view("<|startoftext|>"),
          std::string_view("<s>"), std::string_view("</s>"),
          std::string_view("<unk>"), std::string_view("<pad>"),
          std::string_view("<mask>")}) {
      const Json content =
          ids.find(text)
              ? Json({{"content", text}, {"lstrip", text == "<mask>"}})
              : Json();
      HEADWISE_TRY(entries.add({&content, spec.subject, ""}));
    }
  }
  spec.json["added_tokens"] = entries.take(spec);
  return ok();
}

Status read_merges_file(const std::string& path, TokenizerSpec& spec) {
  const bool release = path.ends_with("encoder.json");
  const std::string merges =
      folder_of(path) + (release ? "vocab.bpe" : "merges.txt");
  const FileSubject subject{std::string(kReadTokenizer), merges};
  HEADWISE_ASSIGN(auto file, InputFile::open(kReadTokenizer, merges));
  HEADWISE_ASSIGN(const auto bytes, read_at_most(file, kMostTokenizerBytes));
  std::string_view text = text_of(bytes);
  HEADWISE_TRY(check_utf8(subject, text));
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::string_view line = take_line(text);
    if (line.empty() || line.starts_with("#version")) {
      continue;
    }
    const std::size_t space = line.find(' ');
    if (space == std::string_view::npos ||
        line.find(' ', space + 1) != std::string_view::npos) {
      return subject_of_line(subject, number)
          .bad_data(message("is \"{}\"", printable(line)),
                    "two tokens with a space between them");
    }
    spec.merges.emplace_back(line.substr(0, space), line.substr(space + 1));
  }
  return ok();
}

}  // namespace

Result<TokenizerSpec> parse_vocab_json(std::string_view text,
                                       const std::string& path) {
  TokenizerSpec spec{.subject = {std::string(kReadTokenizer), path}};
  VocabularyEvents events(spec);
  HEADWISE_TRY(read_json(text, events, spec.subject));
  HEADWISE_TRY(read_merges_file(path, spec));
  HEADWISE_ASSIGN(const auto file,
                  read_settings(path, "tokenizer_config.json"));
  HEADWISE_TRY(set_bpe_parts(file.part(), spec));
  HEADWISE_TRY(set_added_tokens(path, file.part(), spec));
  return spec;
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
