// Byte pair encoding: the characters of a word, merged pair by pair.
#include <algorithm>
#include <array>

#include "interop/error_text.h"
#include "tokenizer/bpe_merges.h"
#include "unicode/byte_alphabet.h"
#include "unicode/characters.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

using MergedTexts = std::vector<std::pair<std::string, std::string>>;

class BpeModel final : public TokenModel {
 public:
  BpeModel(TokenTable vocabulary, bool byte_level)
      : TokenModel(std::move(vocabulary)), byte_level_(byte_level) {
    for (char32_t code = 0; code < symbols_.size(); ++code) {
      std::string text;
      append_character(text, code);
      symbols_[code] = find(text);
    }
    for (std::size_t byte = 0; byte < spellings_.size(); ++byte) {
      append_character(spellings_[byte],
                       byte_character(static_cast<unsigned char>(byte)));
    }
  }

  Status read(const JsonPart& model, const MergedTexts& texts) {
    std::optional<std::string> unk_token;
    bool byte_fallback = false;
    double dropout = 0;
    HEADWISE_TRY(model.get("dropout", dropout));
    if (static_cast<float>(std::clamp(dropout, -1.0, 1.0)) != 0) {
      return model.unexpected("dropout", "null or 0", ErrorCode::unsupported);
    }
    HEADWISE_TRY(model.get("unk_token", unk_token));
    HEADWISE_TRY(model.get("continuing_subword_prefix", prefix_));
    HEADWISE_TRY(model.get("end_of_word_suffix", suffix_));
    HEADWISE_TRY(model.get("fuse_unk", fuse_unk_));
    HEADWISE_TRY(model.get("byte_fallback", byte_fallback));
    HEADWISE_TRY(model.get("ignore_merges", ignore_merges_));
    if (unk_token) {
      unknown_ = unknown_token(model, *unk_token, vocabulary_);
    }
    byte_tokens_ = byte_fallback ? ByteTokens(vocabulary_) : ByteTokens();
    HEADWISE_ASSIGN(const auto merges, read_merges(model, texts));
    // With other ids, or prefixes, a token may be as long as a part of it.
    merges_ = BpeMerges(merges, !vocabulary_.repeats_ids() && prefix_.empty());
    has_cuts_ = find(kWordBoundary).has_value() && merges_decide(merges);
    for (const auto& [left, right] : texts) {
      if (!left.empty() && right.starts_with(kWordBoundary)) {
        joined_.push_back(last_character(left).code);
      }
    }
    std::ranges::sort(joined_);
    return ok();
  }

  Status encode(std::string_view word, ModelMemory& memory,
                std::vector<ModelToken>& tokens) const override {
    std::string_view text = word;
    if (byte_level_) {  // in the alphabet of the vocabulary
      memory.text.clear();
      for (const char byte : word) {
        memory.text += spellings_[static_cast<unsigned char>(byte)];
      }
      text = memory.text;
    }
    if (ignore_merges_) {
      if (const auto id = find(text)) {
        tokens.push_back({*id, 0, static_cast<std::uint32_t>(word.size())});
        return ok();
      }
    }
    HEADWISE_TRY(add_symbols(text, memory.symbols));
    merges_.apply(memory);
    add_tokens(text, memory.symbols, tokens);
    memory.shrink();
    return ok();
  }

  bool may_cut(char32_t before) const override {
    return has_cuts_ && !std::ranges::binary_search(joined_, before);
  }

 private:
  // In tokens, not texts.
  Result<std::vector<BpeMerge>> read_merges(const JsonPart& model,
                                            const MergedTexts& texts) const {
    std::vector<BpeMerge> merges;
    merges.reserve(texts.size());
    std::vector<std::uint64_t> ranks;
    const JsonPart listed = model.at("merge_ranks");
    if (listed.exists() &&
        !(listed.json().get(ranks) && ranks.size() == texts.size())) {
      return model.unexpected("merge_ranks", "a rank for each merge");
    }
    for (std::size_t n = 0; n < texts.size(); ++n) {
      const std::string& left = texts[n].first;
      const std::string& right = texts[n].second;
      const auto fault = [&](Message expected) {
        return model.subject()
            .of_entry("model.merges[" + std::to_string(n) + "]")
            .bad_data(
                message("joins {} and {}", printable(left), printable(right)),
                std::move(expected));
      };
      // The reference takes off bytes, whatever they are.
      const std::size_t taken = prefix_.size();
      if (right.size() < taken ||
          (right.size() > taken && continues_character(right[taken]))) {
        return fault(
            message("the prefix {} of the second one", printable(prefix_)));
      }
      BpeMerge merge;
      merge.rank = static_cast<std::uint32_t>(ranks.empty() ? n : ranks[n]);
      const std::string merged = left + right.substr(taken);
      for (const auto& [text, id] : {std::pair(&left, &merge.left),
                                     {&right, &merge.right},
                                     {&merged, &merge.merged}}) {
        const auto found = find(*text);
        if (!found) {
          return fault(message("{} in model.vocab", printable(*text)));
        }
        *id = *found;
      }
      merges.push_back(merge);
    }
    return merges;
  }

