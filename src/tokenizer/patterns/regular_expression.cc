#include "patterns/regular_expression.h"

#include <oniguruma.h>

#include <algorithm>
#include <array>
#include <limits>
#include <new>
#include <utility>

#include "interop/error_text.h"
#include "patterns/expression_rewriter.h"
#include "unicode/characters.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

// Compiling takes time that grows faster than the expression.
constexpr std::size_t kLongestExpression = std::size_t{64} << 10U;
// Its functions call themselves.
constexpr unsigned kDeepestTree = 1000;

// The work of a search is how often Oniguruma tries another way. The reference
// stops after 10 million ways of one match; a text gets that, and more the
// longer it is: about a second per megabyte at most.
constexpr std::size_t kWaysOfText = 10'000'000;
constexpr std::size_t kWaysPerByte = 64;
// Turns of loops are slower.
constexpr std::size_t kTurnsPerByte = 16;
// A search does not tell how many ways it tried. So it begins with a few, and
// is repeated with more of them where these do not suffice.
constexpr std::size_t kFirstWays = 64;
constexpr std::size_t kMoreWays = 4;
// 40 bytes each: ways not tried yet, one per character of a run of letters.
constexpr unsigned kLongestStack = 4'000'000;

const OnigUChar* bytes_of(const char* text) {
  return reinterpret_cast<const OnigUChar*>(text);
}

Error expression_error(ErrorCode code, const std::string& shown,
                       const Message& what) {
  return {code, {.given = message("regular expression {} {}", shown, what)}};
}

struct FreeExpression {
  void operator()(OnigRegex expression) const { onig_free(expression); }
};
using Compiled =
    std::unique_ptr<std::remove_pointer_t<OnigRegex>, FreeExpression>;

// Empty, with the library's reason in `why`, if it does not compile.
Compiled compile_with_oniguruma(std::string_view text, std::string& why) {
  static const bool is_initialized = [] {
    onig_set_parse_depth_limit(kDeepestTree);
    OnigEncoding encoding = ONIG_ENCODING_UTF8;
    return onig_initialize(&encoding, 1) == ONIG_NORMAL;
  }();
  OnigRegex compiled = nullptr;
  OnigErrorInfo info{};
  const OnigUChar* const begin = bytes_of(text.data());
  const int code =
      is_initialized
          ? onig_new(&compiled, begin, begin + text.size(), ONIG_OPTION_NONE,
                     ONIG_ENCODING_UTF8, ONIG_SYNTAX_ONIGURUMA, &info)
          : ONIGERR_MEMORY;
  if (code == ONIGERR_MEMORY) {
    throw std::bad_alloc();
  }
  if (code != ONIG_NORMAL) {
    std::array<OnigUChar, ONIG_MAX_ERROR_MESSAGE_LEN> reason{};
    const int size = onig_error_code_to_str(reason.data(), code, &info);
    why.assign(reason.begin(), reason.begin() + size);
  }
  return Compiled(code == ONIG_NORMAL ? compiled : nullptr);
}

// The bytes that backreferences of a text compared, and may compare.
struct Comparisons {
  std::size_t left = 0;
};

// Called before each backreference. It may compare as much as any group has.
int count_comparison(OnigCalloutArgs* arguments, void* user) {
  auto& comparisons = *static_cast<Comparisons*>(user);
  const int groups =
      onig_number_of_captures(onig_get_regex_by_callout_args(arguments));
  std::size_t work = 1;
  for (int group = 1; group <= groups; ++group) {
    int begin = ONIG_REGION_NOTPOS;
    int end = ONIG_REGION_NOTPOS;
    onig_get_capture_range_in_callout(arguments, group, &begin, &end);
    work += static_cast<std::size_t>(std::max(end - begin, 0)) + 1;
  }
  if (work > comparisons.left) {
    return ONIGERR_RETRY_LIMIT_IN_MATCH_OVER;
  }
  comparisons.left -= work;
  return ONIG_CALLOUT_SUCCESS;
}

