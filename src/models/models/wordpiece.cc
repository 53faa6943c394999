#include "headwise/models/wordpiece.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/out_of_memory.h"
#include "interop/utf8.h"
#include "models/bert_characters.h"
#include "models/bert_text.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

// The tokens of one sentence as they are found.
class Encoder {
 public:
  Encoder(const Vocabulary& vocabulary, const WordPieceOptions& options,
          std::size_t max_tokens)
      : vocabulary_(vocabulary), options_(options), max_tokens_(max_tokens) {}

  EncodedSentence encode(std::string_view sentence) {
    put(vocabulary_.cls(), {});
    std::size_t begin = 0;  // of the part that is not yet encoded
    std::size_t at = options_.special_tokens_in_text ? sentence.find('[')
                                                     : std::string_view::npos;
    while (at != std::string_view::npos) {
      std::size_t next = at + 1;
      if (const auto id = special_token(sentence.substr(at))) {
        add_text(sentence.substr(begin, at - begin), begin);
        begin = next = at + vocabulary_.token(*id).size();
        add(*id, {at, begin});
      }
      at = sentence.find('[', next);
    }
    add_text(sentence.substr(begin), begin);
    put(vocabulary_.sep(), {});
    return std::move(encoded_);
  }

 private:
  // The special token that `text` begins with. None of them begins another.
  std::optional<TokenId> special_token(std::string_view text) const {
    const auto& specials = vocabulary_.special_tokens();
    const auto found = std::ranges::find_if(specials, [&](TokenId id) {
      return text.starts_with(vocabulary_.token(id));
    });
    return found == specials.end() ? std::optional<TokenId>() : *found;
  }

  // The words of a part of the sentence, which begins at byte `begin`.
  void add_text(std::string_view text, std::size_t begin) {
    bert::BertText characters(text, begin, options_);
    while (const auto character = characters.next()) {
      const bool alone = bert::is_punctuation(character->code);
      if (alone || bert::is_space(character->code)) {
        end_word();
      }
      if (alone || !bert::is_space(character->code)) {
        extend_word(*character);
      }
      if (alone) {
        end_word();
      }
    }
    end_word();
  }

  void extend_word(const bert::Character& character) {
    if (word_characters_ == 0) {
      word_from_.begin = character.from.begin;
    }
    word_from_.end = character.from.end;
    ++word_characters_;
    if (word_characters_ <= kLongestWord) {
      append_utf8(word_, character.code);
      from_.resize(word_.size(), character.from);
    }
  }

  void end_word() {
    if (word_characters_ > 0) {
      add_word();
    }
    word_characters_ = 0;
    word_.clear();
    from_.clear();
  }

  void add_word() {
    pieces_.clear();
    if (word_characters_ <= kLongestWord) {
      for (std::size_t at = 0; at < word_.size();) {
        const auto match = vocabulary_.longest_match(
            std::string_view{word_}.substr(at), at > 0);
        if (!match) {
          pieces_.clear();
          break;
        }
        const std::size_t end = at + match->bytes;
        pieces_.push_back({match->id, {from_[at].begin, from_[end - 1].end}});
        at = end;
      }
    }
    if (pieces_.empty()) {
      add(vocabulary_.unk(), word_from_);
    }
    for (const Piece& piece : pieces_) {
      add(piece.id, piece.from);
    }
  }

  // A token of the sentence, if there is room for it and [SEP].
  void add(TokenId id, ByteSpan from) {
    if (encoded_.ids.size() + 1 < max_tokens_) {
      put(id, from);
    } else {
      ++encoded_.cut;
    }
  }

  void put(TokenId id, ByteSpan from) {
    encoded_.ids.push_back(id);
    encoded_.offsets.push_back(from);
  }

  struct Piece {
    TokenId id = 0;
    ByteSpan from;
  };

  const Vocabulary& vocabulary_;
  const WordPieceOptions& options_;
  std::size_t max_tokens_;
  EncodedSentence encoded_;

  // The word so far: its first kLongestWord characters and, for each byte of
  // them, the bytes of the sentence that its character came from.
  std::size_t word_characters_ = 0;
  ByteSpan word_from_;
  std::string word_;
  std::vector<ByteSpan> from_;
  std::vector<Piece> pieces_;  // of the word that is added
};

