// A text to tokens, without those that are added around it: cut at the added
// tokens, normalised, split into words, and the words into tokens.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/tokenizer/encoding.h"
#include "headwise/version.h"
#include "tokenizer/added_tokens.h"
#include "tokenizer/normalizer.h"
#include "tokenizer/pre_tokenizer.h"
#include "tokenizer/token_model.h"
#include "tokenizer/word_cache.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

// What one thread works with, kept from text to text.
struct EncodeMemory {
  WordCache cache;
  ModelMemory model;
  AlignedText original;
  AlignedText normalized;
  PieceList pieces;
  std::vector<TextPart> parts;
  std::vector<TextPart> inner_parts;
  std::vector<ModelToken> tokens;  // of the last word
  // Of the last text.
  Encoding encoding;
  std::int32_t words = 0;
};

class TextEncoder {
 public:
  // Takes the normalizer, the pre-tokenizer, the model and the added tokens of
  // a tokenizer.json.
  static Result<TextEncoder> make(TokenizerSpec spec);

  // Sets ids, offsets and words. `text` is valid UTF-8 with less than 2^32
  // bytes.
  Result<Encoding> encode(std::string_view text, bool special_tokens_in_text,
                          EncodeMemory& memory) const;

  const TokenModel& model() const { return *model_; }
  const AddedTokens& added_tokens() const { return added_; }

 private:
  TextEncoder() = default;

  // memory.original, a part of the text that is no added token.
  Status encode_part(bool special_tokens_in_text, EncodeMemory& memory) const;
  Status encode_words(EncodeMemory& memory) const;
  // Tokens of a word, in place of what memory.tokens has.
  Status encode_word(std::string_view text, EncodeMemory& memory) const;
  // Adds tokens of text[begin, end).
  Status encode_uncut(std::string_view text, std::size_t begin, std::size_t end,
                      EncodeMemory& memory) const;

  Normalizer normalizer_;
  PreTokenizer pre_tokenizer_;
  std::unique_ptr<TokenModel> model_;
  AddedTokens added_;
};

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
