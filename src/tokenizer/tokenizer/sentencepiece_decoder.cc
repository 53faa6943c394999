#include "tokenizer/sentencepiece_decoder.h"

#include <string>
#include <string_view>
#include <utility>

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

struct PieceTexts {
  std::string unknown;
  std::string unknown_surface;
  bool strip_space = true;
  bool strip_spaces = false;
};

class SentencePieceStep final : public WholeTokenStep {
 public:
  explicit SentencePieceStep(PieceTexts texts) : texts_(std::move(texts)) {}

  std::unique_ptr<DecoderStep> copy() const override {
    return std::make_unique<SentencePieceStep>(*this);
  }

 private:
  Status change(std::vector<std::string>& tokens, Next& /*next*/) override {
    for (std::string& token : tokens) {
      token = token == texts_.unknown ? texts_.unknown_surface : text_of(token);
      at_start_ = at_start_ && token.empty();
    }
    return ok();
  }

  std::string text_of(std::string_view piece) {
    constexpr std::string_view kMark = "\u2581";
    if (at_start_ && texts_.strip_space && piece.starts_with(kMark)) {
      piece.remove_prefix(kMark.size());
      at_start_ = texts_.strip_spaces;
    }
    std::string text;
    for (std::size_t at = piece.find(kMark); at != std::string_view::npos;
         at = piece.find(kMark)) {
      text.append(piece.substr(0, at)).append(" ");
      piece.remove_prefix(at + kMark.size());
    }
    return text.append(piece);
  }

  PieceTexts texts_;
  bool at_start_ = true;
};

}  // namespace

Result<std::unique_ptr<DecoderStep>> read_sentencepiece_step(
    const JsonPart& part) {
  PieceTexts texts;
  HEADWISE_TRY(part.require("unk_token", texts.unknown));
  HEADWISE_TRY(part.require("unk_surface", texts.unknown_surface));
  HEADWISE_TRY(part.get("strip_space", texts.strip_space));
  HEADWISE_TRY(part.get("strip_spaces", texts.strip_spaces));
  return Result<std::unique_ptr<DecoderStep>>(
      std::make_unique<SentencePieceStep>(std::move(texts)));
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
