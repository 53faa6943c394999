// The second step of a text: pre-tokenizers split it into words.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/version.h"
#include "interop/json_part.h"
#include "patterns/pattern.h"
#include "tokenizer/aligned_text.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

// The bytes [begin, end) of a text.
struct Piece {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
};

// What becomes of the matches in a piece.
enum class SplitBehavior {
  removed,
  isolated,              // pieces of their own
  merged_with_previous,  // each ends the piece before it
  merged_with_next,      // each begins the piece behind it
  contiguous             // pieces of their own, adjacent ones as one
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

  // Writes the matches in a text, from left to right, to an empty list.
  using Find = std::function<Status(std::string_view, std::vector<Match>&)>;
  // Splits every piece. `invert`: what lies between the matches matches.
  Status split(const Find& find, SplitBehavior behavior, bool invert);

  // Appends to the text what becomes of a piece of the source.
  using Put = std::function<void(const AlignedText&, Piece, AlignedText&)>;
  // Changes the text of every piece.
  void change(const Put& put);

 private:
  void split_at_matches(const Piece& piece, SplitBehavior behavior,
                        bool invert);
  // Adds bytes [begin, end) to the next pieces, if there are any.
  void keep(std::size_t begin, std::size_t end);

  const AlignedText* text_ = nullptr;
  std::array<AlignedText, 2> spares_;  // one of them may be the text
  std::vector<Piece> pieces_;
  std::vector<Piece> next_;
  std::vector<Match> matches_;
};

class PreTokenizer {
 public:
  using Step = std::function<Status(PieceList&)>;
  PreTokenizer() = default;
  PreTokenizer(std::vector<Step> steps, bool ends_with_alphabet)
      : steps_(std::move(steps)), ends_with_alphabet_(ends_with_alphabet) {}

  // Splits each piece. May be called by several threads at once. Errors: a
  // regular expression that reached its limits.
  Status apply(PieceList& pieces) const;
  // For a model that takes bytes: a ByteLevel at the end that is the only one
  // leaves them instead of the characters of its alphabet. False if there is
  // none.
  bool leave_bytes();

 private:
  std::vector<Step> steps_;
  bool ends_with_alphabet_ = false;
};

// The pre-tokenizer of a tokenizer.json; without one a text is a word. Errors:
// bad_data; unsupported, with the type.
Result<PreTokenizer> read_pre_tokenizer(const JsonPart& part);

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
