// SentencePiece's pieces to text, without their bytes: ByteFallback comes next.
// Keys: unk_token, and unk_surface, what it becomes; strip_space (true),
// whether the space in front of the text goes; strip_spaces (false), whether
// those of all its first pieces go.
#include <string_view>
#include <utility>

#include "tokenizer/decoder.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

struct SentencePieceDecoder {
  std::string unknown{};
  std::string surface{};
  bool strip_space = true;
  bool strip_spaces = false;
  bool at_start = true;

  Status operator()(std::vector<std::string>& tokens, Next& /*next*/) {
    for (std::string& token : tokens) {
      token = token == unknown ? surface : text_of(token);
      at_start = at_start && token.empty();
    }
    return ok();
  }

  std::string text_of(std::string_view piece) {
    constexpr std::string_view kMark = "\u2581";
    if (at_start && strip_space && piece.starts_with(kMark)) {
      piece.remove_prefix(kMark.size());
      at_start = strip_spaces;
    }
    std::string text;
    for (std::size_t at = piece.find(kMark); at != std::string_view::npos;
         at = piece.find(kMark)) {
      text.append(piece.substr(0, at)).append(" ");
      piece.remove_prefix(at + kMark.size());
    }
    return text.append(piece);
  }
};

}  // namespace

Result<DecoderStep> read_sentencepiece_decoder(const JsonPart& part) {
  SentencePieceDecoder decoder;
  HEADWISE_TRY(part.require("unk_token", decoder.unknown));
  HEADWISE_TRY(part.require("unk_surface", decoder.surface));
  HEADWISE_TRY(part.get("strip_space", decoder.strip_space));
  HEADWISE_TRY(part.get("strip_spaces", decoder.strip_spaces));
  return with_whole_tokens(std::move(decoder));
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
