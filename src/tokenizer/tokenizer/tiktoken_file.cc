#include "tokenizer/tiktoken_file.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <unordered_set>

#include "interop/error_text.h"
#include "tokenizer/base64.h"
#include "tokenizer/ranked_merges.h"
#include "tokenizer/spec_parts.h"
#include "tokenizer/text_lines.h"
#include "tokenizer/tiktoken_families.h"
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

std::optional<BytesToken> parse_line(std::string_view line) {
  const std::size_t space = std::min(line.find(' '), line.size());
  const std::string_view number = line.substr(std::min(space + 1, line.size()));
  BytesToken token;
  const char* const end = number.data() + number.size();
  const auto parsed = std::from_chars(number.data(), end, token.rank);
  auto bytes = decode_base64(line.substr(0, space));
  if (number.empty() || parsed.ec != std::errc() || parsed.ptr != end ||
      !bytes || bytes->empty()) {
    return {};
  }
  token.bytes = *std::move(bytes);
  return token;
}

Result<std::vector<BytesToken>> parse_lines(std::string_view text,
                                            const FileSubject& subject) {
  std::vector<BytesToken> tokens;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::string_view line = take_line(text);
    if (line.empty()) {
      continue;
    }
    auto token = parse_line(line);
    if (!token) {
      return subject_of_line(subject, number)
          .bad_data(message("is \"{}\"", printable(line)),
                    "a token in base64, a space and its rank");
    }
    tokens.push_back(*std::move(token));
  }
  return tokens;
}

Status check_tokens(std::span<const BytesToken> sorted,
                    const FileSubject& subject) {
  std::unordered_set<std::string_view> texts(sorted.size());
  for (std::size_t n = 0; n < sorted.size(); ++n) {
    const auto& [bytes, rank] = sorted[n];
    const auto about = [&, of = rank] {
      return subject.of_entry(message("rank {}", of).text());
    };
    if (bytes.empty() || bytes.size() > kMostTokenBytes) {
      return about().bad_data(message("has {} bytes", bytes.size()),
                              message("1 to {}", kMostTokenBytes));
    }
    if (n > 0 && sorted[n - 1].rank == rank) {
      return about().bad_data("occurs twice");
    }
    if (!texts.insert(bytes).second) {
      return about().bad_data("has the bytes of another rank");
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

Error unknown_ranks(std::span<const BytesToken> tokens,
                    const FileSubject& subject) {
  const auto known = [](const TiktokenFamily& family) {
    return std::string(family.name) + ": " + std::to_string(family.ranks);
  };
  return subject.error(
      ErrorCode::unsupported,
      message("has {} ranks of an unknown vocabulary", tokens.size()),
      Message::verbatim(list_text(tiktoken_families(), ", ", known)));
}

void sort_by_rank(std::vector<BytesToken>& tokens) {
  std::ranges::stable_sort(tokens, {}, &BytesToken::rank);
}

}  // namespace

bool is_tiktoken(std::string_view bytes) {
  constexpr std::size_t kLongestLine = 2 * kMostTokenBytes;
  bytes = bytes.substr(0, kLongestLine);
  return !bytes.empty() && parse_line(take_line(bytes)).has_value();
}

Result<TokenizerSpec> ranks_spec(std::vector<BytesToken> tokens,
                                 std::uint32_t first_id,
                                 std::string_view pattern,
                                 const std::vector<SpecialText>& special,
                                 const FileSubject& subject) {
  sort_by_rank(tokens);
  HEADWISE_TRY(check_tokens(tokens, subject));
  TokenizerSpec spec{.subject = subject};
  std::vector<RankedToken> ranked;
  for (const auto& [bytes, rank] : tokens) {
    spec.vocabulary.emplace_back(in_alphabet(bytes), first_id + rank);
    ranked.push_back({bytes, rank});
  }
  for (const RankedMerge& merge : merges_of(ranked, FirstParts::bytes)) {
    spec.merges.emplace_back(in_alphabet(merge.left), in_alphabet(merge.right));
  }
  Json added = Json::array();
  for (const auto& [text, id] : special) {
    spec.vocabulary.emplace_back(text, id);
    added.push_back(added_token(text, id, /*special=*/true));
  }
  spec.json = {{"version", "1.0"},
               {"added_tokens", added},
               {"pre_tokenizer", byte_level_split({&pattern, 1})},
               {"decoder", byte_level_decoding()},
               {"model", {{"type", "BPE"}, {"ignore_merges", true}}}};
  return spec;
}

Result<TokenizerSpec> parse_tiktoken(std::string_view bytes,
                                     const FileSubject& subject) {
  HEADWISE_ASSIGN(auto tokens, parse_lines(bytes, subject));
  sort_by_rank(tokens);
  const auto families = tiktoken_families();
  const auto family =
      std::ranges::find(families, tokens.size(), &TiktokenFamily::ranks);
  if (family == families.end() || tokens.back().rank > family->ranks ||
      tokens.back().bytes != family->last_token) {
    return unknown_ranks(tokens, subject);
  }
  const auto special = family->special();
  HEADWISE_ASSIGN(auto spec, ranks_spec(std::move(tokens), 0, family->pattern,
                                        special, subject));
  if (family->composes) {
    spec.json["normalizer"] = {{"type", "NFC"}};
  }
  const auto first =
      std::ranges::find(special, family->first, &SpecialText::text);
  if (first != special.end()) {
    spec.json["post_processor"] =
        template_processing(NamedToken{first->text, first->id}, {});
  }
  return spec;
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
