// The tokens of a model by their ids: a vocab.txt, one token per line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/interop/file_subject.h"
#include "headwise/steps/tokens.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// The tokens of a WordPiece model, by id: a file with one token per line
// (vocab.txt), of which the first has the id 0. LF and CR LF end a line; a
// byte-order mark at the beginning is skipped.
//
// Errors: io_error; bad_data, with the line, for a line that is empty, not
// UTF-8 or longer than kLongestToken bytes, and for a token that occurs twice;
// bad_data for a file without tokens, without one of the special tokens [PAD]
// [UNK] [CLS] [SEP], or with more than kLargestVocabulary bytes:
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

  std::string text_;                   // of all tokens, one after another
  std::vector<std::uint32_t> ends_;    // where each token's text ends
  std::vector<std::uint32_t> sorted_;  // the ids, by their tokens' bytes
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
