// A normalizer's output beside the reference's: the text, and for each of its
// characters the bytes of the original that it came from.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headwise/json/json.h"
#include "tokenizer/normalizer.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

struct NormalizerCase {
  std::string_view json;
  std::string_view text;
  std::string_view normalized;
  std::vector<Span> spans;
};

inline Result<Normalizer> normalizer_of(std::string_view json) {
  const std::optional<Json> part = Json::parse(json, 1 << 20, 100);
  return read_normalizer(
      {part ? &*part : nullptr, {"read", "t.json"}, "normalizer"});
}

// Each text is part of a longer original.
inline void expect_normalized(const NormalizerCase& expected) {
  constexpr std::uint32_t kBegin = 10;
  SCOPED_TRACE(std::string(expected.json) + " of " +
               std::string(expected.text));
  const auto normalizer = normalizer_of(expected.json);
  ASSERT_TRUE(normalizer) << normalizer.error().message();
  AlignedText text;
  text.view(expected.text, kBegin);
  AlignedText result;
  const Result<bool> changed = normalizer->apply(text, result);
  ASSERT_TRUE(changed);
  const AlignedText& normalized = *changed ? result : text;
  EXPECT_EQ(normalized.text(), expected.normalized);
  std::vector<Span> spans;
  for (std::size_t at = 0; at < normalized.text().size();) {
    const std::size_t bytes =
        first_character(normalized.text().substr(at)).bytes;
    const Span from = normalized.from(at, at + bytes);
    spans.push_back({from.begin - kBegin, from.end - kBegin});
    at += bytes;
  }
  EXPECT_EQ(spans, expected.spans);
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
