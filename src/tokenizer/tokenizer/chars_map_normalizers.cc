// Precompiled and SentencePiece: both replace texts by SentencePiece's table.
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tokenizer/chars_map.h"
#include "tokenizer/literal_search.h"
#include "tokenizer/normalizer.h"
#include "unicode/character_traits.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

// Writes parts of a text that are replaced or kept. Adjacent replacements are
// one change of characters, as in the reference.
class PrecompiledWriter {
 public:
  explicit PrecompiledWriter(TextEdit& edit) : edit_(edit) {}

  void keep(std::string_view part) {
    flush();
    if (is_late_) {
      for_each_character(part, [&](char32_t code, auto...) {
        pieces_.push_back({code, 0, 0});
      });
    }
  }

  void replace(std::size_t begin, std::size_t end, std::string_view with) {
    if (pieces_.empty() && !is_late_) {
      edit_.drop(begin, begin);
    }
    int left = 0;
    for_each_character(edit_.text().substr(begin, end - begin),
                       [&](auto...) { ++left; });
    for_each_character(with, [&](char32_t code, auto...) {
      pieces_.push_back({code, left-- > 0 ? 0 : 1, 0});
    });
    if (left <= 0) {
      return;
    }
    // What is left goes with the last character, of an earlier part if need be.
    // At the begin of a text there is none: the reference goes on, and all that
    // follows comes from too early a place.
    if (!pieces_.empty()) {
      pieces_.back().change -= left;
    } else if (begin == 0 || is_late_) {
      is_late_ = true;
    } else {
      edit_.drop(begin, end);
    }
  }

  void finish() {
    flush();
    if (is_late_) {
      edit_.drop_rest();
    }
  }

 private:
  void flush() {
    for (const NormalPiece& piece : pieces_) {
      edit_.put_changed(piece.code, piece.change);
    }
    pieces_.clear();
  }

  TextEdit& edit_;
  bool is_late_ = false;
  std::vector<NormalPiece> pieces_;  // not written yet
};

// The table is applied to grapheme clusters of fewer than 6 bytes as a whole,
// to longer ones by character.
class PrecompiledNormalizer {
 public:
  explicit PrecompiledNormalizer(CharsMap map) : map_(std::move(map)) {
    for (std::size_t byte = 0x20; byte < 0x7F; ++byte) {
      const auto character = static_cast<char>(byte);
      kept_[byte] = !map_.first({&character, 1});
    }
  }

  Status operator()(TextEdit& edit) const {
    const std::string_view text = edit.text();
    const auto is_kept_ascii = [&](std::size_t at) {
      return at == text.size() || kept_[static_cast<unsigned char>(text[at])];
    };
    PrecompiledWriter writer(edit);
    for (std::size_t at = 0; at < text.size();) {
      std::size_t end = at;
      while (end < text.size() && is_kept_ascii(end) &&
             is_kept_ascii(end + 1)) {
        ++end;
      }
      if (end > at) {
        writer.keep(text.substr(at, end - at));
      } else {
        end = at + first_grapheme(text.substr(at));
        put_cluster(text, at, end, writer);
      }
      at = end;
    }
    writer.finish();
    return ok();
  }

 private:
  static constexpr std::size_t kLongCluster = 6;

  void put_cluster(std::string_view text, std::size_t begin, std::size_t end,
                   PrecompiledWriter& writer) const {
    const std::string_view cluster = text.substr(begin, end - begin);
    if (cluster.size() < kLongCluster) {
      if (const auto match = map_.first(cluster)) {
        writer.replace(begin, end, match->replacement);
        return;
      }
    }
    for_each_character(cluster, [&](char32_t, std::size_t at, std::size_t to) {
      const std::string_view character = cluster.substr(at, to - at);
      if (const auto match = map_.first(character)) {
        writer.replace(begin + at, begin + to, match->replacement);
      } else {
        writer.keep(character);
      }
    });
  }

  CharsMap map_;
  std::array<bool, 256> kept_{};  // of ASCII
};

void put_spaced(std::string_view with, std::string_view space, Span from,
                TextEdit& edit) {
  for (std::size_t at = with.find(' '); at != std::string_view::npos;
       at = with.find(' ')) {
    edit.put(with.substr(0, at), from);
    edit.put(space, from);
    with.remove_prefix(at + 1);
  }
  edit.put(with, from);
}

