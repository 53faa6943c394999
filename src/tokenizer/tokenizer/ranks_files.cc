// Files of tokens and their ranks: tiktoken's and Mistral's tekken.json.
#include <algorithm>
#include <charconv>

#include "headwise/interop/token_text.h"
#include "interop/error_text.h"
#include "tokenizer/base64.h"
#include "tokenizer/tokenizer_file.h"
#include "unicode/byte_alphabet.h"
#include "unicode/characters.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

std::string in_alphabet(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) {
    append_character(text, byte_character(static_cast<unsigned char>(byte)));
  }
  return text;
}

// Byte-level BPE that joins the parts whose joined bytes have the lowest rank,
// which is what `tokens` have for ids. `first_id` is the id of rank 0.
Result<TokenizerSpec> ranks_spec(std::vector<NamedToken> tokens,
                                 std::uint32_t first_id, const WordSplit& split,
                                 const std::vector<NamedToken>& special,
                                 const FileSubject& subject) {
  std::ranges::stable_sort(tokens, {}, &NamedToken::id);
  TokenizerSpec spec{.subject = subject,
                     .json = byte_level_json(split, /*ignores_merges=*/true)};
  std::unordered_set<std::string_view> texts(tokens.size());
  for (const auto& [bytes, rank] : tokens) {
    const std::uint32_t id = first_id + rank;
    const bool again =
        !spec.vocabulary.empty() && spec.vocabulary.back().second == id;
    const Message fault = again ? "occurs twice" : token_fault(bytes, texts);
    if (!fault.empty()) {
      return subject.of_entry(message("rank {}", rank).text()).bad_data(fault);
    }
    spec.vocabulary.emplace_back(in_alphabet(bytes), id);
  }
  for (unsigned byte = 0; byte < 256; ++byte) {
    if (!texts.contains(std::string(1, static_cast<char>(byte)))) {
      return subject.bad_data(message("has no token for the byte {}", byte));
    }
  }
  for (const RankedMerge& merge : merges_of(tokens, FirstParts::bytes)) {
    spec.merges.emplace_back(in_alphabet(merge.left), in_alphabet(merge.right));
  }
  Json& added = spec.json["added_tokens"] = Json::array();
  for (const auto& [text, id] : special) {
    spec.vocabulary.emplace_back(text, id);
    added.push_back(added_token(text, id));
  }
  return spec;
}

bool parse_rank(std::string_view line, NamedToken& token) {
  const std::size_t space = line.find(' ');
  auto bytes = decode_base64(line.substr(0, space));
  if (space == std::string_view::npos || !bytes || bytes->empty()) {
    return false;
  }
  token.text = *std::move(bytes);
  const char* const end = line.data() + line.size();
  const auto parsed = std::from_chars(line.data() + space + 1, end, token.id);
  return parsed.ec == std::errc() && parsed.ptr == end;
}

std::vector<NamedToken> special_tokens(const TiktokenFamily& family) {
  std::vector<NamedToken> tokens;
  std::uint32_t id = family.first_special;
  for (const auto& [text, first, count, skipped] : family.special) {
    id += skipped;
    if (count == 0) {
      tokens.push_back({std::string(text), id++});
    }
    for (std::uint32_t n = first; n < first + count; ++n) {
      tokens.push_back({std::string(text) + std::to_string(n) + "|>", id++});
    }
  }
  return tokens;
}

// The tokens of a tekken.json with the ranks [0, count); the file may have
// more.
Result<std::vector<NamedToken>> tekken_ranks(const JsonPart& root,
                                             std::size_t count) {
  HEADWISE_ASSIGN(const auto entries, root.list("vocab"));
  std::vector<NamedToken> tokens;
  for (const JsonPart& entry : entries) {
    std::size_t rank = 0;
    std::string text;
    HEADWISE_TRY(entry.require("rank", rank));
    HEADWISE_TRY(entry.require("token_bytes", text));
    if (rank < count) {
      auto bytes = decode_base64(text);
      if (!bytes) {
        return entry.unexpected("token_bytes", "base64");
      }
      tokens.push_back({*std::move(bytes), static_cast<std::uint32_t>(rank)});
    }
  }
  return tokens.size() == count
             ? Result(std::move(tokens))
             : root.at("vocab").fault(
                   message("has {} tokens with ranks below {}", tokens.size(),
                           count),
                   message("{}", count));
}

