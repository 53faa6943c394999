#include "tokenizer/character_words.h"

#include <optional>
#include <utility>

#include "tokenizer/split.h"
#include "unicode/character_class.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

using MadeWords = Result<std::unique_ptr<PreTokenizer>>;

// A pre-tokenizer that is one function.
template <class Split>
class WordsBy : public PreTokenizer {
 public:
  explicit WordsBy(Split split) : split_(std::move(split)) {}

  Status apply(PieceList& pieces) const override {
    split_(pieces);
    return ok();
  }

 private:
  Split split_;
};

template <class Split>
MadeWords words_by(Split split) {
  return MadeWords(std::make_unique<WordsBy<Split>>(std::move(split)));
}

// Splits each piece at the bytes of it that `cut_at` gives, from 0 to its size.
template <class CutAt>
void cut_pieces(PieceList& pieces, const CutAt& cut_at) {
  for (const Piece& piece : pieces.pieces()) {
    std::optional<std::uint32_t> begin;
    cut_at(pieces.view(piece), [&](std::uint32_t at) {
      if (begin) {
        pieces.keep(piece.begin + *begin, piece.begin + at);
      }
      begin = at;
    });
  }
  pieces.exchange_pieces();
}

template <class Cut>
void cut_at_scripts(std::string_view text, const Cut& cut) {
  std::optional<unsigned> last;
  for (std::uint32_t at = 0; at < text.size();) {
    const Character character = first_character(text.substr(at));
    const unsigned script = script_class(character.code);
    if (script != 0) {
      if (script != last) {
        cut(at);
      }
      last = script;
    }
    at += character.bytes;
  }
  cut(static_cast<std::uint32_t>(text.size()));
}

template <class Cut>
void cut_at_length(std::string_view text, std::size_t length, const Cut& cut) {
  std::size_t characters = 0;
  for (std::uint32_t at = 0; at < text.size();) {
    if (characters++ % length == 0) {
      cut(at);
    }
    at += first_character(text.substr(at)).bytes;
  }
  cut(static_cast<std::uint32_t>(text.size()));
}

}  // namespace

MadeWords read_bert_words(const JsonPart& /*part*/) {
  return words_by([](PieceList& pieces) {
    split_characters(pieces, SplitBehavior::removed, is_white_space);
    split_characters(pieces, SplitBehavior::isolated, is_punctuation);
  });
}

MadeWords read_spaced_words(const JsonPart& /*part*/) {
  return words_by([](PieceList& pieces) {
    split_characters(pieces, SplitBehavior::removed, is_white_space);
  });
}

MadeWords read_whitespace_words(const JsonPart& /*part*/) {
  return words_by([](PieceList& pieces) {
    split_characters(pieces, SplitBehavior::removed, is_white_space);
    split_characters(pieces, SplitBehavior::contiguous, is_word);
  });
}

MadeWords read_delimited_words(const JsonPart& part) {
  char32_t delimiter = 0;
  HEADWISE_TRY(part.require("delimiter", delimiter));
  return words_by([delimiter](PieceList& pieces) {
    split_characters(pieces, SplitBehavior::removed,
                     [&](char32_t code) { return code == delimiter; });
  });
}

MadeWords read_digit_words(const JsonPart& part) {
  bool individual = false;
  HEADWISE_TRY(part.require("individual_digits", individual));
  const auto behavior =
      individual ? SplitBehavior::isolated : SplitBehavior::contiguous;
  return words_by([behavior](PieceList& pieces) {
    split_characters(pieces, behavior, is_numeric);
  });
}

MadeWords read_punctuation_words(const JsonPart& part) {
  auto behavior = static_cast<std::size_t>(SplitBehavior::isolated);
  HEADWISE_TRY(part.get("behavior", kSplitBehaviors, behavior));
  return words_by([behavior](PieceList& pieces) {
    split_characters(pieces, static_cast<SplitBehavior>(behavior),
                     is_punctuation);
  });
}

MadeWords read_script_words(const JsonPart& /*part*/) {
  return words_by([](PieceList& pieces) {
    cut_pieces(pieces, [](std::string_view text, const auto& cut) {
      cut_at_scripts(text, cut);
    });
  });
}

MadeWords read_fixed_length_words(const JsonPart& part) {
  std::size_t length = 0;
  HEADWISE_TRY(part.require("length", length));
  if (length == 0) {
    return part.unexpected("length", "at least 1");
  }
  return words_by([length](PieceList& pieces) {
    cut_pieces(pieces, [&](std::string_view text, const auto& cut) {
      cut_at_length(text, length, cut);
    });
  });
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
