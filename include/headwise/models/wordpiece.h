// Step 0 of a BERT-family model: a sentence to the ids of its tokens:
//
//   "Heads matter!"  ->  [CLS] heads matter ! [SEP]
//
// The sentence is normalised and split into words (at white space, punctuation
// and CJK ideographs). Each word is split into the longest token of the
// vocabulary that it begins with, then the longest ##token that the rest begins
// with, and so on to its end. A word that cannot be split like this, or has
// more than kLongestWord characters, is [UNK]. A special token written in a
// sentence is that token.
//
//   ids       [CLS], the sentence's tokens, [SEP]
//   offsets   for each id, the bytes [begin, end) of the sentence that it came
//             from; (0, 0) for [CLS] and [SEP]
//   cut       how many tokens did not fit in max_tokens and were left out
//
// A pair of sentences is [CLS] a [SEP] b [SEP]; the token type is 0 up to the
// first [SEP] and 1 behind it. The longer sentence is cut until the pair fits.
// If both need cutting, each keeps half of the tokens, and the longer one (of
// equals, the second) keeps the odd one.
//
// An empty sentence is [CLS] [SEP]. Ids and offsets are those of the reference
// tokenizer (tests/models/models/reference_test.py, docs/tokenizer.md). Time is
// proportional to the sentence's length; memory, besides the result, to its
// longest run of combining marks.
//
// Errors: invalid_argument for max_tokens < 2 (of a pair: < 3); bad_data for a
// sentence that is not UTF-8, with the byte; out_of_memory.
//
// Source: Devlin et al. 2018, arXiv:1810.04805; Wu et al. 2016, section 4.1,
// arXiv:1609.08144.
//
// Example:
//   WordPiece wordpiece(read_vocabulary("model/vocab.txt").value());
//   EncodedSentence encoded = wordpiece.encode("Heads matter!", 512).value();
//   wordpiece.vocabulary().token(encoded.ids[1]);   // "heads"
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/interop/file_subject.h"
#include "headwise/run/reports.h"
#include "headwise/steps/tokens.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// The tokens of a BERT-family model, by id: a file with one token per line
// (vocab.txt), of which the first has the id 0. A token that begins with ##
// continues a word. LF and CR LF end a line; a byte-order mark at the beginning
// is skipped. A file NAME.json is read as the
// tokenizer.json of a WordPiece tokenizer, whose model.vocab has the ids.
//
// Errors: io_error; bad_data, with the line, for a line that is empty, not
// UTF-8 or longer than kLongestToken bytes, and for a token that occurs twice;
// bad_data for a file without tokens, without one of the special tokens [PAD]
// [UNK] [CLS] [SEP], or with more than kLargestVocabulary bytes; bad_data or
// unsupported for a tokenizer.json of another form or for another tokenizer:
//   read_vocabulary: model/vocab.txt: line 1031 is "the" again, the token of
//   line 1997
//
// Example:
//   Vocabulary vocabulary = read_vocabulary("model/vocab.txt").value();
//   vocabulary.token(101);       // "[CLS]"
//   vocabulary.find("##ing");    // 2075

inline constexpr std::size_t kLongestToken = 512;
inline constexpr std::size_t kLargestVocabulary = std::size_t{1} << 26;

class Vocabulary {
 public:
  std::size_t size() const { return ends_.size(); }
  // `id` in [0, size()). The text is valid as long as the vocabulary exists.
  std::string_view token(TokenId id) const;
  std::optional<TokenId> find(std::string_view token) const;

  TokenId pad() const { return pad_; }
  TokenId unk() const { return unk_; }
  TokenId cls() const { return cls_; }
  TokenId sep() const { return sep_; }
  // The special tokens that exist: those above, and [MASK] if there is one.
  const std::vector<TokenId>& special_tokens() const { return special_; }

  // The longest token that `text` begins with, at the start of a word or, as
  // ##..., inside one. The time depends on the length of the token, not of the
  // text.
  struct Match {
    TokenId id = 0;
    std::size_t bytes = 0;  // of `text`
  };
  HEADWISE_HIDDEN std::optional<Match> longest_match(std::string_view text,
                                                     bool inside_word) const;

 private:
  friend Result<Vocabulary> read_vocabulary(const std::string& path);
  friend Result<Vocabulary> parse_vocabulary(std::string_view text,
                                             std::string_view name);
  Vocabulary() = default;