// The searches in one text.
class TextSearch {
 public:
  TextSearch(OnigRegex expression, std::string_view text,
             std::size_t ways_per_byte)
      : expression_(expression),
        text_(text),
        ways_left_(kWaysOfText + ways_per_byte * text.size()),
        comparisons_{ways_left_},
        region_(onig_region_new()),
        limits_(onig_new_match_param()) {
    if (region_ == nullptr || limits_ == nullptr) {
      throw std::bad_alloc();
    }
    onig_initialize_match_param(limits_.get());
    onig_set_match_stack_limit_size_of_match_param(limits_.get(),
                                                   kLongestStack);
    onig_set_retry_limit_in_match_of_match_param(
        limits_.get(), std::numeric_limits<unsigned long>::max());
    onig_set_progress_callout_of_match_param(limits_.get(), count_comparison);
    onig_set_callout_user_data_of_match_param(limits_.get(), &comparisons_);
  }

  // The position of the first match from `from` on, or an error of Oniguruma.
  int next(std::size_t from, Match& match) {
    std::size_t ways = kFirstWays;
    int found = search(from, ways);
    while (found == ONIGERR_RETRY_LIMIT_IN_SEARCH_OVER) {
      if (ways >= ways_left_) {
        return found;
      }
      ways_left_ -= ways;
      ways *= kMoreWays;
      found = search(from, ways);
    }
    if (ways > kFirstWays) {
      ways_left_ -= std::min(ways / 2, ways_left_);
    }
    if (found >= 0) {
      match = {static_cast<std::uint32_t>(region_->beg[0]),
               static_cast<std::uint32_t>(region_->end[0])};
    }
    return found;
  }

 private:
  int search(std::size_t from, std::size_t ways) {
    onig_set_retry_limit_in_search_of_match_param(limits_.get(), ways);
    const OnigUChar* const begin = bytes_of(text_.data());
    const OnigUChar* const end = begin + text_.size();
    return onig_search_with_param(expression_, begin, end, begin + from, end,
                                  region_.get(), ONIG_OPTION_NONE,
                                  limits_.get());
  }

  struct FreeRegion {
    void operator()(OnigRegion* region) const { onig_region_free(region, 1); }
  };
  struct FreeLimits {
    void operator()(OnigMatchParam* limits) const {
      onig_free_match_param(limits);
    }
  };

  OnigRegex expression_;
  std::string_view text_;
  std::size_t ways_left_;
  Comparisons comparisons_;
  std::unique_ptr<OnigRegion, FreeRegion> region_;
  std::unique_ptr<OnigMatchParam, FreeLimits> limits_;
};

}  // namespace

void RegularExpression::Freed::operator()(void* expression) const {
  onig_free(static_cast<OnigRegex>(expression));
}

Result<RegularExpression> RegularExpression::compile(
    std::string_view expression) {
  RegularExpression result;
  result.shown_ = internal::printable(expression);
  if (expression.size() > kLongestExpression) {
    return expression_error(ErrorCode::unsupported, result.shown_,
                            message("has {} bytes, more than {}",
                                    expression.size(), kLongestExpression));
  }
  auto rewritten = rewrite(expression);
  if (!rewritten) {
    return expression_error(rewritten.error().code(), result.shown_,
                            rewritten.error().what());
  }
  result.ways_per_byte_ =
      rewritten->counts_turns ? kTurnsPerByte : kWaysPerByte;
  std::string why;
  if (!compile_with_oniguruma(rewritten->to_check, why)) {
    return expression_error(ErrorCode::invalid_argument, result.shown_,
                            message("is wrong: {}", why));
  }
  result.compiled_.reset(
      compile_with_oniguruma(rewritten->text, why).release());
  if (!result.compiled_) {
    return expression_error(ErrorCode::unsupported, result.shown_,
                            message("is not supported: {}", why));
  }
  return result;
}

Status RegularExpression::find(std::string_view text,
                               std::vector<Match>& matches) const {
  matches.clear();
  TextSearch search(static_cast<OnigRegex>(compiled_.get()), text,
                    ways_per_byte_);
  std::size_t from = 0;
  while (from <= text.size()) {
    Match match;
    const int found = search.next(from, match);
    if (found == ONIG_MISMATCH) {
      break;
    }
    // An expression with \K can match before its last match.
    if (found < 0 || match.begin > match.end || match.end < from) {
      return expression_error(ErrorCode::unsupported, shown_,
                              found == ONIGERR_MATCH_STACK_LIMIT_OVER
                                  ? "takes too much memory in this text"
                                  : "takes too many steps in this text");
    }
    // An empty match right after a match is none.
    if (match.begin == match.end && !matches.empty() &&
        matches.back().end == match.end) {
      from += from < text.size() ? first_character(text.substr(from)).bytes : 1;
      continue;
    }
    matches.push_back(match);
    from = match.end;
  }
  return ok();
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
