// The model of a tokenizer: a word to the ids of its tokens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/version.h"
#include "interop/json_part.h"
#include "tokenizer/token_table.h"
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

// A part of a word that BPE has not merged further.
struct BpeSymbol {
  ModelId id = 0;
  std::uint32_t size = 0;  // in bytes of the word; 0: merged into another one
  // The merge with the next symbol.
  std::uint32_t rank = 0;
  ModelId merged = 0;
  std::uint32_t previous = 0;
  std::uint32_t next = 0;
};

// The end of the best path of Unigram to a byte of a word.
struct UnigramNode {
  double score = 0;
  ModelId piece = 0;
  std::uint32_t begin = UINT32_MAX;  // UINT32_MAX: no path
};

// Memory that models reuse from word to word; each thread has one.
struct ModelMemory {
  std::string text{};  // a word in the byte-level alphabet
  std::vector<BpeSymbol> symbols{};
  std::vector<std::uint64_t> queue{};
  std::vector<UnigramNode> nodes{};

  // After a huge word its memory is given back.
  void shrink() {
    constexpr std::size_t kMostKept = std::size_t{1} << 16U;
    if (symbols.capacity() > kMostKept || queue.capacity() > kMostKept ||
        nodes.capacity() > kMostKept || text.capacity() > kMostKept) {
      *this = {};
    }
  }
};

class TokenModel {
 public:
  virtual ~TokenModel() = default;

  // Appends the tokens of `word`, which is not empty. May be called by several
  // threads at once, each with a memory of its own. Errors: bad_data, where
  // there is no token for an unknown character.
  virtual Status encode(std::string_view word, ModelMemory& memory,
                        std::vector<ModelToken>& tokens) const = 0;

  // Whether a word may be cut between `before` and kWordBoundary without
  // changing its tokens. Cut words are found in the cache of words.
  virtual bool may_cut(char32_t /*before*/) const { return false; }

  // The entries of the vocabulary. Two of them may have one id.
  std::size_t size() const { return vocabulary_.size(); }
  std::optional<ModelId> find(std::string_view token) const {
    return vocabulary_.find(token);
  }
  // Nothing if no entry has this id.
  std::optional<std::string_view> token(ModelId id) const {
    return vocabulary_.token(id);
  }

 protected:
  explicit TokenModel(TokenTable vocabulary)
      : vocabulary_(std::move(vocabulary)) {}

  TokenTable vocabulary_;
};

// The token for all that is unknown, whose text is model.unk_token. An error if
// it is not in the vocabulary: only texts that need it report that.
Result<ModelId> unknown_token(const JsonPart& model, std::string_view unk_token,
                              const TokenTable& vocabulary);

using MadeModel = Result<std::unique_ptr<TokenModel>>;

// Takes the vocabulary, merges and pieces out of `spec`. `byte_level`: words
// are the bytes that the byte-level alphabet stands for (ByteLevel), while the
// tokens of the vocabulary are spelled in it. Only BPE takes such words; others
// get the alphabet's characters.
MadeModel make_model(TokenizerSpec& spec, bool byte_level);
// The same of one type; `model` is the part "model" of the JSON.
MadeModel make_bpe(const JsonPart& model, TokenizerSpec& spec, bool byte_level);
MadeModel make_unigram(const JsonPart& model, TokenizerSpec& spec);

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
