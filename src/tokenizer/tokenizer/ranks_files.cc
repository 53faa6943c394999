// Files of tokens and their ranks: tiktoken's and Mistral's tekken.json.
#include <algorithm>
#include <charconv>
#include <optional>
#include <unordered_set>

#include "headwise/interop/token_text.h"
#include "interop/error_text.h"
#include "tokenizer/base64.h"
#include "tokenizer/ranked_merges.h"
#include "tokenizer/spec_parts.h"
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

// Tokens in the order of ranks.
Status check_ranks(const std::vector<NamedToken>& tokens,
                   const FileSubject& subject) {
  std::unordered_set<std::string_view> texts(tokens.size());
  for (std::size_t n = 0; n < tokens.size(); ++n) {
    const auto& [bytes, rank] = tokens[n];
    const Message fault = n > 0 && tokens[n - 1].id == rank
                              ? Message("occurs twice")
                              : token_fault(bytes, texts);
    if (!fault.empty()) {
      return subject.of_entry(message("rank {}", rank).text()).bad_data(fault);
    }
  }
  for (unsigned byte = 0; byte < 256; ++byte) {
    const char only = static_cast<char>(byte);
    if (!texts.contains({&only, 1})) {
      return subject.bad_data(message("has no token for the byte {}", byte));
    }
  }
  return ok();
}

// Byte-level BPE that joins the parts whose joined bytes have the lowest rank,
// which is what `tokens` have for ids. `first_id` is the id of rank 0.
Result<TokenizerSpec> ranks_spec(std::vector<NamedToken> tokens,
                                 std::uint32_t first_id, const WordSplit& split,
                                 const std::vector<NamedToken>& special,
                                 const FileSubject& subject) {
  std::ranges::stable_sort(tokens, {}, &NamedToken::id);
  HEADWISE_TRY(check_ranks(tokens, subject));
  TokenizerSpec spec{.subject = subject,
                     .json = byte_level_json(split, /*ignores_merges=*/true)};
  std::vector<RankedToken> ranked;
  for (const auto& [bytes, rank] : tokens) {
    spec.vocabulary.emplace_back(in_alphabet(bytes), first_id + rank);
    ranked.push_back({bytes, rank});
  }
  for (const RankedMerge& merge : merges_of(ranked, FirstParts::bytes)) {
    spec.merges.emplace_back(in_alphabet(merge.left), in_alphabet(merge.right));
  }
  Json& added = spec.json["added_tokens"] = Json::array();
  for (const auto& [text, id] : special) {
    spec.vocabulary.emplace_back(text, id);
    added.push_back(added_token(text, id));
  }
  return spec;
}

std::optional<NamedToken> parse_rank(std::string_view line) {
  const std::size_t space = std::min(line.find(' '), line.size());
  const char* const end = line.data() + line.size();
  NamedToken token;
  const auto parsed = std::from_chars(
      line.data() + std::min(space + 1, line.size()), end, token.id);
  auto bytes = decode_base64(line.substr(0, space));
  if (parsed.ec != std::errc() || parsed.ptr != end || !bytes ||
      bytes->empty()) {
    return {};
  }
  token.text = *std::move(bytes);
  return token;
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

// A list of a tekken.json: texts and their ranks.
Result<std::vector<NamedToken>> tekken_list(const JsonPart& root,
                                            std::string_view name,
                                            std::string_view text_key) {
  HEADWISE_ASSIGN(const auto entries, root.list(name));
  std::vector<NamedToken> tokens;
  for (const JsonPart& entry : entries) {
    std::size_t rank = 0;
    NamedToken& token = tokens.emplace_back();
    HEADWISE_TRY(entry.require("rank", rank));
    HEADWISE_TRY(entry.require(text_key, token.text));
    if (rank > kMostTokens) {
      return entry.unexpected("rank", message("at most {}", kMostTokens));
    }
    token.id = static_cast<std::uint32_t>(rank);
  }
  return tokens;
}

// The tokens with the ranks [0, count); the file may have more.
Result<std::vector<NamedToken>> tekken_ranks(const JsonPart& root,
                                             std::size_t count) {
  HEADWISE_ASSIGN(auto tokens, tekken_list(root, "vocab", "token_bytes"));
  std::erase_if(tokens, [&](const NamedToken& t) { return t.id >= count; });
  if (tokens.size() != count) {
    return root.at("vocab").fault(
        message("has {} tokens with ranks below {}", tokens.size(), count),
        message("{}", count));
  }
  for (auto& [text, rank] : tokens) {
    auto bytes = decode_base64(text);
    if (!bytes) {
      return root.at("vocab").fault(message("has the rank {}", rank), "base64");
    }
    text = *std::move(bytes);
  }
  return tokens;
}

// A token for each of the ids [0, count).
Result<std::vector<NamedToken>> tekken_special(const JsonPart& root,
                                               std::size_t count) {
  HEADWISE_ASSIGN(auto tokens,
                  tekken_list(root, "special_tokens", "token_str"));
  std::unordered_set<std::string_view> texts;
  for (std::size_t n = 0; n < tokens.size(); ++n) {
    const Message fault = tokens[n].id != n
                              ? message("has the rank {}", n)
                              : token_fault(tokens[n].text, texts);
    if (!fault.empty()) {
      return root.subject()
          .of_entry("special_tokens[" + std::to_string(n) + "]")
          .bad_data(fault);
    }
  }
  if (tokens.size() > count) {
    return root.at("config").unexpected("default_num_special_tokens",
                                        message("at least {}", tokens.size()));
  }
  for (auto id = static_cast<std::uint32_t>(tokens.size()); id < count; ++id) {
    tokens.push_back({"<SPECIAL_" + std::to_string(id) + ">", id});
  }
  return tokens;
}

}  // namespace

bool is_tiktoken(std::string_view bytes) {
  const auto lines = text_lines(bytes.substr(0, 2 * kMostTokenBytes));
  return !lines.empty() && parse_rank(lines[0]).has_value();
}

Result<TokenizerSpec> parse_tiktoken(std::string_view bytes,
                                     const FileSubject& subject) {
  std::vector<NamedToken> tokens;
  const auto lines = text_lines(bytes);
  for (std::size_t n = 0; n < lines.size(); ++n) {
    auto token = parse_rank(lines[n]);
    if (!token && !lines[n].empty()) {
      return subject_of_line(subject, n + 1)
          .bad_data(message("is \"{}\"", printable(lines[n])),
                    "a token in base64, a space and its rank");
    }
    if (token) {
      tokens.push_back(*std::move(token));
    }
  }
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
  if (special > kMostSpecial) {
    return config.unexpected("default_num_special_tokens",
                             message("at most {}", kMostSpecial));
  }
  if (vocabulary < special || vocabulary > kMostTokens) {
    return config.unexpected("default_vocab_size",
                             message("{} to {}", special, kMostTokens));
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
