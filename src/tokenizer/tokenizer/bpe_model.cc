#include "tokenizer/bpe_model.h"

#include <algorithm>
#include <utility>

#include "unicode/characters.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

// The alphabet of GPT-2: printable characters of Latin-1 are themselves, the
// other bytes are the characters from U+0100 in their order.
std::array<std::string, 256> byte_spellings() {
  std::array<std::string, 256> spellings;
  char32_t next = 0x100;
  for (char32_t byte = 0; byte < spellings.size(); ++byte) {
    const bool printable =
        (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte != 0xAD);
    append_character(spellings[byte], printable ? byte : next++);
  }
  return spellings;
}

std::uint32_t size_of(std::size_t size) {
  return static_cast<std::uint32_t>(size);
}

// Positions in the spelling of a byte-level word to bytes of the word. Each
// position asked for is at least the one before.
class SpelledBytes {
 public:
  SpelledBytes(std::string_view word,
               const std::array<std::string, 256>& spelling)
      : word_(word), spelling_(spelling) {}

  // The byte whose spelling has this position.
  std::size_t begin_of(std::size_t position) {
    while (byte_ < word_.size() && position_ + size() <= position) {
      position_ += size();
      ++byte_;
    }
    return byte_;
  }
  // The byte after the one whose spelling ends at this position or behind it.
  std::size_t end_of(std::size_t position) {
    const std::size_t byte = begin_of(position);
    return byte < word_.size() && position_ < position ? byte + 1 : byte;
  }

 private:
  std::size_t size() const {
    return spelling_[static_cast<unsigned char>(word_[byte_])].size();
  }

  std::string_view word_;
  const std::array<std::string, 256>& spelling_;
  std::size_t byte_ = 0;
  std::size_t position_ = 0;
};

}  // namespace

BpeModel::BpeModel(BpeOptions options, BpeParts parts)
    : options_(std::move(options)),
      parts_(std::move(parts)),
      has_affixes_(!options_.prefix.empty() || !options_.suffix.empty()) {
  if (options_.byte_level) {
    spelling_ = byte_spellings();
  } else {
    for (std::size_t byte = 0; byte < 0x80; ++byte) {
      spelling_[byte] = static_cast<char>(byte);
    }
  }
  for (std::size_t byte = 0; byte < symbol_.size(); ++byte) {
    if (!spelling_[byte].empty()) {
      symbol_[byte] = find(spelling_[byte]);
    }
  }
}

Status BpeModel::encode(std::string_view word, ModelMemory& memory,
                        std::vector<ModelToken>& tokens) const {
  if (options_.ignore_merges) {
    memory.text.clear();
    append_spelling(word, memory.text);
    if (const auto id = find(memory.text)) {
      tokens.push_back({*id, 0, size_of(word.size())});
      return ok();
    }
  }
  HEADWISE_TRY(add_symbols(word, memory));
  parts_.merges.apply(memory);
  add_tokens(word, memory.symbols, tokens);
  memory.shrink();
  return ok();
}

BpeModel::Unit BpeModel::unit_at(std::string_view word,
                                 std::size_t begin) const {
  if (options_.byte_level) {
    const auto byte = static_cast<unsigned char>(word[begin]);
    return {begin, begin + 1, size_of(spelling_[byte].size())};
  }
  const std::uint32_t bytes = first_character(word.substr(begin)).bytes;
  return {begin, begin + bytes, bytes};
}

void BpeModel::append_spelling(std::string_view part, std::string& text) const {
  if (!options_.byte_level) {
    text += part;
    return;
  }
  for (const char byte : part) {
    text += spelling_[static_cast<unsigned char>(byte)];
  }
}

std::string_view BpeModel::spelled(std::string_view word, const Unit& unit,
                                   std::string& text) const {
  text = unit.begin > 0 ? options_.prefix : "";
  append_spelling(word.substr(unit.begin, unit.end - unit.begin), text);
  if (unit.end == word.size()) {
    text += options_.suffix;
  }
  return text;
}

std::optional<ModelId> BpeModel::symbol(std::string_view word, const Unit& unit,
                                        std::string& text) const {
  if (has_affixes_) {
    return find(spelled(word, unit, text));
  }
  if (unit.end == unit.begin + 1) {
    return symbol_[static_cast<unsigned char>(word[unit.begin])];
  }
  return find(word.substr(unit.begin, unit.end - unit.begin));
}

Status BpeModel::add_symbols(std::string_view word, ModelMemory& memory) const {
  memory.symbols.clear();
  std::uint32_t unknown_size = 0;  // of unknown characters to be added
  const auto add_unknown = [&] {
    if (unknown_size > 0) {
      memory.symbols.push_back({*parts_.unknown, unknown_size});
      unknown_size = 0;
    }
  };
  for (std::size_t begin = 0; begin < word.size();) {
    const Unit unit = unit_at(word, begin);
    begin = unit.end;
    if (const auto id = symbol(word, unit, memory.text)) {
      add_unknown();
      memory.symbols.push_back({*id, unit.size});
      continue;
    }
    // Bytes go before the unknown characters in front of them. The reference
    // has this order, so models have been trained on it.
    if (options_.byte_fallback &&
        add_byte_tokens(spelled(word, unit, memory.text), memory)) {
      continue;
    }
    if (parts_.no_unknown) {
      return *parts_.no_unknown;
    }
    if (parts_.unknown) {
      if (!options_.fuse_unk) {
        add_unknown();
      }
      unknown_size += unit.size;
    }
  }
  add_unknown();
  return ok();
}

bool BpeModel::add_byte_tokens(std::string_view spelling,
                               ModelMemory& memory) const {
  if (!parts_.byte_tokens.has_all(spelling)) {
    return false;
  }
  for (const char byte : spelling) {
    memory.symbols.push_back({*parts_.byte_tokens[byte], 1});
  }
  return true;
}

// As in the reference, the sizes of symbols are added up: a token after dropped
// characters is given their bytes, and bytes of a suffix are behind the end.
void BpeModel::add_tokens(std::string_view word,
                          const std::vector<BpeSymbol>& symbols,
                          std::vector<ModelToken>& tokens) const {
  if (!options_.byte_level) {
    std::size_t end = 0;
    for (const BpeSymbol& symbol : symbols) {
      const std::size_t begin = std::min(end, word.size());
      end += symbol.size;
      tokens.push_back(
          {symbol.id, size_of(begin), size_of(std::min(end, word.size()))});
    }
    return;
  }
  SpelledBytes bytes(word, spelling_);
  std::size_t end = 0;
  for (const BpeSymbol& symbol : symbols) {
    const std::size_t begin = bytes.begin_of(end);
    end += symbol.size;
    tokens.push_back({symbol.id, size_of(begin), size_of(bytes.end_of(end))});
  }
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
