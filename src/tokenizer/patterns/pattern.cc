#include "patterns/pattern.h"

#include <oniguruma.h>

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <new>
#include <string>

#include "interop/error_text.h"
#include "patterns/expression_rewriter.h"
#include "patterns/known_patterns.h"
#include "unicode/characters.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

// Compiling takes time that grows faster than the expression.
constexpr std::size_t kLongestExpression = std::size_t{8} << 10U;
// Functions of Oniguruma call themselves.
constexpr unsigned kDeepestTree = 500;

// The work of a search is how often Oniguruma tries another way. The reference
// stops after 10 million ways of one match; a text gets that, and more the
// longer it is: about a second per megabyte at most.
constexpr std::size_t kWaysOfText = 10'000'000;
constexpr std::size_t kWaysPerByte = 32;
// A search does not tell how many ways it tried. So it begins with a few, which
// are free, and is repeated with more of them where these do not suffice.
constexpr std::size_t kFreeWays = 64;
constexpr std::size_t kMoreWays = 8;
// 40 bytes each: ways not tried yet, one per character of a run of letters.
constexpr unsigned kLongestStack = 4'000'000;

struct Free {
  void operator()(OnigRegex expression) const { onig_free(expression); }
  void operator()(OnigRegion* region) const { onig_region_free(region, 1); }
  void operator()(OnigMatchParam* limits) const {
    onig_free_match_param(limits);
  }
};
using Compiled = std::shared_ptr<std::remove_pointer_t<OnigRegex>>;

const OnigUChar* bytes_of(std::string_view text) {
  return reinterpret_cast<const OnigUChar*>(text.data());
}

Error expression_error(ErrorCode code, const std::string& shown,
                       const Message& what) {
  return {code, {.given = message("regular expression {} {}", shown, what)}};
}

// What Oniguruma answers; with its reason in `why` if it refuses the
// expression.
int compile_with_oniguruma(std::string_view text, Compiled& compiled,
                           std::string& why) {
  static const bool is_initialized = [] {
    onig_set_parse_depth_limit(kDeepestTree);
    OnigEncoding encoding = ONIG_ENCODING_UTF8;
    return onig_initialize(&encoding, 1) == ONIG_NORMAL;
  }();
  OnigRegex made = nullptr;
  OnigErrorInfo info{};
  const int code =
      is_initialized
          ? onig_new(&made, bytes_of(text), bytes_of(text) + text.size(),
                     ONIG_OPTION_NONE, ONIG_ENCODING_UTF8,
                     ONIG_SYNTAX_ONIGURUMA, &info)
          : ONIGERR_MEMORY;
  if (code == ONIGERR_MEMORY) {
    throw std::bad_alloc();
  }
  if (code == ONIG_NORMAL) {
    compiled.reset(made, Free());
    return code;
  }
  std::array<OnigUChar, ONIG_MAX_ERROR_MESSAGE_LEN> reason{};
  const int size = onig_error_code_to_str(reason.data(), code, &info);
  why.assign(reason.begin(), reason.begin() + size);
  return code;
}

Result<Compiled> compile_expression(std::string_view expression) {
  if (expression.size() > kLongestExpression) {
    return Error(ErrorCode::unsupported,
                 {.given = message("has {} bytes, more than {}",
                                   expression.size(), kLongestExpression)});
  }
  Compiled compiled;
  std::string why;
  // The library may not know a property that the reference knows.
  const int code = compile_with_oniguruma(expression, compiled, why);
  if (code != ONIG_NORMAL && code != ONIGERR_INVALID_CHAR_PROPERTY_NAME) {
    return Error(ErrorCode::invalid_argument,
                 {.given = message("is wrong: {}", why)});
  }
  HEADWISE_ASSIGN(const std::string rewritten, rewrite_expression(expression));
  if (compile_with_oniguruma(rewritten, compiled, why) != ONIG_NORMAL) {
    return Error(ErrorCode::unsupported,
                 {.given = message("is not supported: {}", why)});
  }
  return compiled;
}

