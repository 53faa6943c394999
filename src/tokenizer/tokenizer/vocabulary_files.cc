// GPT-2's vocab.json and merges.txt, those of its relatives, and BERT's
// vocab.txt.
#include <algorithm>
#include <map>
#include <utility>

#include "headwise/interop/token_text.h"
#include "interop/error_text.h"
#include "interop/input_file.h"
#include "interop/read_bytes.h"
#include "tokenizer/tokenizer_file.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

// Sets `into` where the settings have a bool under `key`.
Status take_flag(const JsonPart& settings, std::string_view key, Json& into) {
  bool value = false;
  HEADWISE_TRY(settings.get(key, value));
  into = settings.at(key).exists() ? Json(value) : into;
  return ok();
}

// What a tokenizer of the class in the settings has. Its post-processor needs
// tokens of the spec.
Status set_json(const JsonPart& settings,
                std::span<const TokenizerClass> classes, const TokenIds& ids,
                TokenizerSpec& spec) {
  std::string name;
  HEADWISE_TRY(settings.get("tokenizer_class", name));
  if (name == "PreTrainedTokenizerFast" || name == "TokenizersBackend") {
    name.clear();
  } else if (name.ends_with("Fast")) {
    name.resize(name.size() - 4);
  }
  const auto is_there = [&](std::string_view text) {
    return text.empty() || ids.contains(text);
  };
  const auto found = std::ranges::find_if(classes, [&](const auto& known) {
    return name.empty() ? std::ranges::all_of(known.tokens, is_there)
                        : known.name == name;
  });
  if (found == classes.end()) {
    return settings.unexpected(
        "tokenizer_class",
        Message::verbatim(list_text(classes, ", ", &TokenizerClass::name)),
        ErrorCode::unsupported);
  }
  spec.json = json_of(found->json);
  if (spec.json.find("post_processor") == nullptr) {
    return ok();
  }
  Json& processing = spec.json["post_processor"];
  for (const std::string_view key : {"sep", "cls"}) {
    std::string text;
    if (!processing[key][0].get(text) || !ids.contains(text)) {
      processing = nullptr;
      return ok();
    }
    processing[key][1] = ids.at(text);
  }
  return ok();
}

// Entries of added_tokens by their texts. Their ids are those that files say.
using AddedEntries = std::map<std::string, Json>;

// A text or an object is one token, a list several; null is none.
Status add_entry(const JsonPart& part, AddedEntries& entries) {
  if (!part.exists()) {
    return ok();
  }
  if (part.json().is_array()) {
    for (const Json& one : part.json()) {
      HEADWISE_TRY(add_entry({&one, part.subject(), part.path()}, entries));
    }
    return ok();
  }
  std::string content;
  if (!part.json().get(content)) {
    HEADWISE_TRY(part.require("content", content));
  }
  Json& token = entries[content];
  if (token.is_null() || part.json().is_object()) {
    token = added_token(content, nullptr);
    for (const std::string_view flag :
         {"single_word", "lstrip", "rstrip", "normalized", "special"}) {
      HEADWISE_TRY(take_flag(part, flag, token[flag]));
    }
  }
  return ok();
}

Status read_entries(const std::string& path, const JsonPart& settings,
                    AddedEntries& entries) {
  HEADWISE_ASSIGN(const auto map,
                  read_settings(path, "special_tokens_map.json"));
  for (const JsonPart& part : {settings, map.part()}) {
    for (const std::string_view name :
         {"bos_token", "eos_token", "unk_token", "sep_token", "pad_token",
          "cls_token", "mask_token", "additional_special_tokens"}) {
      HEADWISE_TRY(add_entry(part.at(name), entries));
    }
  }
  const JsonPart decoder = settings.at("added_tokens_decoder");
  for (std::size_t n = 0; decoder.exists() && n < decoder.json().size(); ++n) {
    HEADWISE_TRY(add_entry(decoder.at(decoder.json().key(n)), entries));
  }
  HEADWISE_ASSIGN(const auto added, read_settings(path, "added_tokens.json"));
  for (std::size_t n = 0; n < added.json.size(); ++n) {
    const std::string& text = added.json.key(n);
    std::size_t id = 0;
    HEADWISE_TRY(added.part().get(text, id));
    Json& token = entries[text];
    token = token.is_null() ? added_token(text, nullptr) : token;
    token["id"] = static_cast<std::uint32_t>(id);
  }
  return ok();
}

