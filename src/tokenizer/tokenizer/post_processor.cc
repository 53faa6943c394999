#include "tokenizer/post_processor.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "tokenizer/offset_trim.h"
#include "tokenizer/truncation.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

// A text and its parts, of which the first one is kept.
struct CutText {
  EncodedText from;
  std::vector<TokenRange> parts;
};

// For each text of a template, in its order, the number of a part.
using PartChoice = std::vector<std::size_t>;

template <class T>
void append_range(std::vector<T>& into, const std::vector<T>& from,
                  TokenRange range) {
  into.insert(into.end(),
              from.begin() + static_cast<std::ptrdiff_t>(range.begin),
              from.begin() + static_cast<std::ptrdiff_t>(range.end));
}

class Assembly {
 public:
  Assembly(const PostProcessor& post, const TokenTexts& token_text,
           std::vector<CutText> texts, bool adds_tokens)
      : post_(post),
        template_(texts.size() == 1 ? post.single : post.pair),
        token_text_(token_text),
        texts_(std::move(texts)),
        adds_tokens_(adds_tokens) {}

  Encoding run() {
    PartChoice kept;
    std::vector<PartChoice> others;
    for (const TemplatePiece& piece : template_) {
      if (piece.sequence >= 0) {
        others = with_parts(others, kept, text_of(piece).parts.size());
        kept.push_back(0);
      }
    }
    Encoding encoding = assemble(kept);
    for (const PartChoice& choice : others) {
      encoding.overflowing.push_back(assemble(choice));
    }
    for (const CutText& text : texts_) {
      encoding.cut += text.from.encoding.size() - text.parts[0].size();
    }
    return encoding;
  }

 private:
  const CutText& text_of(const TemplatePiece& piece) const {
    return texts_[static_cast<std::size_t>(piece.sequence)];
  }

  // The choices with another text, which has `count` parts. All together, but
  // for the kept ones, each with each.
  static std::vector<PartChoice> with_parts(
      const std::vector<PartChoice>& others, const PartChoice& kept,
      std::size_t count) {
    std::vector<PartChoice> choices;
    const auto add = [&](PartChoice choice, std::size_t part) {
      choice.push_back(part);
      choices.push_back(std::move(choice));
    };
    for (const PartChoice& choice : others) {
      for (std::size_t part = 0; part < count; ++part) {
        add(choice, part);
      }
    }
    for (std::size_t part = 1; part < count; ++part) {
      add(kept, part);
    }
    return choices;
  }

  Encoding assemble(const PartChoice& choice) const {
    Encoding encoding;
    const auto reserve = [size = size_of(choice)](auto&... lists) {
      (lists.reserve(size), ...);
    };
    reserve(encoding.ids, encoding.offsets, encoding.words,
            encoding.token_types, encoding.sequences);
    auto part = choice.begin();
    for (const TemplatePiece& piece : template_) {
      if (piece.sequence >= 0) {
        append_text(encoding, text_of(piece).from,
                    text_of(piece).parts[*part++]);
      } else if (adds_tokens_) {
        append_range(encoding.ids, piece.added, {0, piece.added.size()});
        encoding.offsets.resize(encoding.size());
        encoding.words.resize(encoding.size(), -1);
      }
      encoding.token_types.resize(encoding.size(), piece.type);
      encoding.sequences.resize(encoding.size(), piece.sequence);
    }
    return encoding;
  }

  std::size_t size_of(const PartChoice& choice) const {
    std::size_t size = 0;
    auto part = choice.begin();
    for (const TemplatePiece& piece : template_) {
      size += piece.sequence < 0 ? piece.added.size()
                                 : text_of(piece).parts[*part++].size();
    }
    return size;
  }

  void append_text(Encoding& encoding, const EncodedText& from,
                   TokenRange range) const {
    const std::size_t begin = encoding.size();
    append_range(encoding.ids, from.encoding.ids, range);
    append_range(encoding.offsets, from.encoding.offsets, range);
    append_range(encoding.words, from.encoding.words, range);
    for (const bool is_prefixed : post_.trims_for_prefix_space) {
      for (std::size_t t = begin; t < encoding.size(); ++t) {
        ByteSpan& span = encoding.offsets[t];
        const bool is_first = t == begin || span.begin == 0;
        const ByteSpan& whole = from.encoding.offsets[range.begin + t - begin];
        trim_offsets(
            from.text,
            token_text_(encoding.ids[t],
                        from.text.substr(whole.begin, whole.end - whole.begin)),
            is_prefixed && is_first, span);
      }
    }
  }

  const PostProcessor& post_;
  const EncodingTemplate& template_;
  const TokenTexts& token_text_;
  std::vector<CutText> texts_;
  bool adds_tokens_;
};

std::size_t tokens_added(const EncodingTemplate& pieces) {
  std::size_t count = 0;
  for (const TemplatePiece& piece : pieces) {
    count += piece.added.size();
  }
  return count;
}

Status cut_texts(std::string_view operation, const Truncation& truncation,
                 std::size_t added, std::vector<CutText>& texts) {
  const auto size = [&](std::size_t n) {
    return texts[n].from.encoding.size();
  };
  const bool is_pair = texts.size() == 2;
  HEADWISE_ASSIGN(
      const KeptTokens kept,
      kept_tokens(operation, truncation, size(0),
                  is_pair ? std::optional(size(1)) : std::nullopt, added));
  for (std::size_t n = 0; n < texts.size(); ++n) {
    HEADWISE_ASSIGN(texts[n].parts,
                    token_parts(operation, truncation, size(n),
                                n == 0 ? kept.first : kept.second));
  }
  return ok();
}

}  // namespace

Result<Encoding> finish_encoding(const PostProcessor* post,
                                 std::string_view operation, EncodedText first,
                                 std::optional<EncodedText> second,
                                 const TokenTexts& token_text,
                                 const EncodeOptions& options) {
  static const PostProcessor none;
  const PostProcessor& processor = post != nullptr ? *post : none;
  std::vector<CutText> texts;
  const auto add = [&](EncodedText text) {
    const std::size_t size = text.encoding.size();
    texts.push_back({std::move(text), {{0, size}}});
  };
  add(std::move(first));
  if (second) {
    add(*std::move(second));
  }
  if (options.truncation) {
    const std::size_t added =
        options.add_special_tokens
            ? tokens_added(texts.size() == 1 ? processor.single
                                             : processor.pair)
            : 0;
    HEADWISE_TRY(cut_texts(operation, *options.truncation, added, texts));
  }
  return Assembly(processor, token_text, std::move(texts),
                  options.add_special_tokens)
      .run();
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
