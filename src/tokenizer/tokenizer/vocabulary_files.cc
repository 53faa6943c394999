#include "tokenizer/vocabulary_files.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "interop/error_text.h"
#include "interop/input_file.h"
#include "interop/json_events.h"
#include "interop/read_bytes.h"
#include "tokenizer/spec_parts.h"
#include "tokenizer/tiktoken_families.h"
#include "tokenizer/tokenizer_files.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

constexpr std::string_view kEndOfGpt2 = "<|endoftext|>";

// Calls `take` with each line and its number; the first error ends the reading.
template <class Take>
Status for_each_line(std::string_view text, const Take& take) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) {
    text.remove_prefix(kByteOrderMark.size());
  }
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) {
      line.remove_suffix(1);
    }
    HEADWISE_TRY(take(line, number));
  }
  return ok();
}

FileSubject line_of(const FileSubject& subject, std::size_t number) {
  return subject.of_entry(message("line {}", number).text());
}

Status check_token(std::string_view token, const FileSubject& about) {
  if (token.empty()) {
    return about.bad_data("is empty");
  }
  return token.size() <= kMostTokenBytes
             ? ok()
             : Status(about.bad_data(message("has {} bytes", token.size()),
                                     message("at most {}", kMostTokenBytes)));
}

// The class that wrote the settings, without "Fast"; empty for none.
Result<std::string> tokenizer_class(const JsonPart& settings) {
  std::string name;
  HEADWISE_TRY(settings.get("tokenizer_class", name));
  if (name == "PreTrainedTokenizerFast" || name == "TokenizersBackend") {
    return std::string();
  }
  if (name.ends_with("Fast")) {
    name.resize(name.size() - 4);
  }
  return name;
}

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

Status set_bert_normalizer(const JsonPart& settings, Json& normalizer) {
  struct Setting {
    std::string_view key;
    std::string_view part;
  };
  for (const auto& [key, part] :
       {Setting{"do_lower_case", "lowercase"},
        Setting{"tokenize_chinese_chars", "handle_chinese_chars"},
        Setting{"strip_accents", "strip_accents"}}) {
    bool value = false;
    HEADWISE_TRY(settings.get(key, value));
    if (settings.at(key).exists()) {
      normalizer[part] = value;
    }
  }
  return ok();
}

Status set_bert_tokens(const FileSubject& subject, TokenizerSpec& spec) {
  const TokenIds ids(spec);
  std::map<std::string_view, NamedToken> special;
  Json added = Json::array();
  for (const std::string_view text :
       {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}) {
    const auto token = ids.find(text);
    if (token) {
      special[text] = *token;
      added.push_back(added_token(text, token->id, /*special=*/true));
    } else if (text != "[MASK]") {
      return subject.bad_data(message("has no token {}", text));
    }
  }
  spec.json["added_tokens"] = std::move(added);
  spec.json["post_processor"] =
      cls_sep_processing("BertProcessing", special["[CLS]"], special["[SEP]"]);
  return ok();
}

}  // namespace

Result<TokenizerSpec> parse_vocab_txt(std::string_view text,
                                      const std::string& path) {
  constexpr auto kClasses = std::to_array<std::string_view>(
      {"", "BertTokenizer", "DistilBertTokenizer", "ElectraTokenizer"});
  TokenizerSpec spec{.subject = {std::string(kReadTokenizer), path}};
  HEADWISE_TRY(check_utf8(spec.subject, text));
  std::unordered_set<std::string_view> tokens;
  const Status read = for_each_line(
      text, [&](std::string_view line, std::size_t number) -> Status {
        const FileSubject about = line_of(spec.subject, number);
        HEADWISE_TRY(check_token(line, about));
        if (!tokens.insert(line).second) {
          return about.bad_data(message("is \"{}\" again", printable(line)));
        }
        spec.vocabulary.emplace_back(line,
                                     static_cast<std::uint32_t>(number - 1));
        return ok();
      });
  HEADWISE_TRY(read);
  HEADWISE_ASSIGN(const auto file,
                  read_settings(path, "tokenizer_config.json"));
  const JsonPart settings = file.part();
  HEADWISE_ASSIGN(const auto name, tokenizer_class(settings));
  if (std::ranges::find(kClasses, name) == kClasses.end()) {
    return settings.unexpected("tokenizer_class",
                               "BertTokenizer, DistilBertTokenizer or "
                               "ElectraTokenizer",
                               ErrorCode::unsupported);
  }
  spec.json = wordpiece_json("[UNK]");
  HEADWISE_TRY(set_bert_normalizer(settings, spec.json["normalizer"]));
  HEADWISE_TRY(set_bert_tokens(spec.subject, spec));
  return spec;
}