  // Whether a word's tokens depend on nothing but the merges of its characters.
  // No cuts before characters that may become one unknown token with those
  // before.
  bool merges_decide(const std::vector<BpeMerge>& merges) const {
    const auto has_byte = [&](std::optional<ModelId> id) {
      return std::ranges::find(byte_tokens_.ids, id) != byte_tokens_.ids.end();
    };
    const auto is_text = [&](ModelId id) {
      return !(unknown_ && *unknown_ && **unknown_ == id) && !has_byte(id);
    };
    // Characters that are dropped move the tokens after them.
    const bool drops = !unknown_ && has_byte(std::nullopt);
    return !byte_level_ && prefix_.empty() && suffix_.empty() &&
           !ignore_merges_ && !drops && !vocabulary_.repeats_ids() &&
           std::ranges::all_of(merges, [&](const BpeMerge& merge) {
             return is_text(merge.left) && is_text(merge.right);
           });
  }

  // A character of `text`, as the vocabulary has it there.
  std::string with_affixes(std::string_view text, std::size_t begin,
                           std::size_t size) const {
    const bool last = begin + size == text.size();
    return (begin > 0 ? prefix_ : "") + std::string(text.substr(begin, size)) +
           (last ? suffix_ : "");
  }

  Status add_symbols(std::string_view text,
                     std::vector<BpeSymbol>& symbols) const {
    symbols.clear();
    std::string affixed;
    const bool has_affixes = !prefix_.empty() || !suffix_.empty();
    std::uint32_t unknown_size = 0;  // of unknown characters to be added
    const auto add_unknown = [&] {
      if (unknown_size > 0) {
        symbols.push_back({**unknown_, unknown_size});
        unknown_size = 0;
      }
    };
    for (std::size_t begin = 0; begin < text.size();) {
      const Character character = first_character(text.substr(begin));
      std::string_view bytes = text.substr(begin, character.bytes);
      if (has_affixes) {
        bytes = affixed = with_affixes(text, begin, character.bytes);
      }
      begin += character.bytes;
      if (const auto known = !has_affixes && character.code < symbols_.size()
                                 ? symbols_[character.code]
                                 : find(bytes)) {
        add_unknown();
        symbols.push_back({*known, character.bytes});
      } else if (byte_tokens_.has_all(bytes)) {
        // Before unknown characters in front of it, as in the reference.
        for (const char byte : bytes) {
          symbols.push_back({*byte_tokens_[byte], 1});
        }
      } else if (unknown_) {
        HEADWISE_TRY(*unknown_);
        if (!fuse_unk_) {
          add_unknown();
        }
        unknown_size += character.bytes;
      }
    }
    add_unknown();
    return ok();
  }

  // As in the reference, the sizes of symbols are added up: a token after
  // dropped characters is given their bytes, and bytes of a suffix have none.
  void add_tokens(std::string_view text, const std::vector<BpeSymbol>& symbols,
                  std::vector<ModelToken>& tokens) const {
    std::uint32_t end = 0;
    for (const BpeSymbol& symbol : symbols) {
      const std::string_view part = text.substr(0, symbol.size);
      text.remove_prefix(part.size());
      std::uint32_t begin = end;
      if (!byte_level_) {
        end += static_cast<std::uint32_t>(part.size());
      } else {  // each character is a byte
        begin -= !part.empty() && continues_character(part.front()) ? 1 : 0;
        end += static_cast<std::uint32_t>(std::ranges::count_if(
            part, [](char byte) { return !continues_character(byte); }));
      }
      tokens.push_back({symbol.id, begin, end});
    }
  }

  BpeMerges merges_;
  std::string prefix_;  // of each character but the first
  std::string suffix_;  // of the last character
  bool fuse_unk_ = false;
  bool ignore_merges_ = false;
  bool byte_level_ = false;
  // Where there is none, unknown characters are dropped.
  std::optional<Result<ModelId>> unknown_;
  ByteTokens byte_tokens_;
  // Words may be cut before kWordBoundary, but not after these characters.
  bool has_cuts_ = false;
  std::vector<char32_t> joined_;
  // The symbols of the first characters, with all of the byte-level alphabet.
  std::array<std::optional<ModelId>, 512> symbols_{};
  std::array<std::string, 256> spellings_{};  // of bytes, in that alphabet
};

}  // namespace

MadeModel make_bpe(const JsonPart& model, TokenizerSpec& spec,
                   bool byte_level) {
  auto made = std::make_unique<BpeModel>(
      TokenTable(std::exchange(spec.vocabulary, {})), byte_level);
  HEADWISE_TRY(made->read(model, std::exchange(spec.merges, {})));
  return MadeModel(std::move(made));
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