std::unique_ptr<OnigMatchParam, Free> make_limits() {
  std::unique_ptr<OnigMatchParam, Free> limits(onig_new_match_param());
  if (limits == nullptr) {
    throw std::bad_alloc();
  }
  onig_initialize_match_param(limits.get());
  onig_set_match_stack_limit_size_of_match_param(limits.get(), kLongestStack);
  onig_set_retry_limit_in_match_of_match_param(
      limits.get(), std::numeric_limits<unsigned long>::max());
  return limits;
}

// Appends the matches. Returns ONIG_MISMATCH at their end, or an error of
// Oniguruma.
int find_all(OnigRegex expression, std::string_view text,
             std::vector<Match>& matches) {
  const auto limits = make_limits();
  const std::unique_ptr<OnigRegion, Free> region(onig_region_new());
  if (region == nullptr) {
    throw std::bad_alloc();
  }
  const auto search = [&](std::size_t from, std::size_t ways) {
    onig_set_retry_limit_in_search_of_match_param(limits.get(), ways);
    const OnigUChar* const begin = bytes_of(text);
    const OnigUChar* const end = begin + text.size();
    return onig_search_with_param(expression, begin, end, begin + from, end,
                                  region.get(), ONIG_OPTION_NONE, limits.get());
  };
  std::size_t ways_left = kWaysOfText + kWaysPerByte * text.size();
  for (std::size_t from = 0; from <= text.size();) {
    std::size_t ways = kFreeWays;
    int found = search(from, ways);
    while (found == ONIGERR_RETRY_LIMIT_IN_SEARCH_OVER && ways_left > 0) {
      ways = std::min(ways * kMoreWays, ways_left);
      ways_left -= ways;
      found = search(from, ways);
    }
    if (found < 0) {
      return found;
    }
    const Match match{static_cast<std::uint32_t>(region->beg[0]),
                      static_cast<std::uint32_t>(region->end[0])};
    // An empty match right after a match is none.
    if (match.begin == match.end && !matches.empty() &&
        matches.back().end == match.end) {
      from += from < text.size() ? first_character(text.substr(from)).bytes : 1;
    } else {
      matches.push_back(match);
      from = match.end;
    }
  }
  return ONIG_MISMATCH;
}

}  // namespace

Result<Pattern> Pattern::compile(std::string_view expression) {
  if (const KnownPattern known = known_pattern(expression)) {
    return Pattern([known](std::string_view text, std::vector<Match>& matches) {
      known(text, matches);
      return ok();
    });
  }
  const std::string shown = internal::printable(expression);
  auto compiled = compile_expression(expression);
  if (!compiled) {
    return expression_error(compiled.error().code(), shown,
                            compiled.error().what());
  }
  return Pattern(
      [compiled = *std::move(compiled), shown](
          std::string_view text, std::vector<Match>& matches) -> Status {
        const int end = find_all(compiled.get(), text, matches);
        if (end == ONIG_MISMATCH) {
          return ok();
        }
        return expression_error(ErrorCode::unsupported, shown,
                                end == ONIGERR_MATCH_STACK_LIMIT_OVER
                                    ? "takes too much memory in this text"
                                    : "takes too many steps in this text");
      });
}

Pattern Pattern::literal(std::string_view text) {
  return Pattern([literal = std::string(text)](std::string_view searched,
                                               std::vector<Match>& matches) {
    const auto size = static_cast<std::uint32_t>(literal.size());
    for (std::size_t at = searched.find(literal); at != std::string_view::npos;
         at = searched.find(literal, at + std::max(size, 1U))) {
      // The reference finds an empty text at every boundary of characters.
      if (size > 0 || at == searched.size() ||
          !continues_character(searched[at])) {
        const auto begin = static_cast<std::uint32_t>(at);
        matches.push_back({begin, begin + size});
      }
    }
    return ok();
  });
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