namespace {

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

// Tokens that files next to the vocabulary add to it.
class AddedEntries {
 public:
  // Null is no token; a list has several; a text or an object is one.
  Status add(const JsonPart& part, std::optional<std::uint32_t> id = {}) {
    std::string content;
    if (!part.exists()) {
      return ok();
    }
    if (part.json().is_array()) {
      for (std::size_t n = 0; n < part.json().size(); ++n) {
        HEADWISE_TRY(add({&part.json()[n], part.subject(), part.path()}));
      }
      return ok();
    }
    if (!part.json().get(content)) {
      HEADWISE_TRY(part.require("content", content));
    }
    Entry& entry = entries_[content];
    entry.id = id ? id : entry.id;
    if (entry.token.is_null() || part.json().is_object()) {
      entry.token = added_token(content, 0, /*special=*/true);
      for (const std::string_view flag :
           {"single_word", "lstrip", "rstrip", "normalized", "special"}) {
        bool value = false;
        HEADWISE_TRY(part.get(flag, value));
        if (part.at(flag).exists()) {
          entry.token[flag] = value;
        }
      }
    }
    return ok();
  }

  bool empty() const { return entries_.empty(); }
  // New ones get the ids that the files say, or those after the vocabulary.
  Json take(TokenizerSpec& spec) {
    std::vector<Json> tokens;
    const TokenIds ids(spec);
    std::vector<std::pair<std::uint32_t, Json>> by_id;
    const auto last = std::ranges::max_element(
        spec.vocabulary, {}, [](const auto& entry) { return entry.second; });
    std::uint32_t next = last == spec.vocabulary.end() ? 0 : last->second + 1;
    std::vector<std::pair<std::string, std::uint32_t>> fresh;
    for (auto& [content, entry] : entries_) {
      const auto known = ids.find(content);
      const std::uint32_t id = known      ? known->id
                               : entry.id ? *entry.id
                                          : next++;
      if (!known) {
        fresh.emplace_back(content, id);
      }
      entry.token["id"] = id;
      by_id.emplace_back(id, std::move(entry.token));
    }
    spec.vocabulary.insert(spec.vocabulary.end(), fresh.begin(), fresh.end());
    std::ranges::stable_sort(by_id, {}, [](const auto& e) { return e.first; });
    Json added = Json::array();
    for (auto& [id, token] : by_id) {
      added.push_back(std::move(token));
    }
    return added;
  }

 private:
  struct Entry {
    std::optional<std::uint32_t> id;
    Json token;
  };
  std::map<std::string, Entry> entries_;
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

Status read_merges(const std::string& path, TokenizerSpec& spec) {
  const bool release = path.ends_with("encoder.json");
  const std::string merges =
      folder_of(path) + (release ? "vocab.bpe" : "merges.txt");
  const FileSubject subject{std::string(kReadTokenizer), merges};
  HEADWISE_ASSIGN(auto file, InputFile::open(kReadTokenizer, merges));
  HEADWISE_ASSIGN(const auto bytes, read_at_most(file, kMostTokenizerBytes));
  const std::string_view text = text_of(bytes);
  HEADWISE_TRY(check_utf8(subject, text));
  return for_each_line(
      text, [&](std::string_view line, std::size_t number) -> Status {
        if (line.empty() || line.starts_with("#version")) {
          return ok();
        }
        const std::size_t space = line.find(' ');
        if (space == std::string_view::npos ||
            line.find(' ', space + 1) != std::string_view::npos) {
          return line_of(subject, number)
              .bad_data(message("is \"{}\"", printable(line)),
                        "two tokens with a space between them");
        }
        spec.merges.emplace_back(line.substr(0, space), line.substr(space + 1));
        return ok();
      });
}

}  // namespace

Result<TokenizerSpec> parse_vocab_json(std::string_view text,
                                       const std::string& path) {
  TokenizerSpec spec{.subject = {std::string(kReadTokenizer), path}};
  VocabularyEvents events(spec);
  HEADWISE_TRY(read_json(text, events, spec.subject));
  HEADWISE_TRY(read_merges(path, spec));
  HEADWISE_ASSIGN(const auto file,
                  read_settings(path, "tokenizer_config.json"));
  HEADWISE_TRY(set_bpe_parts(file.part(), spec));
  HEADWISE_TRY(set_added_tokens(path, file.part(), spec));
  return spec;
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
