#include "tokenizer/byte_level_words.h"

#include "patterns/known_patterns.h"
#include "tokenizer/shared_keys.h"
#include "tokenizer/split.h"
#include "unicode/byte_alphabet.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

// Writes a piece behind `prefix`, which comes from where its first character
// comes from.
void put_with_prefix(std::string_view prefix, const Piece& piece,
                     PieceList& pieces, AlignedText& changed) {
  const AlignedText& text = pieces.text();
  const std::size_t begin = changed.text().size();
  changed.append(prefix, text.from(piece.begin, piece.begin + 1));
  changed.append(text, piece.begin, piece.end);
  pieces.keep_changed(begin);
}

void put_prefix_spaces(PieceList& pieces) {
  AlignedText& changed = pieces.start_changed();
  for (const Piece& piece : pieces.pieces()) {
    put_with_prefix(pieces.view(piece).front() == ' ' ? "" : " ", piece, pieces,
                    changed);
  }
  pieces.exchange_texts();
}

void put_alphabet(PieceList& pieces) {
  AlignedText& changed = pieces.start_changed();
  for (const Piece& piece : pieces.pieces()) {
    const std::size_t begin = changed.text().size();
    for (std::uint32_t at = piece.begin; at < piece.end; ++at) {
      const char byte = pieces.text().text()[at];
      changed.append(byte_character(static_cast<unsigned char>(byte)),
                     pieces.text().from(at, at + 1));
    }
    pieces.keep_changed(begin);
  }
  pieces.exchange_texts();
}

class ByteLevelWords : public PreTokenizer {
 public:
  ByteLevelWords(bool add_prefix_space, bool use_regex, ByteLevelEnd end)
      : add_prefix_space_(add_prefix_space), use_regex_(use_regex), end_(end) {}

  Status apply(PieceList& pieces) const override {
    if (add_prefix_space_) {
      put_prefix_spaces(pieces);
    }
    if (use_regex_) {
      static const KnownPattern find = known_pattern(kGpt2Expression);
      std::vector<Match>& matches = pieces.matches();
      for (const Piece& piece : pieces.pieces()) {
        matches.clear();
        find(pieces.view(piece), matches);
        split_at(matches, SplitBehavior::isolated, /*invert=*/false, piece,
                 pieces);
      }
      pieces.exchange_pieces();
    }
    if (end_ == ByteLevelEnd::characters) {
      put_alphabet(pieces);
    }
    return ok();
  }

 private:
  bool add_prefix_space_;
  bool use_regex_;
  ByteLevelEnd end_;
};

}  // namespace

Result<std::unique_ptr<PreTokenizer>> read_byte_level_words(
    const JsonPart& part, ByteLevelEnd end) {
  HEADWISE_ASSIGN(const auto keys, read_byte_level(part));
  return std::unique_ptr<PreTokenizer>(std::make_unique<ByteLevelWords>(
      keys.add_prefix_space, keys.use_regex, end));
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
