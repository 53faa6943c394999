// Tokens that are found in texts as they are written, before anything is split
// into words: <s>, [MASK], and those that users add.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/version.h"
#include "interop/json_part.h"
#include "tokenizer/literal_search.h"
#include "tokenizer/normalizer.h"
#include "tokenizer/token_model.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

struct AddedToken {
  std::string content;
  std::string text;  // what decoding gives: the normalised content
  ModelId id = 0;
  bool single_word = false;  // no word character next to it
  bool lstrip = false;       // with the white space before it
  bool rstrip = false;       // with the white space behind it
  bool normalized = false;   // looked for in the normalised text
  bool special = false;      // not part of texts: decoding may skip it
  bool literal = false;      // its content is that of the normalised text
  bool in_text = true;       // looked for at all
};

// A part of a text: bytes [begin, end), and the added token that it is, if any.
struct TextPart {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  std::optional<ModelId> token{};
};

class AddedTokens {
 public:
  // The list `added_tokens`. A token that is in the model's vocabulary has its
  // id; others get the next ids, in the order of the list, whatever ids the
  // list gives them.
  static Result<AddedTokens> read(const JsonPart& part, const TokenModel& model,
                                  const Normalizer& normalizer);

  // Cuts a text, not empty, at the tokens that are looked for before it is
  // normalised, or after. `parts` is written anew.
  // Special ones are looked for if `special`.
  void cut(std::string_view text, bool normalized, bool special,
           std::vector<TextPart>& parts) const;

  // Null if no added token has this content, or this id.
  const AddedToken* find(std::string_view content) const;
  const AddedToken* token(ModelId id) const;
  // Those that are not in the model's vocabulary.
  std::size_t new_tokens() const { return new_tokens_; }

 private:
  std::vector<AddedToken> tokens_;
  std::unordered_map<ModelId, std::uint32_t> by_id_;  // to places in tokens_
  TextTable by_content_;
  std::size_t new_tokens_ = 0;
  // For the tokens of each pass, by their places.
  LiteralSearch before_;
  LiteralSearch after_;
};

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
