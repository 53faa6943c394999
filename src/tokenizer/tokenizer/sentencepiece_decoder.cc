// SentencePiece's pieces to text, without their bytes: ByteFallback comes next.
// Keys: unk_token, and unk_surface, what it becomes; strip_space (true),
// whether the space in front of the text goes; strip_spaces (false), whether
// those of all its first pieces go.
#include <string_view>

#include "tokenizer/decoder.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

constexpr std::string_view kSpaceMark = "\u2581";

std::string with_spaces(std::string_view piece) {
  std::string text;
  for (std::size_t at = 0; (at = piece.find(kSpaceMark)) != piece.npos;) {
    text.append(piece.substr(0, at)).append(" ");
    piece.remove_prefix(at + kSpaceMark.size());
  }
  return text.append(piece);
}

}  // namespace

Result<DecoderStep> read_sentencepiece_decoder(const JsonPart& part) {
  std::string unknown;
  std::string surface;
  bool strip_space = true;
  bool strip_spaces = false;
  HEADWISE_TRY(part.require("unk_token", unknown));
  HEADWISE_TRY(part.require("unk_surface", surface));
  HEADWISE_TRY(part.get("strip_space", strip_space));
  HEADWISE_TRY(part.get("strip_spaces", strip_spaces));
  return with_whole_tokens(
      [=, strips = strip_space](std::vector<std::string>& tokens,
                                Next& /*next*/) mutable {
        for (std::string& token : tokens) {
          const bool is_known = token != unknown;
          if (is_known && strips && token.starts_with(kSpaceMark)) {
            token.erase(0, kSpaceMark.size());
            strips = strip_spaces;
          }
          token = is_known ? with_spaces(token) : surface;
          strips = strips && token.empty();
        }
        return ok();
      });
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
