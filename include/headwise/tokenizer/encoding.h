// The tokens of a text, and how a text is encoded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/run/executor.h"
#include "headwise/run/reports.h"
#include "headwise/steps/tokens.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// The bytes [begin, end) of a text; of characters where it says so.
struct ByteSpan {
  std::size_t begin = 0;
  std::size_t end = 0;
  bool operator==(const ByteSpan&) const = default;
};

// Element t of each list belongs to token t.
struct Encoding {
  std::vector<TokenId> ids;
  // The bytes of its text that the token came from; (0, 0) for a token that
  // was added.
  std::vector<ByteSpan> offsets;
  // 0 or 1: the segment of a pair, as the model's embedding takes it.
  std::vector<TokenId> token_types;
  // The number of the word in its text; -1 for a token that was added.
  std::vector<std::int32_t> words;
  // 0 or 1: the text of the pair; -1 for a token that was added.
  std::vector<std::int8_t> sequences;
  // How many tokens of both texts did not fit in Truncation::max_tokens.
  std::size_t cut = 0;
  // With Truncation::keep_overflowing: the other parts of the text, in its
  // order, each as long as fits.
  std::vector<Encoding> overflowing;

  std::size_t size() const { return ids.size(); }
};

// Which text of a pair loses tokens.
enum class TruncationStrategy { longest_first, only_first, only_second };
enum class TruncationSide { right, left };

struct Truncation {
  std::size_t max_tokens = 0;  // with the tokens that are added
  // How many tokens a part of Encoding::overflowing repeats of the part before;
  // 0 without keep_overflowing.
  std::size_t stride = 0;
  TruncationStrategy strategy = TruncationStrategy::longest_first;
  TruncationSide side = TruncationSide::right;  // from where tokens are cut
  bool keep_overflowing = false;
};

struct EncodeOptions {
  // Add the tokens that the model expects around texts, such as [CLS].
  bool add_special_tokens = true;
  // "[CLS]" in a text is that token; otherwise it is text as any other.
  bool special_tokens_in_text = true;
  std::optional<Truncation> truncation = {};
  // Of a batch; null: all threads.
  const Executor* executor = nullptr;
  // Of a batch: counts texts.
  Progress progress = {};
};

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
