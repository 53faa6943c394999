#include "tokenizer/sentencepiece_normalizer.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tokenizer/base64.h"
#include "tokenizer/chars_map.h"
#include "tokenizer/literal_search.h"
#include "unicode/characters.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

constexpr std::string_view kWordMark = "\u2581";

// Writes the normalised text. Spaces wait until something else comes, for those
// at the end may have to go.
class SpacedText {
 public:
  SpacedText(std::string_view space, AlignedText& text)
      : space_(space), text_(text) {}

  void add_space(Span from) { waiting_.push_back(from); }
  void add(std::string_view bytes, Span from) {
    while (!bytes.empty()) {
      const std::size_t space = bytes.starts_with(' ')      ? 1
                                : bytes.starts_with(space_) ? space_.size()
                                                            : 0;
      if (space > 0) {
        add_space(from);
        bytes.remove_prefix(space);
        continue;
      }
      write_spaces();
      const std::size_t size = first_character(bytes).bytes;
      text_.append(bytes.substr(0, size), from);
      bytes.remove_prefix(size);
    }
  }
  void write_spaces() {
    for (const Span& from : waiting_) {
      text_.append(space_, from);
    }
    waiting_.clear();
  }
  void drop_spaces() { waiting_.clear(); }

 private:
  std::string_view space_;
  AlignedText& text_;
  std::vector<Span> waiting_;  // what each space came from
};

class SentencePieceNormalizer : public Normalizer {
 public:
  static Result<std::unique_ptr<Normalizer>> read(const JsonPart& part);

  Result<bool> apply(const AlignedText& text,
                     AlignedText& result) const override;

 private:
  // The beginning of a text, and what becomes of it.
  struct Step {
    std::size_t bytes = 0;
    std::string_view with;
  };
  // From left to right.
  class Steps {
   public:
    Steps(const SentencePieceNormalizer& rules, std::string_view text)
        : rules_(rules), text_(text) {}
    Step at(std::size_t at);

   private:
    const SentencePieceNormalizer& rules_;
    std::string_view text_;
    std::optional<LiteralSearch::Found> symbol_;  // the next one
    bool searched_ = false;
  };

  std::optional<CharsMap> chars_map_;
  LiteralSearch symbols_;
  bool has_symbols_ = false;
  bool add_dummy_prefix_ = true;
  bool remove_extra_ = true;
  bool escape_ = true;
  bool as_suffix_ = false;
};

Result<std::unique_ptr<Normalizer>> SentencePieceNormalizer::read(
    const JsonPart& part) {
  auto made = std::make_unique<SentencePieceNormalizer>();
  HEADWISE_TRY(part.get("add_dummy_prefix", made->add_dummy_prefix_));
  HEADWISE_TRY(part.get("remove_extra_whitespaces", made->remove_extra_));
  HEADWISE_TRY(part.get("escape_whitespaces", made->escape_));
  HEADWISE_TRY(part.get("treat_whitespace_as_suffix", made->as_suffix_));
  constexpr std::string_view kCharsMap = "precompiled_charsmap";
  std::optional<std::string> encoded;
  HEADWISE_TRY(part.get(kCharsMap, encoded));
  if (encoded) {
    const auto bytes = decode_base64(*encoded);
    if (!bytes) {
      return part.unexpected(kCharsMap, "base64");
    }
    HEADWISE_ASSIGN(made->chars_map_,
                    CharsMap::make(*bytes, part.at(kCharsMap)));
  }
  constexpr std::string_view kSymbols = "user_defined_symbols";
  std::vector<std::string> symbols;
  const JsonPart list = part.at(kSymbols);
  if (list.exists() && !list.json().get(symbols)) {
    return part.unexpected(kSymbols, "a list of texts");
  }
  made->has_symbols_ = !symbols.empty();
  made->symbols_ = LiteralSearch(std::move(symbols));
  return Result<std::unique_ptr<Normalizer>>(std::move(made));
}

SentencePieceNormalizer::Step SentencePieceNormalizer::Steps::at(
    std::size_t at) {
  if (rules_.has_symbols_) {
    if (!searched_ || (symbol_ && symbol_->begin < at)) {
      symbol_ = rules_.symbols_.find(text_, at);
      searched_ = true;
    }
    if (symbol_ && symbol_->begin == at) {
      const std::size_t bytes = symbol_->end - at;
      return {bytes, text_.substr(at, bytes)};
    }
  }
  const std::string_view rest = text_.substr(at);
  if (rules_.chars_map_) {
    if (const auto match = rules_.chars_map_->longest(rest)) {
      return {match->bytes, match->replacement};
    }
  }
  const std::size_t bytes = first_character(rest).bytes;
  return {bytes, rest.substr(0, bytes)};
}

Result<bool> SentencePieceNormalizer::apply(const AlignedText& text,
                                            AlignedText& result) const {
  const std::size_t size = text.text().size();
  std::size_t at = 0;
  Steps steps(*this, text.text());
  Step step;
  for (; at < size; at += step.bytes) {
    step = steps.at(at);
    if (!remove_extra_ || step.with != " ") {
      break;
    }
  }
  if (size == 0) {
    return false;
  }
  result.start(text);
  if (at == size) {
    return true;
  }
  SpacedText normal(escape_ ? kWordMark : " ", result);
  if (add_dummy_prefix_ && !as_suffix_) {
    const std::uint32_t begin = text.from(at, at + 1).begin;
    normal.add_space({begin, begin});
  }
  for (bool after_space = remove_extra_; at < size; at += step.bytes) {
    step = steps.at(at);
    std::string_view with = step.with;
    while (after_space && with.starts_with(' ')) {
      with.remove_prefix(1);
    }
    normal.add(with, text.from(at, at + step.bytes));
    if (!with.empty()) {
      after_space = remove_extra_ && with.ends_with(' ');
    }
  }
  if (remove_extra_) {
    normal.drop_spaces();
  }
  if (add_dummy_prefix_ && as_suffix_) {
    const std::uint32_t end = text.from(size - 1, size).end;
    normal.add_space({end, end});
  }
  normal.write_spaces();
  return true;
}

}  // namespace

Result<std::unique_ptr<Normalizer>> read_sentencepiece_normalizer(
    const JsonPart& part) {
  return SentencePieceNormalizer::read(part);
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