constexpr std::size_t kFewestTokens = 2;        // [CLS] and [SEP]
constexpr std::size_t kFewestTokensOfPair = 3;  // and another [SEP]

// How many of its tokens each of two sentences keeps if they share `room`.
std::pair<std::size_t, std::size_t> kept_of_pair(std::size_t first,
                                                 std::size_t second,
                                                 std::size_t room) {
  if (first + second <= room) {
    return {first, second};
  }
  std::size_t shorter = std::min(std::min(first, second), room / 2);
  return first <= second ? std::pair(shorter, room - shorter)
                         : std::pair(room - shorter, shorter);
}

Status check_max_tokens(std::string_view operation, std::size_t max_tokens) {
  if (max_tokens >= kFewestTokens) {
    return ok();
  }
  return value_error(operation, "max_tokens", std::to_string(max_tokens),
                     "at least 2, for [CLS] and [SEP]");
}

}  // namespace

Result<EncodedSentence> WordPiece::encode(std::string_view sentence,
                                          std::size_t max_tokens) const {
  return catching_out_of_memory([&]() -> Result<EncodedSentence> {
    HEADWISE_TRY(check_max_tokens("encode", max_tokens));
    HEADWISE_TRY(
        check_utf8({.operation = "encode", .argument = "sentence"}, sentence));
    return Encoder(vocabulary_, options_, max_tokens).encode(sentence);
  });
}

Result<EncodedPair> WordPiece::encode_pair(std::string_view first,
                                           std::string_view second,
                                           std::size_t max_tokens) const {
  return catching_out_of_memory([&]() -> Result<EncodedPair> {
    constexpr std::string_view kPair = "encode_pair";
    if (max_tokens < kFewestTokensOfPair) {
      return value_error(kPair, "max_tokens", std::to_string(max_tokens),
                         "at least 3, for [CLS] and two [SEP]");
    }
    HEADWISE_TRY(check_utf8(
        {.operation = std::string(kPair), .argument = "first"}, first));
    HEADWISE_TRY(check_utf8(
        {.operation = std::string(kPair), .argument = "second"}, second));
    constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();
    // Each is [CLS], the sentence's tokens, [SEP].
    const auto a = Encoder(vocabulary_, options_, kAll).encode(first).ids;
    const auto b = Encoder(vocabulary_, options_, kAll).encode(second).ids;
    const std::size_t own_a = a.size() - kFewestTokens;
    const std::size_t own_b = b.size() - kFewestTokens;
    const auto [kept_a, kept_b] =
        kept_of_pair(own_a, own_b, max_tokens - kFewestTokensOfPair);
    EncodedPair pair;
    pair.cut = own_a + own_b - kept_a - kept_b;
    const auto add = [&](const std::vector<TokenId>& ids, std::size_t begin,
                         std::size_t end, TokenId type) {
      pair.ids.insert(pair.ids.end(),
                      ids.begin() + static_cast<std::ptrdiff_t>(begin),
                      ids.begin() + static_cast<std::ptrdiff_t>(end));
      pair.ids.push_back(vocabulary_.sep());
      pair.token_types.resize(pair.ids.size(), type);
    };
    add(a, 0, kept_a + 1, 0);
    add(b, 1, kept_b + 1, 1);
    return pair;
  });
}

Result<EncodedBatch> WordPiece::encode_batch(
    std::span<const std::string_view> sentences, std::size_t max_tokens,
    const Progress& progress) const {
  return catching_out_of_memory([&]() -> Result<EncodedBatch> {
    HEADWISE_TRY(check_max_tokens("encode_batch", max_tokens));
    EncodedBatch batch;
    for (std::size_t b = 0; b < sentences.size(); ++b) {
      if (progress) {
        progress(b, sentences.size());
      }
      HEADWISE_TRY(
          check_utf8({.operation = "encode_batch",
                      .argument = "sentences[" + std::to_string(b) + "]"},
                     sentences[b]));
      EncodedSentence encoded =
          Encoder(vocabulary_, options_, max_tokens).encode(sentences[b]);
      batch.ids.push_back(std::move(encoded.ids));
      batch.offsets.push_back(std::move(encoded.offsets));
      batch.cut.push_back(encoded.cut);
    }
    if (progress) {
      progress(sentences.size(), sentences.size());
    }
    return batch;
  });
}

}  // namespace headwise::inline HEADWISE_ABI
