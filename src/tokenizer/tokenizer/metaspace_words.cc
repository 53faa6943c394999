#include "tokenizer/metaspace_words.h"

#include <algorithm>
#include <string>

#include "tokenizer/shared_keys.h"
#include "tokenizer/split.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

class MetaspaceWords : public PreTokenizer {
 public:
  MetaspaceWords(char32_t replacement, PrependScheme scheme, bool split)
      : replacement_(replacement), scheme_(scheme), split_(split) {
    append_character(spelled_, replacement);
  }

  Status apply(PieceList& pieces) const override {
    AlignedText& changed = pieces.start_changed();
    for (const Piece& piece : pieces.pieces()) {
      put(piece, pieces, changed);
    }
    pieces.exchange_texts();
    if (split_) {
      split_characters(pieces, SplitBehavior::merged_with_next,
                       [&](char32_t code) { return code == replacement_; });
    }
    return ok();
  }

 private:
  void put(const Piece& piece, PieceList& pieces, AlignedText& changed) const {
    const AlignedText& source = pieces.text();
    const std::string_view text = source.text();
    const std::size_t begin = changed.text().size();
    const bool has_one =
        text[piece.begin] == ' ' || pieces.view(piece).starts_with(spelled_);
    if (!has_one && (scheme_ == PrependScheme::always ||
                     (scheme_ == PrependScheme::first &&
                      source.from(piece.begin, piece.begin + 1).begin == 0))) {
      changed.append(spelled_, source.from(piece.begin, piece.begin + 1));
    }
    for (std::size_t at = piece.begin; at < piece.end;) {
      const std::size_t space =
          std::min<std::size_t>(text.find(' ', at), piece.end);
      changed.append(source, at, space);
      at = space;
      if (at < piece.end) {
        changed.append(spelled_, source.from(at, at + 1));
        ++at;
      }
    }
    pieces.keep_changed(begin);
  }

  char32_t replacement_;
  std::string spelled_;  // the replacement in UTF-8
  PrependScheme scheme_;
  bool split_;
};

}  // namespace

Result<std::unique_ptr<PreTokenizer>> read_metaspace_words(
    const JsonPart& part) {
  HEADWISE_ASSIGN(const auto keys, read_metaspace(part));
  return std::unique_ptr<PreTokenizer>(std::make_unique<MetaspaceWords>(
      keys.replacement, keys.scheme, keys.split));
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
