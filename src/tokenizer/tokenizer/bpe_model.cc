#include "tokenizer/bpe_model.h"

#include <algorithm>

#include "unicode/characters.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

// GPT-2's alphabet: printable bytes of Latin-1 are themselves, the others are
// the characters from U+0100 in their order.
const std::array<std::string, 256>& byte_spellings() {
  static const auto spellings = [] {
    std::array<std::string, 256> made;
    char32_t next = 0x100;
    for (char32_t byte = 0; byte < made.size(); ++byte) {
      const bool printable =
          (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte != 0xAD);
      append_character(made[byte], printable ? byte : next++);
    }
    return made;
  }();
  return spellings;
}

std::uint32_t size_of(std::string_view text) {
  return static_cast<std::uint32_t>(text.size());
}

}  // namespace

BpeModel::BpeModel(TokenTable vocabulary, BpeMerges merges, BpeOptions options,
                   BpeCuts cuts)
    : TableModel(std::move(vocabulary)),
      merges_(std::move(merges)),
      options_(std::move(options)),
      cuts_(std::move(cuts)),
      has_affixes_(!options_.prefix.empty() || !options_.suffix.empty()) {
  for (char32_t code = 0; code < symbols_.size(); ++code) {
    std::string text;
    append_character(text, code);
    symbols_[code] = find(text);
  }
}

bool BpeModel::may_cut(char32_t before, char32_t after) const {
  return cuts_.before.find(after) != std::u32string::npos &&
         !std::ranges::binary_search(cuts_.joined, std::pair(before, after));
}

Status BpeModel::encode(std::string_view word, ModelMemory& memory,
                        std::vector<ModelToken>& tokens) const {
  const std::string_view text =
      options_.byte_level ? spelled(word, memory.text) : word;
  if (options_.ignore_merges) {
    if (const auto id = find(text)) {
      tokens.push_back({*id, 0, size_of(word)});
      return ok();
    }
  }
  HEADWISE_TRY(add_symbols(text, memory.symbols));
  merges_.apply(memory);
  add_tokens(text, memory.symbols, tokens);
  memory.shrink();
  return ok();
}

// A byte-level word in the alphabet of the vocabulary.
std::string_view BpeModel::spelled(std::string_view word,
                                   std::string& text) const {
  const auto& spellings = byte_spellings();
  text.clear();
  for (const char byte : word) {
    const std::string& spelling = spellings[static_cast<unsigned char>(byte)];
    text += spelling[0];
    if (spelling.size() > 1) {
      text += spelling[1];
    }
  }
  return text;
}

std::optional<ModelId> BpeModel::symbol(std::string_view text,
                                        std::size_t begin, Character character,
                                        std::string& affixed) const {
  if (!has_affixes_ && character.code < symbols_.size()) {
    return symbols_[character.code];
  }
  const std::string_view alone = text.substr(begin, character.bytes);
  if (!has_affixes_) {
    return find(alone);
  }
  affixed = begin > 0 ? options_.prefix : "";
  affixed += alone;
  affixed += begin + character.bytes == text.size() ? options_.suffix : "";
  return find(affixed);
}

Status BpeModel::add_symbols(std::string_view text,
                             std::vector<BpeSymbol>& symbols) const {
  symbols.clear();
  std::string affixed;
  std::uint32_t unknown_size = 0;  // of unknown characters to be added
  const auto add_unknown = [&] {
    if (unknown_size > 0) {
      symbols.push_back({**options_.unknown, unknown_size});
      unknown_size = 0;
    }
  };
  for (std::size_t begin = 0; begin < text.size();) {
    const Character character = first_character(text.substr(begin));
    const auto known = symbol(text, begin, character, affixed);
    const std::string_view bytes =
        has_affixes_ ? affixed : text.substr(begin, character.bytes);
    begin += character.bytes;
    if (known) {
      add_unknown();
      symbols.push_back({*known, character.bytes});
    } else if (options_.byte_tokens.has_all(bytes)) {
      // Before the unknown characters in front of it: the reference has this
      // order.
      for (const char byte : bytes) {
        symbols.push_back({options_.byte_tokens[byte], 1});
      }
    } else if (options_.unknown) {
      HEADWISE_TRY(*options_.unknown);
      if (!options_.fuse_unk) {
        add_unknown();
      }
      unknown_size += character.bytes;
    }
  }
  add_unknown();
  return ok();
}

// As in the reference, the sizes of symbols are added up: a token after dropped
// characters is given their bytes, and bytes of a suffix have none.
void BpeModel::add_tokens(std::string_view text,
                          const std::vector<BpeSymbol>& symbols,
                          std::vector<ModelToken>& tokens) const {
  std::uint32_t end = 0;
  for (const BpeSymbol& symbol : symbols) {
    const std::string_view part = text.substr(0, symbol.size);
    text.remove_prefix(part.size());
    std::uint32_t begin = end;
    if (!options_.byte_level) {
      end += size_of(part);
    } else {  // each character is a byte
      begin -= !part.empty() && continues_character(part.front()) ? 1 : 0;
      end += static_cast<std::uint32_t>(std::ranges::count_if(
          part, [](char byte) { return !continues_character(byte); }));
    }
    tokens.push_back({symbol.id, begin, end});
  }
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
