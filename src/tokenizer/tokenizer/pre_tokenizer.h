// The second step of a text: pre-tokenizers split it into words.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/version.h"
#include "patterns/pattern.h"
#include "tokenizer/aligned_text.h"
#include "tokenizer/json_part.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

// The bytes [begin, end) of a text.
struct Piece {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
};

// A text and its pieces, from left to right; none is empty. What lies between
// them was removed. Memory is reused from text to text.
class PieceList {
 public:
  // Becomes `whole`, a part of `source`, which must outlive the list.
  void start(const AlignedText& source, const Piece& whole);

  const AlignedText& text() const { return *text_; }
  const std::vector<Piece>& pieces() const { return pieces_; }
  std::string_view view(const Piece& piece) const {
    return text_->text().substr(piece.begin, piece.end - piece.begin);
  }

  // Adds bytes [begin, end) of the text to the next pieces, if there are any.
  void keep(std::uint32_t begin, std::uint32_t end);
  // The pieces that were kept become the pieces.
  void exchange_pieces();

  // A changed text: write it to changed(), keep_changed() what was written for
  // each piece, then exchange_texts().
  AlignedText& start_changed();
  void keep_changed(std::size_t begin);
  void exchange_texts();

  std::vector<Match>& matches() { return matches_; }

 private:
  AlignedText& spare() { return spares_[text_ == &spares_[0] ? 1 : 0]; }

  const AlignedText* text_ = nullptr;
  std::array<AlignedText, 2> spares_;  // one of them may be the text
  std::vector<Piece> pieces_;
  std::vector<Piece> next_;
  std::vector<Match> matches_;
};

class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;

  // Splits each piece. May be called by several threads at once. Errors: a
  // regular expression that reached its limits.
  virtual Status apply(PieceList& pieces) const = 0;
};

// Whether a ByteLevel at the end writes the characters of its alphabet, or
// leaves their bytes to a model that takes them.
enum class ByteLevelEnd { characters, bytes };

// Whether the last step of the pre-tokenizer is the only ByteLevel in it.
bool ends_with_byte_level(const JsonPart& part);

// The pre-tokenizer of a tokenizer.json; null if it has none. Errors: bad_data;
// unsupported, with the type.
Result<std::unique_ptr<PreTokenizer>> read_pre_tokenizer(const JsonPart& part,
                                                         ByteLevelEnd end);

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
