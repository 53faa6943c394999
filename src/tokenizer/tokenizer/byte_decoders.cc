#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

#include "tokenizer/byte_sequence.h"
#include "tokenizer/decoder_steps.h"
#include "tokenizer/shared_keys.h"
#include "unicode/byte_alphabet.h"
#include "unicode/characters.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

// Tokens in GPT-2's alphabet of bytes.
struct ByteLevelDecoder {
  std::string bytes{};  // not yet a character

  Status operator()(std::vector<std::string>& tokens, Next& next) {
    for (const std::string& token : tokens) {
      add(token);
    }
    std::string text;
    move_characters(bytes, text, next == Next::nothing);
    tokens.assign(1, std::move(text));
    next = next == Next::nothing ? next : Next::rest_of_token;
    return ok();
  }

  // A token with a character outside the alphabet stands for itself.
  void add(std::string_view token) {
    const std::size_t before = bytes.size();
    for (std::string_view rest = token; !rest.empty();) {
      const Character character = first_character(rest);
      const auto byte = byte_of(character.code);
      if (!byte) {
        bytes.resize(before);
        bytes += token;
        return;
      }
      bytes += static_cast<char>(*byte);
      rest.remove_prefix(character.bytes);
    }
  }
};

// The byte of <0x0A>. The reference takes <0x+A> as well.
std::optional<char> byte_of_token(std::string_view token) {
  if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') {
    return {};
  }
  std::size_t byte = 0;
  for (std::size_t n = token[3] == '+' ? 4 : 3; n < 5; ++n) {
    const std::size_t digit =
        std::string_view("0123456789abcdef0123456789ABCDEF").find(token[n]);
    if (digit == std::string_view::npos) {
      return {};
    }
    byte = byte * 16 + digit % 16;
  }
  return static_cast<char>(byte);
}

// A run of byte tokens becomes one token if it is UTF-8, and a U+FFFD for each
// byte if not. In a stream, whole characters do not wait for the end of their
// run, so what is broken after them changes only the rest.
struct ByteFallbackDecoder {
  std::string run{};       // its bytes that are no text yet
  bool is_given = false;   // its token has begun
  bool is_broken = false;  // its bytes are U+FFFD

  Status operator()(std::vector<std::string>& tokens, Next& next) {
    std::vector<std::string> texts;
    for (std::string& token : tokens) {
      if (const auto byte = byte_of_token(token)) {
        run += *byte;
      } else {
        give(texts, true);
        texts.push_back(std::move(token));
      }
    }
    give(texts, next == Next::nothing);
    next = is_given ? Next::rest_of_token : next;
    tokens = std::move(texts);
    return ok();
  }

  void give(std::vector<std::string>& texts, bool run_ends) {
    std::size_t whole = 0;
    while (!is_broken && whole < run.size()) {
      const ByteSequence next =
          first_sequence(std::string_view(run).substr(whole));
      is_broken = next.kind == SequenceKind::broken ||
                  (next.kind == SequenceKind::cut && run_ends);
      if (next.kind != SequenceKind::whole) {
        break;
      }
      whole += next.bytes;
    }
    if (is_broken && !run.empty()) {
      if (std::exchange(is_given, false)) {
        texts.emplace_back();
      }
      texts.insert(texts.end(), run.size(), std::string(kReplacementCharacter));
      run.clear();
    } else if (whole > 0 || (is_given && run_ends)) {
      texts.push_back(run.substr(0, whole));
      run.erase(0, whole);
      is_given = true;
    }
    if (run_ends) {
      is_given = is_broken = false;
    }
  }
};

}  // namespace

Result<DecoderStep> read_byte_level_decoder(const JsonPart& part) {
  HEADWISE_TRY(read_byte_level(part));
  return with_whole_tokens(ByteLevelDecoder{});
}

Result<DecoderStep> read_byte_fallback_decoder(const JsonPart& /*part*/) {
  return with_whole_tokens(ByteFallbackDecoder{});
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
