#include "tokenizer/post_processor.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string>
#include <utility>

#include "base/check.h"
#include "unicode/character_class.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

using internal::value_error;
using Sizes = std::vector<std::size_t>;

// The tokens [begin, end) of a text.
struct TokenRange {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::size_t size() const { return end - begin; }
};
using TokenRanges = std::vector<TokenRange>;

// How many tokens each of one or two texts keeps.
Result<Sizes> kept_tokens(std::string_view operation,
                          const Truncation& truncation, Sizes sizes,
                          std::size_t added) {
  const std::size_t most = truncation.max_tokens;
  const auto too_few = [&](Message expected) {
    return value_error(operation, "truncation.max_tokens", std::to_string(most),
                       std::move(expected));
  };
  if (most < added) {
    return too_few(
        message("at least {}, for the tokens that are added", added));
  }
  const std::size_t room = most - added;
  const std::size_t all = std::reduce(sizes.begin(), sizes.end());
  if (all <= room) {
    return sizes;
  }
  if (room == 0) {
    return Sizes(sizes.size(), 0);
  }
  if (sizes.size() == 2 &&
      truncation.strategy == TruncationStrategy::longest_first) {
    const std::size_t shorter = sizes[0] <= sizes[1] ? 0 : 1;
    sizes[shorter] = std::min(sizes[shorter], room / 2);
    sizes[1 - shorter] = room - sizes[shorter];
    return sizes;
  }
  const std::size_t cut =
      truncation.strategy == TruncationStrategy::only_second ? 1 : 0;
  if (cut >= sizes.size()) {
    return value_error(operation, "truncation.strategy", "only_second",
                       "longest_first or only_first, for one text");
  }
  const std::size_t other = all - sizes[cut];
  if (other >= room) {
    return too_few(
        message("at least {}, for the text that is not cut and one token",
                other + added + 1));
  }
  sizes[cut] = room - other;
  return sizes;
}

// The parts of each text, the one that is kept first.
Result<std::vector<TokenRanges>> cut_texts(std::string_view operation,
                                           const Truncation& truncation,
                                           const Sizes& sizes,
                                           std::size_t added) {
  const std::size_t stride = truncation.stride;
  const bool keeps_all = truncation.keep_overflowing;
  HEADWISE_ASSIGN(const Sizes all_kept,
                  kept_tokens(operation, truncation, sizes, added));
  std::vector<TokenRanges> parts(sizes.size());
  for (std::size_t n = 0; n < sizes.size(); ++n) {
    const std::size_t all = sizes[n];
    const std::size_t kept = all_kept[n];
    const std::size_t fit = kept < all ? kept : truncation.max_tokens - added;
    if (stride > 0 && (!keeps_all || (fit > 0 && stride >= fit))) {
      return value_error(
          operation, "truncation.stride", std::to_string(stride),
          keeps_all ? message("less than the {} tokens of a text that fit", fit)
                    : "0 unless overflowing parts are kept");
    }
    for (std::size_t begin = 0, end = 0;
         parts[n].empty() || (keeps_all && kept > 0 && end < all);
         begin += kept - stride) {
      end = std::min(begin + kept, all);
      parts[n].push_back(truncation.side == TruncationSide::left
                             ? TokenRange{all - end, all - begin}
                             : TokenRange{begin, end});
    }
  }
  return parts;
}

// Each choice goes on with each part of a text. The last one is that of the
// parts that are kept.
std::vector<TokenRanges> with_parts(const std::vector<TokenRanges>& choices,
                                    const TokenRanges& parts) {
  std::vector<TokenRanges> longer;
  for (const TokenRanges& choice : choices) {
    const std::size_t first = &choice == &choices.back() ? 1 : 0;
    for (std::size_t n = 0; n < parts.size(); ++n) {
      longer.push_back(choice);
      longer.back().push_back(parts[(n + first) % parts.size()]);
    }
  }
  return longer;
}

bool is_token_space(char32_t code) {
  return code == 0x120 || is_white_space(code);  // 0x120: ByteLevel's space
}

// Takes as many characters of `text` from each side of `span` as the token has
// white space there, counting U+0120. A single one stays before the token if
// `keeps_only`.
void trim_offsets(std::string_view text, std::string_view token,
                  bool keeps_only, ByteSpan& span) {
  std::size_t before = 0;
  for (auto rest = token;
       !rest.empty() && is_token_space(first_character(rest).code); ++before) {
    rest.remove_prefix(first_character(rest).bytes);
  }
  before -= before == 1 && keeps_only ? 1 : 0;
  for (; before > 0 && span.begin < span.end; --before) {
    span.begin += first_character(text.substr(span.begin)).bytes;
  }
  std::size_t after = 0;
  for (auto rest = token;
       !rest.empty() && is_token_space(last_character(rest).code); ++after) {
    rest.remove_suffix(last_character(rest).bytes);
  }
  std::size_t end = span.end;
  for (; after > 0 && end > 0; --after) {
    end -= last_character(text.substr(0, end)).bytes;
  }
  if (after == 0) {  // else the text has fewer characters there
    span.end = std::max(end, span.begin);
  }
}