// What SentencePiece does to a text before it looks for pieces: the longest
// texts of its table are replaced, from left to right, white space becomes
// U+2581, one is added in front, and repeated ones are removed.
struct SentencePieceNormalizer {
  CharsMap chars_map{};
  LiteralSearch symbols{};
  bool add_dummy_prefix = true;
  bool remove_extra = true;
  bool escape = true;
  bool as_suffix = false;

  Status operator()(TextEdit& edit) const {
    const std::string_view text = edit.text();
    const std::string_view space = escape ? kWordBoundary : " ";
    bool is_begun = false;
    bool after_space = remove_extra;
    std::optional<LiteralSearch::Found> symbol = symbols.find(text, 0);
    CharsMap::Match step;
    for (std::size_t at = 0; at < text.size(); at += step.bytes) {
      step = first(text, at, symbol);
      const Span from = edit.source().from(at, at + step.bytes);
      edit.drop(at, at + step.bytes);
      if (!is_begun && remove_extra && step.replacement == " ") {
        continue;
      }
      if (!is_begun && add_dummy_prefix && !as_suffix) {
        edit.put(space, {from.begin, from.begin});
      }
      is_begun = true;
      std::string_view with = step.replacement;
      while (after_space && with.starts_with(' ')) {
        with.remove_prefix(1);
      }
      after_space =
          with.empty() ? after_space : remove_extra && with.ends_with(' ');
      put_spaced(with, space, from, edit);
    }
    if (is_begun && remove_extra) {
      edit.drop_end(space);
    }
    if (is_begun && add_dummy_prefix && as_suffix) {
      const std::uint32_t end =
          edit.source().from(text.size() - 1, text.size()).end;
      edit.put(space, {end, end});
    }
    return ok();
  }

  // The beginning of `text`, and what becomes of it. `symbol` is the first one
  // behind the text before.
  CharsMap::Match first(std::string_view text, std::size_t at,
                        std::optional<LiteralSearch::Found>& symbol) const {
    if (symbol && symbol->begin < at) {
      symbol = symbols.find(text, at);
    }
    const std::string_view rest = text.substr(at);
    if (symbol && symbol->begin == at) {
      const std::size_t bytes = symbol->end - at;
      return {bytes, rest.substr(0, bytes)};
    }
    if (const auto match = chars_map.longest(rest)) {
      return *match;
    }
    const std::size_t bytes = first_character(rest).bytes;
    return {bytes, rest.substr(0, bytes)};
  }
};

}  // namespace

Result<NormalizerStep> read_precompiled_normalizer(const JsonPart& part) {
  if (!part.at(kCharsMapKey).exists()) {
    return part.missing(kCharsMapKey);
  }
  HEADWISE_ASSIGN(CharsMap map, CharsMap::read(part));
  return NormalizerStep(PrecompiledNormalizer(std::move(map)));
}

// No tokenizer.json has it; files of SentencePiece are read to it. Keys:
//   precompiled_charsmap (null), in base64; add_dummy_prefix,
//   remove_extra_whitespaces, escape_whitespaces (true);
//   treat_whitespace_as_suffix (false): the prefix becomes a suffix;
//   user_defined_symbols ([]), which stay as they are
Result<NormalizerStep> read_sentencepiece_normalizer(const JsonPart& part) {
  SentencePieceNormalizer made;
  HEADWISE_TRY(part.get("add_dummy_prefix", made.add_dummy_prefix));
  HEADWISE_TRY(part.get("remove_extra_whitespaces", made.remove_extra));
  HEADWISE_TRY(part.get("escape_whitespaces", made.escape));
  HEADWISE_TRY(part.get("treat_whitespace_as_suffix", made.as_suffix));
  HEADWISE_ASSIGN(made.chars_map, CharsMap::read(part));
  std::vector<std::string> symbols;
  const JsonPart list = part.at("user_defined_symbols");
  if (list.exists() && !list.json().get(symbols)) {
    return part.unexpected("user_defined_symbols", "a list of texts");
  }
  made.symbols = LiteralSearch(std::move(symbols));
  return NormalizerStep(std::move(made));
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
