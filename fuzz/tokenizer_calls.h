// What a tokenizer promises of any text.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "headwise/tokenizer/decode_stream.h"
#include "headwise/tokenizer/tokenizer.h"

namespace fuzz {

inline void require(bool holds) {
  if (!holds) {
    std::abort();
  }
}

inline void check(const headwise::Tokenizer& tokenizer,
                  const headwise::Encoding& encoded, std::size_t first_bytes,
                  std::size_t second_bytes) {
  const std::size_t size = encoded.size();
  require(encoded.offsets.size() == size && encoded.words.size() == size &&
          encoded.token_types.size() == size &&
          encoded.sequences.size() == size);
  for (std::size_t t = 0; t < size; ++t) {
    const auto& [begin, end] = encoded.offsets[t];
    const std::size_t bytes =
        encoded.sequences[t] == 1 ? second_bytes : first_bytes;
    require(begin <= end && end <= bytes);
    // The ids of a template may be any.
    require(encoded.sequences[t] < 0 || tokenizer.token(encoded.ids[t]));
  }
  for (const headwise::Encoding& part : encoded.overflowing) {
    check(tokenizer, part, first_bytes, second_bytes);
  }
}

// Joined, the texts of a stream are the text of all ids.
inline void check_decoding(const headwise::Tokenizer& tokenizer,
                           const std::vector<headwise::TokenId>& ids) {
  const auto all = tokenizer.decode(ids);
  require(static_cast<bool>(all));
  std::string joined;
  headwise::DecodeStream stream(tokenizer);
  for (const headwise::TokenId id : ids) {
    const auto text = stream.step(id);
    require(static_cast<bool>(text));
    joined += *text;
  }
  const auto rest = stream.finish();
  // A run of byte tokens that is no UTF-8 gives U+FFFD for each, but a stream
  // has already given the characters that were whole.
  require(rest &&
          (joined + *rest == *all || all->find("\uFFFD") != std::string::npos));
}

// `choice` picks the options.
inline void call(const headwise::Tokenizer& tokenizer, std::string_view text,
                 unsigned choice) {
  static const headwise::Executor kAlone =
      headwise::Executor::with_threads(1).value();
  headwise::EncodeOptions options{.add_special_tokens = (choice & 1) == 0,
                                  .executor = &kAlone};
  if ((choice & 2) != 0) {
    options.truncation = {
        .max_tokens = 1 + (choice >> 4),
        .stride = choice >> 6,
        .strategy =
            static_cast<headwise::TruncationStrategy>((choice >> 2) % 3),
        .side = static_cast<headwise::TruncationSide>((choice >> 3) & 1),
        .keep_overflowing = true};
  }
  const std::string_view second =
      text.substr(0, std::min<std::size_t>(text.find('\n'), 8));
  const auto one = tokenizer.encode(text, options);
  if (one) {
    check(tokenizer, *one, text.size(), 0);
    check_decoding(tokenizer, one->ids);
  }
  // A pair has as many overflowing parts as the product of both texts' parts.
  constexpr std::size_t kMostParts = 256;
  if (one && one->overflowing.size() > kMostParts) {
    return;
  }
  const auto two = tokenizer.encode_pair(text, second, options);
  if (two) {
    check(tokenizer, *two, text.size(), second.size());
  }
}

// Of every kind of part.
inline constexpr std::array<std::string_view, 3> kTexts = {
    "", "the ab lower's 12", " \u00E9\uD55C\u00A0e\u0301<s>[CLS]\n\nab "};

}  // namespace fuzz
