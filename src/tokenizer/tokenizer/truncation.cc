#include "tokenizer/truncation.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "base/check.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

using internal::value_error;

// Of two texts, the longer one loses tokens until both have as many.
KeptTokens longest_first(std::size_t first, std::size_t second,
                         std::size_t room) {
  const std::size_t shorter = std::min({first, second, room / 2});
  return first <= second ? KeptTokens{shorter, room - shorter}
                         : KeptTokens{room - shorter, shorter};
}

constexpr std::array<std::string_view, 2> kSavedSides = {"Left", "Right"};
constexpr std::array<std::string_view, 3> kSavedStrategies = {
    "LongestFirst", "OnlyFirst", "OnlySecond"};
constexpr std::array<std::string_view, 1> kSavedPaddings = {"BatchLongest"};

}  // namespace

Result<KeptTokens> kept_tokens(std::string_view operation,
                               const Truncation& truncation, std::size_t first,
                               std::optional<std::size_t> second,
                               std::size_t added) {
  const std::size_t most = truncation.max_tokens;
  constexpr std::string_view kMostTokens = "truncation.max_tokens";
  if (most < added) {
    return value_error(
        operation, kMostTokens, std::to_string(most),
        message("at least {}, for the tokens that are added", added));
  }
  if (truncation.stride > 0 && truncation.stride >= most) {
    return value_error(operation, "truncation.stride",
                       std::to_string(truncation.stride),
                       message("less than max_tokens = {}", most));
  }
  const std::size_t room = most - added;
  const std::size_t all = first + second.value_or(0);
  if (all <= room) {
    return KeptTokens{first, second.value_or(0)};
  }
  if (room == 0) {
    return KeptTokens{};
  }
  const bool cuts_second =
      truncation.strategy == TruncationStrategy::only_second;
  if (cuts_second && !second) {
    return value_error(operation, "truncation.strategy", "only_second",
                       "longest_first or only_first, for one text");
  }
  if (truncation.strategy == TruncationStrategy::longest_first) {
    return second ? longest_first(first, *second, room) : KeptTokens{room, 0};
  }
  const std::size_t other = cuts_second ? first : second.value_or(0);
  if (other >= room) {
    return value_error(
        operation, kMostTokens, std::to_string(most),
        message("at least {}, for the text that is not cut and one token",
                other + added + 1));
  }
  return cuts_second ? KeptTokens{first, room - first}
                     : KeptTokens{room - other, other};
}

Result<std::vector<TokenRange>> token_parts(std::string_view operation,
                                            const Truncation& truncation,
                                            std::size_t tokens,
                                            std::size_t kept) {
  if (kept == 0 || kept == tokens) {
    return std::vector<TokenRange>{{0, kept}};
  }
  if (truncation.stride >= kept) {
    return value_error(
        operation, "truncation.stride", std::to_string(truncation.stride),
        message("less than the {} tokens of a text that fit", kept));
  }
  const bool from_left = truncation.side == TruncationSide::left;
  std::vector<TokenRange> parts;
  for (std::size_t begin = 0;; begin += kept - truncation.stride) {
    const std::size_t end = std::min(begin + kept, tokens);
    parts.push_back(from_left ? TokenRange{tokens - end, tokens - begin}
                              : TokenRange{begin, end});
    if (end == tokens) {
      return parts;
    }
  }
}

Status check_saved_truncation(const JsonPart& part) {
  if (!part.exists()) {
    return ok();
  }
  std::size_t unused = 0;
  HEADWISE_TRY(part.get("direction", kSavedSides, unused));
  HEADWISE_TRY(part.require("max_length", unused));
  HEADWISE_TRY(part.require("strategy", kSavedStrategies, unused));
  return part.require("stride", unused);
}

Status check_saved_padding(const JsonPart& part) {
  if (!part.exists()) {
    return ok();
  }
  std::size_t unused = 0;
  std::string token;
  if (const JsonPart strategy = part.at("strategy");
      strategy.exists() && strategy.json().is_object()) {
    HEADWISE_TRY(strategy.require("Fixed", unused));
  } else {
    HEADWISE_TRY(part.require("strategy", kSavedPaddings, unused));
  }
  HEADWISE_TRY(part.require("direction", kSavedSides, unused));
  HEADWISE_TRY(part.get("pad_to_multiple_of", unused));
  HEADWISE_TRY(part.require("pad_id", unused));
  HEADWISE_TRY(part.require("pad_type_id", unused));
  return part.require("pad_token", token);
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
