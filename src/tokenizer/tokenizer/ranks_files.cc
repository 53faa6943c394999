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

struct RankedBytes {
  std::string bytes;
  std::uint32_t rank = 0;
};

std::string in_alphabet(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) {
    append_character(text, byte_character(static_cast<unsigned char>(byte)));
  }
  return text;
}

// Tokens in the order of ranks.
Status check_ranks(const std::vector<RankedBytes>& tokens,
                   const FileSubject& subject) {
  std::unordered_set<std::string_view> texts(tokens.size());
  for (std::size_t n = 0; n < tokens.size(); ++n) {
    const auto& [bytes, rank] = tokens[n];
    Message wrong;
    if (bytes.empty() || bytes.size() > kMostTokenBytes) {
      wrong =
          message("has {} bytes, not 1 to {}", bytes.size(), kMostTokenBytes);
    } else if (n > 0 && tokens[n - 1].rank == rank) {
      wrong = "occurs twice";
    } else if (!texts.insert(bytes).second) {
      wrong = "has the bytes of another rank";
    }
    if (!wrong.empty()) {
      return subject.of_entry(message("rank {}", rank).text()).bad_data(wrong);
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

// Byte-level BPE that joins the parts whose joined bytes have the lowest rank.
// `first_id` is the id of rank 0.
Result<TokenizerSpec> ranks_spec(std::vector<RankedBytes> tokens,
                                 std::uint32_t first_id, const WordSplit& split,
                                 const std::vector<NamedToken>& special,
                                 const FileSubject& subject) {
  std::ranges::stable_sort(tokens, {}, &RankedBytes::rank);
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

std::optional<RankedBytes> parse_rank(std::string_view line) {
  const std::size_t space = std::min(line.find(' '), line.size());
  const char* const end = line.data() + line.size();
  RankedBytes token;
  const auto parsed = std::from_chars(
      line.data() + std::min(space + 1, line.size()), end, token.rank);
  auto bytes = decode_base64(line.substr(0, space));
  if (parsed.ec != std::errc() || parsed.ptr != end || !bytes ||
      bytes->empty()) {
    return {};
  }
  token.bytes = *std::move(bytes);
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

// The tokens of a tekken.json with the ranks [0, count); it may have more.
Result<std::vector<RankedBytes>> tekken_ranks(const JsonPart& root,
                                              std::size_t count) {
  HEADWISE_ASSIGN(const auto entries, root.list("vocab"));
  std::vector<RankedBytes> tokens;
  for (const JsonPart& entry : entries) {
    std::size_t rank = 0;
    std::string text;
    HEADWISE_TRY(entry.require("rank", rank));
    HEADWISE_TRY(entry.require("token_bytes", text));
    auto bytes = decode_base64(text);
    if (!bytes) {
      return entry.unexpected("token_bytes", "base64");
    }
    if (rank < count) {
      tokens.push_back({*std::move(bytes), static_cast<std::uint32_t>(rank)});
    }
  }
  if (tokens.size() != count) {
    return root.at("vocab").fault(
        message("has {} tokens with ranks below {}", tokens.size(), count),
        message("{}", count));
  }
  return tokens;
}

// A token for each of the ids [0, count).
Result<std::vector<NamedToken>> tekken_special(const JsonPart& root,
                                               std::size_t count) {
  std::vector<NamedToken> tokens;
  const auto add = [&](std::string text) {
    tokens.push_back(
        {std::move(text), static_cast<std::uint32_t>(tokens.size())});
  };
  if (root.at("special_tokens").exists()) {
    std::unordered_set<std::string> texts;
    HEADWISE_ASSIGN(const auto entries, root.list("special_tokens"));
    for (const JsonPart& entry : entries) {
      std::size_t rank = 0;
      std::string text;
      HEADWISE_TRY(entry.require("rank", rank));
      HEADWISE_TRY(entry.require("token_str", text));
      if (rank != tokens.size()) {
        return entry.unexpected("rank", message("{}", tokens.size()));
      }
      if (text.empty() || !texts.insert(text).second) {
        return entry.unexpected("token_str", "a text of its own");
      }
      add(std::move(text));
    }
  } else {
    for (const std::string_view text : tekken_special_texts()) {
      add(std::string(text));
    }
  }
  if (tokens.size() > count) {
    return root.at("config").unexpected("default_num_special_tokens",
                                        message("at least {}", tokens.size()));
  }
  while (tokens.size() < count) {
    add("<SPECIAL_" + std::to_string(tokens.size()) + ">");
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
  std::vector<RankedBytes> tokens;
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
  const auto last = std::ranges::max_element(tokens, {}, &RankedBytes::rank);
  const auto families = tiktoken_families();
  const auto family =
      std::ranges::find(families, tokens.size(), &TiktokenFamily::ranks);
  if (family == families.end() || last->rank > family->ranks ||
      last->bytes != family->last_token) {
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

Result<TokenizerSpec> tekken_spec(const Json& json,
                                  const FileSubject& subject) {
  constexpr std::size_t kMostSpecial = std::size_t{1} << 16U;
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
