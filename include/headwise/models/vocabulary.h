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
  std::optional<Match> longest_match(std::string_view text,
                                     bool inside_word) const;

 private:
  friend Result<Vocabulary> read_vocabulary(const std::string& path);
  friend Result<Vocabulary> parse_vocabulary(std::string_view text,
                                             std::string_view name);
  Vocabulary() = default;

  // Errors are about `subject`.
  static Result<Vocabulary> make(std::string_view text,
                                 const FileSubject& subject);
  Status take_lines(std::string_view text, const FileSubject& subject);
  Status sort_tokens(const FileSubject& subject);
  Status find_special_tokens(const FileSubject& subject);

  // Positions in sorted_: the tokens [begin, end).
  struct Range {
    std::size_t begin = 0;
    std::size_t end = 0;
  };
  // The part of `range` whose next byte is `byte`; all tokens of `range` agree
  // in their first `depth` bytes.
  Range narrowed(Range range, std::size_t depth, char byte) const;

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

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
