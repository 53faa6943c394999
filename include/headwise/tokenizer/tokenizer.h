// A text to the ids of its tokens, and back, with the tokenizer of any model:
//
//   "Heads matter!"  ->  [CLS] heads matter ! [SEP]  ->  101 4641 3043 999 102
//
// The text is cut at the added tokens, normalised, split into words, and the
// words are split into tokens of the vocabulary (BPE, Unigram, WordPiece or
// WordLevel). Then the model's own tokens are added around. All of that is
// written in tokenizer.json, which this class reads, with these other files:
//
//   vocab.txt                   BERT's vocabulary, a token a line
//   vocab.json and merges.txt   byte-level BPE as GPT-2 saves it
//   tokenizer.model             SentencePiece (BPE or Unigram), or tiktoken
//   ranks
//   *.tiktoken, tekken.json     tiktoken ranks
//   *.gguf                      the tokenizer in the metadata
//
// Ids, offsets and decoded texts are those of the package `tokenizers` 0.23
// with the same file (docs/tokenizer.md lists the differences).
//
// Errors: io_error; bad_data or unsupported for a file, with the part that is
// wrong; bad_data for a text that is not UTF-8, with the byte, and for a
// character that the model has no token for; invalid_argument for options that
// do not fit; out_of_memory.
//
// Example:
//   Tokenizer tokenizer = Tokenizer::read("model").value();
//   Encoding encoded = tokenizer.encode("Heads matter!").value();
//   tokenizer.token(encoded.ids[1]);       // "heads"
//   tokenizer.decode(encoded.ids).value(); // "heads matter!"
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headwise/base/hidden.h"
#include "headwise/base/result.h"
#include "headwise/steps/tokens.h"
#include "headwise/tokenizer/encoding.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

namespace tokenizer {
class Decoder;
}

// How BERT's normalizer treats texts, with the names of tokenizer_config.json.
// Unset: as the tokenizer's file has it.
struct BertNormalization {
  std::optional<bool> do_lower_case{};
  std::optional<bool> strip_accents{};
  std::optional<bool> tokenize_chinese_chars{};
  // Lower case before all else: whether accents are stripped does not depend on
  // it.
  bool lower_first = false;

  bool operator==(const BertNormalization&) const = default;
};

class Tokenizer {
 public:
  // `path`: a file, or a folder with one of the files above; tokenizer.json
  // goes before the others. `changed` is for tokenizers with BERT's normalizer
  // only.
  static Result<Tokenizer> read(const std::string& path,
                                const BertNormalization& changed = {});
  // The text of a tokenizer.json. Messages use `name` as the file.
  static Result<Tokenizer> parse(std::string_view json, std::string_view name);

  // These may be called by several threads at once.
  Result<Encoding> encode(std::string_view text,
                          const EncodeOptions& options = {}) const;
  Result<Encoding> encode_pair(std::string_view first, std::string_view second,
                               const EncodeOptions& options = {}) const;
  // On all threads of the executor. Errors name the text.
  Result<std::vector<Encoding>> encode_batch(
      std::span<const std::string_view> texts,
      const EncodeOptions& options = {}) const;
  using TextPair = std::pair<std::string_view, std::string_view>;
  Result<std::vector<Encoding>> encode_batch(
      std::span<const TextPair> pairs, const EncodeOptions& options = {}) const;

  // Ids that are no token are passed over. Special tokens are left out if
  // `skip_special_tokens`.
  Result<std::string> decode(std::span<const TokenId> ids,
                             bool skip_special_tokens = true) const;

  // Tokens with different texts, added tokens included.
  std::size_t vocab_size() const;
  std::optional<TokenId> find(std::string_view token) const;
  // The text is valid as long as the tokenizer exists.
  std::optional<std::string_view> token(TokenId id) const;
  // Whether it is an added token that is not part of texts: [CLS], <s>.
  bool is_special(TokenId id) const;

 private:
  friend class DecodeStream;
  HEADWISE_HIDDEN const tokenizer::Decoder& decoder() const;

  struct HEADWISE_HIDDEN State;
  explicit Tokenizer(Hidden<State> state) : state_(std::move(state)) {}
  Hidden<State> state_;
};

// The same offsets, counted in characters of `text` instead of bytes.
std::vector<ByteSpan> character_offsets(std::string_view text,
                                        std::span<const ByteSpan> offsets);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