struct Assembly {
  const PostProcessor& post;
  const EncodingTemplate& pieces;
  const TokenTexts& token_text;
  std::vector<EncodedText> texts{};
  std::size_t added = 0;  // tokens of the template, if they are added

  Encoding run(const std::vector<TokenRanges>& parts) const {
    std::vector<TokenRanges> choices = {{}};
    for (const TemplatePiece& piece : pieces) {
      if (piece.sequence >= 0) {
        choices = with_parts(choices,
                             parts[static_cast<std::size_t>(piece.sequence)]);
      }
    }
    Encoding encoding = encoding_of(choices.back());
    choices.pop_back();
    for (const TokenRanges& choice : choices) {
      encoding.overflowing.push_back(encoding_of(choice));
    }
    for (std::size_t n = 0; n < texts.size(); ++n) {
      encoding.cut += texts[n].encoding.size() - parts[n][0].size();
    }
    return encoding;
  }

  // `ranges`: of each text in the template.
  Encoding encoding_of(const TokenRanges& ranges) const {
    Encoding encoding;
    std::size_t size = added;
    for (const TokenRange& range : ranges) {
      size += range.size();
    }
    const auto reserve = [size](auto&... lists) { (lists.reserve(size), ...); };
    reserve(encoding.ids, encoding.offsets, encoding.words,
            encoding.token_types, encoding.sequences);
    auto range = ranges.begin();
    for (const TemplatePiece& piece : pieces) {
      if (piece.sequence >= 0) {
        append(texts[static_cast<std::size_t>(piece.sequence)], *range++,
               encoding);
      } else if (added > 0) {
        encoding.ids.insert(encoding.ids.end(), piece.added.begin(),
                            piece.added.end());
        encoding.offsets.resize(encoding.size());
        encoding.words.resize(encoding.size(), -1);
      }
      encoding.token_types.resize(encoding.size(), piece.type);
      encoding.sequences.resize(encoding.size(), piece.sequence);
    }
    return encoding;
  }

  void append(const EncodedText& text, TokenRange range,
              Encoding& encoding) const {
    const std::size_t first = encoding.size();
    const auto append_range = [&](const auto& from, auto& into) {
      into.insert(into.end(),
                  from.begin() + static_cast<std::ptrdiff_t>(range.begin),
                  from.begin() + static_cast<std::ptrdiff_t>(range.end));
    };
    append_range(text.encoding.ids, encoding.ids);
    append_range(text.encoding.offsets, encoding.offsets);
    append_range(text.encoding.words, encoding.words);
    for (const bool is_prefixed : post.trims_for_prefix_space) {
      for (std::size_t t = first; t < encoding.size(); ++t) {
        ByteSpan& span = encoding.offsets[t];
        const ByteSpan& whole = text.encoding.offsets[range.begin + t - first];
        const auto matched =
            text.text.substr(whole.begin, whole.end - whole.begin);
        trim_offsets(text.text, token_text(encoding.ids[t], matched),
                     is_prefixed && (t == first || span.begin == 0), span);
      }
    }
  }
};

}  // namespace

Result<Encoding> finish_encoding(const PostProcessor& post,
                                 std::string_view operation, EncodedText first,
                                 std::optional<EncodedText> second,
                                 const TokenTexts& token_text,
                                 const EncodeOptions& options) {
  Assembly assembly{post, second ? post.pair : post.single, token_text};
  assembly.texts.push_back(std::move(first));
  if (second) {
    assembly.texts.push_back(*std::move(second));
  }
  for (const TemplatePiece& piece : assembly.pieces) {
    assembly.added += options.add_special_tokens ? piece.added.size() : 0;
  }
  Sizes sizes;
  std::vector<TokenRanges> parts;
  for (const EncodedText& text : assembly.texts) {
    parts.push_back({{0, sizes.emplace_back(text.encoding.size())}});
  }
  if (options.truncation) {
    HEADWISE_ASSIGN(parts, cut_texts(operation, *options.truncation, sizes,
                                     assembly.added));
  }
  return assembly.run(parts);
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
