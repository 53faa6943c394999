#include "tokenizer/pattern_words.h"

#include <string>
#include <utility>

#include "tokenizer/split.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

class SplitWords : public PreTokenizer {
 public:
  SplitWords(Pattern pattern, SplitBehavior behavior, bool invert)
      : pattern_(std::move(pattern)), behavior_(behavior), invert_(invert) {}

  Status apply(PieceList& pieces) const override {
    std::vector<Match>& matches = pieces.matches();
    for (const Piece& piece : pieces.pieces()) {
      HEADWISE_TRY(pattern_.find(pieces.view(piece), matches));
      split_at(matches, behavior_, invert_, piece, pieces);
    }
    pieces.exchange_pieces();
    return ok();
  }

 private:
  Pattern pattern_;
  SplitBehavior behavior_;
  bool invert_;
};

}  // namespace

Result<Pattern> read_pattern(const JsonPart& part) {
  const JsonPart pattern = part.at("pattern");
  if (!pattern.exists()) {
    return part.missing("pattern");
  }
  std::string text;
  if (pattern.at("String").exists()) {
    HEADWISE_TRY(pattern.get("String", text));
    return Pattern::literal(text);
  }
  HEADWISE_TRY(pattern.require("Regex", text));
  auto compiled = Pattern::compile(text);
  if (!compiled) {
    return pattern.subject()
        .of_entry(pattern.path() + ".Regex")
        .blame_here(compiled.error());
  }
  return compiled;
}

Result<std::unique_ptr<PreTokenizer>> read_split_words(const JsonPart& part) {
  HEADWISE_ASSIGN(auto pattern, read_pattern(part));
  std::size_t behavior = 0;
  HEADWISE_TRY(part.require("behavior", kSplitBehaviors, behavior));
  bool invert = false;
  HEADWISE_TRY(part.require("invert", invert));
  return std::unique_ptr<PreTokenizer>(std::make_unique<SplitWords>(
      std::move(pattern), static_cast<SplitBehavior>(behavior), invert));
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