  // Errors are about `subject`.
  HEADWISE_HIDDEN static Result<Vocabulary> make(std::string_view text,
                                                 const FileSubject& subject);
  HEADWISE_HIDDEN Status take_lines(std::string_view text,
                                    const FileSubject& subject);
  HEADWISE_HIDDEN Status sort_tokens(const FileSubject& subject);
  HEADWISE_HIDDEN Status find_special_tokens(const FileSubject& subject);

  // Positions in sorted_: the tokens [begin, end).
  struct Range {
    std::size_t begin = 0;
    std::size_t end = 0;
  };
  // The part of `range` whose next byte is `byte`; all tokens of `range` agree
  // in their first `depth` bytes.
  HEADWISE_HIDDEN Range narrowed(Range range, std::size_t depth,
                                 char byte) const;

  std::string text_;                   // of all tokens, one after another
  std::vector<std::uint32_t> ends_;    // where each token's text ends
  std::vector<std::uint32_t> sorted_;  // the ids, by their tokens' bytes
  Range inside_word_;                  // the tokens that begin with ##
  TokenId pad_ = 0;
  TokenId unk_ = 0;
  TokenId cls_ = 0;
  TokenId sep_ = 0;
  std::vector<TokenId> special_;
};

Result<Vocabulary> read_vocabulary(const std::string& path);
// Messages use `name` as the file.
Result<Vocabulary> parse_vocabulary(std::string_view text,
                                    std::string_view name);

inline constexpr std::size_t kLongestWord = 100;

// With the names that tokenizer_config.json uses.
struct WordPieceOptions {
  bool do_lower_case = true;
  // Decompose, and drop marks that take no space. Unset: as do_lower_case.
  std::optional<bool> strip_accents = {};
  // CJK ideographs are words of their own.
  bool tokenize_chinese_chars = true;
  // "[MASK]" in a sentence is that token, as in the reference, not a word
  // between two brackets.
  bool special_tokens_in_text = true;
};

// The bytes [begin, end).
struct ByteSpan {
  std::size_t begin = 0;
  std::size_t end = 0;
  bool operator==(const ByteSpan&) const = default;
};

struct EncodedSentence {
  std::vector<TokenId> ids;
  std::vector<ByteSpan> offsets;
  std::size_t cut = 0;
};

struct EncodedPair {
  std::vector<TokenId> ids;
  std::vector<TokenId> token_types;  // 0 or 1 for each id
  std::size_t cut = 0;               // of both sentences
};

// Sentence b of a batch: ids[b], offsets[b], cut[b]. `ids` is what pad() and
// the embedding take.
struct EncodedBatch {
  RaggedTokens ids;
  std::vector<std::vector<ByteSpan>> offsets;
  std::vector<std::size_t> cut;
};

class WordPiece {
 public:
  explicit WordPiece(Vocabulary vocabulary,
                     const WordPieceOptions& options = {})
      : vocabulary_(std::move(vocabulary)), options_(options) {}

  const Vocabulary& vocabulary() const { return vocabulary_; }
  const WordPieceOptions& options() const { return options_; }

  // May be called by several threads at once.
  Result<EncodedSentence> encode(std::string_view sentence,
                                 std::size_t max_tokens) const;
  // Errors name the sentence: "first" or "second".
  Result<EncodedPair> encode_pair(std::string_view first,
                                  std::string_view second,
                                  std::size_t max_tokens) const;
  // `progress` counts sentences. Errors name the sentence.
  Result<EncodedBatch> encode_batch(std::span<const std::string_view> sentences,
                                    std::size_t max_tokens,
                                    const Progress& progress = {}) const;

 private:
  Vocabulary vocabulary_;
  WordPieceOptions options_;
};

// Tokens that a tokenizer adds to texts, by their names in BERT's and RoBERTa's
// vocabularies.

// Whether the token separates texts: [SEP] or </s>.
inline bool is_separator(std::string_view token) {
  return token == "[SEP]" || token == "</s>";
}
// Whether the token is not part of the text: separators, [CLS], [PAD], <s> and
// <pad>.
inline bool is_special(std::string_view token) {
  return is_separator(token) || token == "[CLS]" || token == "[PAD]" ||
         token == "<s>" || token == "<pad>";
}

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
