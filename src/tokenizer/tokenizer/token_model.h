// The model of a tokenizer: a word to the ids of its tokens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/version.h"
#include "tokenizer/model_memory.h"
#include "tokenizer/tokenizer_spec.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

using ModelId = std::uint32_t;

// A token of a word: its bytes [begin, end) of the word.
struct ModelToken {
  ModelId id = 0;
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  bool operator==(const ModelToken&) const = default;
};

class TokenModel {
 public:
  virtual ~TokenModel() = default;

  // Appends the tokens of `word`, which is not empty. May be called by several
  // threads at once, each with a memory of its own. Errors: bad_data, where
  // there is no token for an unknown character.
  virtual Status encode(std::string_view word, ModelMemory& memory,
                        std::vector<ModelToken>& tokens) const = 0;

  // The entries of the vocabulary. Two of them may have one id.
  virtual std::size_t size() const = 0;
  virtual std::optional<ModelId> find(std::string_view token) const = 0;
  // Nothing if no entry has this id.
  virtual std::optional<std::string_view> token(ModelId id) const = 0;

  // Whether a word may be cut between `before` and `after`, a word-boundary
  // character such as U+2581, without changing its tokens. Cut words are found
  // in the cache of words.
  virtual bool may_cut(char32_t /*before*/, char32_t /*after*/) const {
    return false;
  }
};

// `byte_level`: words are the bytes that the byte-level alphabet stands for
// (ByteLevel), while the tokens of the vocabulary are spelled in it. Only BPE
// takes such words; others get the alphabet's characters.
Result<std::unique_ptr<TokenModel>> make_model(TokenizerSpec& spec,
                                               bool byte_level);

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