// A token for each of the ids [0, count).
Result<std::vector<NamedToken>> tekken_special(const JsonPart& root,
                                               std::size_t count) {
  HEADWISE_ASSIGN(const auto entries, root.list("special_tokens"));
  std::vector<NamedToken> tokens(count);
  std::unordered_set<std::string_view> texts;
  for (std::uint32_t id = 0; id < count; ++id) {
    tokens[id] = {"<SPECIAL_" + std::to_string(id) + ">", id};
    if (id >= entries.size()) {
      continue;
    }
    std::size_t rank = 0;
    HEADWISE_TRY(entries[id].require("rank", rank));
    HEADWISE_TRY(entries[id].require("token_str", tokens[id].text));
    if (rank != id) {
      return entries[id].unexpected("rank", message("{}", id));
    }
    const Message fault = token_fault(tokens[id].text, texts);
    if (!fault.empty()) {
      return entries[id].fault(fault);
    }
  }
  return entries.size() <= count ? Result(std::move(tokens))
                                 : root.at("config").unexpected(
                                       "default_num_special_tokens",
                                       message("at least {}", entries.size()));
}

}  // namespace

bool is_tiktoken(std::string_view bytes) {
  NamedToken token;
  const auto lines = text_lines(bytes.substr(0, 2 * kMostTokenBytes));
  return !lines.empty() && parse_rank(lines[0], token);
}

Result<TokenizerSpec> parse_tiktoken(std::string_view bytes,
                                     const FileSubject& subject) {
  std::vector<NamedToken> tokens;
  HEADWISE_TRY(each_line(
      bytes, subject,
      [&](std::string_view line) {
        return parse_rank(line, tokens.emplace_back());
      },
      "a token in base64, a space and its rank"));
  const auto last = std::ranges::max_element(tokens, {}, &NamedToken::id);
  const auto families = tiktoken_families();
  const auto family =
      std::ranges::find(families, tokens.size(), &TiktokenFamily::ranks);
  if (family == families.end() || last->id > family->ranks ||
      last->text != family->last_token) {
    const auto known = [](const TiktokenFamily& one) {
      return std::string(one.name) + ": " + std::to_string(one.ranks);
    };
    return subject.error(
        ErrorCode::unsupported,
        message("has {} ranks of an unknown vocabulary", tokens.size()),
        Message::verbatim(list_text(families, ", ", known)));
  }
  const auto special = special_tokens(*family);
  HEADWISE_ASSIGN(auto spec, ranks_spec(std::move(tokens), 0, family->split,
                                        special, subject));
  if (family->adds_first) {
    spec.json["post_processor"] = template_processing(special[0], {});
  }
  return spec;
}

Result<TokenizerSpec> tekken_spec(Json json, const FileSubject& subject) {
  constexpr std::size_t kMostSpecial = std::size_t{1} << 16U;
  if (json.find("special_tokens") == nullptr) {
    json["special_tokens"] = json_of(kTekkenSpecialTokens);
  }
  const JsonPart root(&json, subject, "");
  const JsonPart config = root.at("config");
  std::string pattern;
  std::size_t vocabulary = 0;
  std::size_t special = 0;
  HEADWISE_TRY(config.require("pattern", pattern));
  HEADWISE_TRY(config.require("default_vocab_size", vocabulary));
  HEADWISE_TRY(config.require("default_num_special_tokens", special));
  if (special > std::min(kMostSpecial, vocabulary)) {
    return config.unexpected(
        "default_num_special_tokens",
        message("at most {}", std::min(kMostSpecial, vocabulary)));
  }
  HEADWISE_ASSIGN(auto tokens, tekken_ranks(root, vocabulary - special));
  HEADWISE_ASSIGN(const auto texts, tekken_special(root, special));
  HEADWISE_ASSIGN(auto spec, ranks_spec(std::move(tokens),
                                        static_cast<std::uint32_t>(special),
                                        {{pattern}}, texts, subject));
  Json& added = spec.json["added_tokens"];
  for (std::size_t n = 0; n < added.size(); ++n) {
    added[n]["in_text"] = false;
  }
  if (texts.size() > 1) {
    spec.json["post_processor"] = template_processing(texts[1], {});
  }
  return spec;
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