// The list added_tokens, by ids. New tokens become part of the vocabulary, with
// the ids that the files say, or those after all others.
void set_added_tokens(AddedEntries entries, TokenizerSpec& spec) {
  // The ids name the texts where they are.
  spec.vocabulary.reserve(spec.vocabulary.size() + entries.size());
  const TokenIds ids = token_ids(spec);
  using Entry = std::pair<std::string, std::uint32_t>;
  auto next =
      std::ranges::max_element(spec.vocabulary, {}, &Entry::second)->second;
  std::multimap<std::uint64_t, Json> by_id;
  for (auto& [content, token] : entries) {
    const auto known = ids.find(content);
    std::uint64_t id = 0;
    if (known != ids.end()) {
      id = known->second;
    } else {
      id = token["id"].get(id) ? id : ++next;
      spec.vocabulary.emplace_back(content, static_cast<std::uint32_t>(id));
    }
    token["id"] = id;
    by_id.emplace(id, std::move(token));
  }
  Json& added = spec.json["added_tokens"] = Json::array();
  for (auto& [id, token] : by_id) {
    added.push_back(std::move(token));
  }
}

Status read_merges_file(const std::string& path, TokenizerSpec& spec) {
  const bool release = path.ends_with("encoder.json");
  const std::string merges =
      folder_of(path) + (release ? "vocab.bpe" : "merges.txt");
  HEADWISE_ASSIGN(auto file, InputFile::open(kReadTokenizer, merges));
  HEADWISE_ASSIGN(const auto bytes, read_at_most(file, kMostTokenizerBytes));
  HEADWISE_TRY(check_utf8(file.subject(), text_of(bytes)));
  return each_line(
      text_of(bytes), file.subject(),
      [&](std::string_view line) { return add_merge(line, spec); },
      "two tokens with a space between them");
}

}  // namespace

Status complete_vocabulary(TokenizerSpec& spec) {
  const std::string& path = spec.subject.file;
  HEADWISE_TRY(read_merges_file(path, spec));
  HEADWISE_ASSIGN(const auto file,
                  read_settings(path, "tokenizer_config.json"));
  const TokenIds ids = token_ids(spec);
  HEADWISE_TRY(set_json(file.part(), bpe_classes(), ids, spec));
  Json& words = spec.json["pre_tokenizer"];
  if (words.find("add_prefix_space") != nullptr) {
    HEADWISE_TRY(
        take_flag(file.part(), "add_prefix_space", words["add_prefix_space"]));
  }
  AddedEntries entries;
  HEADWISE_TRY(read_entries(path, file.part(), entries));
  const bool named = !entries.empty();
  for (const std::string_view text : {"<|endoftext|>", "<|startoftext|>", "<s>",
                                      "</s>", "<unk>", "<pad>", "<mask>"}) {
    if (!named && ids.contains(text)) {
      Json& token = entries[std::string(text)] = added_token(text, nullptr);
      token["lstrip"] = text == "<mask>";
    }
  }
  set_added_tokens(std::move(entries), spec);
  return ok();
}

Status complete_bert(const JsonPart& settings, TokenizerSpec& spec) {
  const TokenIds ids = token_ids(spec);
  HEADWISE_TRY(set_json(settings, bert_classes(), ids, spec));
  for (const auto& [key, part] :
       {std::pair("do_lower_case", "lowercase"),
        std::pair("tokenize_chinese_chars", "handle_chinese_chars"),
        std::pair("strip_accents", "strip_accents")}) {
    HEADWISE_TRY(take_flag(settings, key, spec.json["normalizer"][part]));
  }
  Json& added = spec.json["added_tokens"] = Json::array();
  for (const std::string_view name :
       {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}) {
    if (const auto token = ids.find(name); token != ids.end()) {
      added.push_back(added_token(name, token->second));
    } else if (name != "[MASK]") {
      return spec.subject.bad_data(message("has no token {}", name));
    }
  }
  return ok();
}

Result<TokenizerSpec> parse_vocab_txt(std::string_view text,
                                      const FileSubject& subject) {
  TokenizerSpec spec{.subject = subject};
  HEADWISE_TRY(check_utf8(subject, text));
  std::unordered_set<std::string_view> tokens;
  for (const std::string_view line : text_lines(text)) {
    const auto id = static_cast<std::uint32_t>(tokens.size());
    if (const Message fault = token_fault(line, tokens); !fault.empty()) {
      return subject.of_entry(message("line {}", id + 1).text())
          .bad_data(fault);
    }
    spec.vocabulary.emplace_back(line, id);
  }
  HEADWISE_ASSIGN(const auto file,
                  read_settings(subject.file, "tokenizer_config.json"));
  HEADWISE_TRY(complete_bert(file.part(), spec));
  return spec;
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
