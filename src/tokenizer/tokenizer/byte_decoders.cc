// ByteLevel and ByteFallback: tokens that stand for bytes.
#include <charconv>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

#include "interop/utf8.h"
#include "tokenizer/decoder.h"
#include "tokenizer/shared_keys.h"
#include "unicode/byte_alphabet.h"
#include "unicode/characters.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

constexpr std::string_view kReplacementCharacter = "\uFFFD";

// Whether more bytes can make a character of these, which are none yet.
bool begins_character(std::string_view bytes) {
  // Tries the lowest and the highest ones: some first bytes exclude either.
  constexpr std::size_t kLongest = 4;
  return bytes.size() < kLongest &&
         (internal::decode_utf8(std::string(bytes) + "\x80\x80\x80") ||
          internal::decode_utf8(std::string(bytes) + "\xBF\xBF\xBF"));
}

std::size_t size_of_whole_characters(std::string_view bytes) {
  return internal::find_invalid_utf8(bytes).value_or(bytes.size());
}

// Moves the characters of `bytes` to `text`, with U+FFFD for each broken
// sequence: the longest bytes that could have begun a character, as Unicode
// recommends. Leaves the beginning of a character unless `last`.
void move_characters(std::string& bytes, std::string& text, bool last) {
  std::string_view rest = bytes;
  for (;;) {
    const std::size_t whole = size_of_whole_characters(rest);
    text += rest.substr(0, whole);
    rest.remove_prefix(whole);
    if (rest.empty() || (!last && begins_character(rest))) {
      break;
    }
    std::size_t broken = 1;
    while (broken < rest.size() &&
           begins_character(rest.substr(0, broken + 1))) {
      ++broken;
    }
    text += kReplacementCharacter;
    rest.remove_prefix(broken);
  }
  bytes.erase(0, bytes.size() - rest.size());
}

// Appends the bytes that a token spells in GPT-2's alphabet. A token with any
// other character is appended unchanged.
void append_bytes(std::string_view token, std::string& bytes) {
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

// The byte of <0x0A>. The reference takes <0x+A> as well.
std::optional<char> byte_of_token(std::string_view token) {
  if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') {
    return {};
  }
  const char* const end = &token[5];
  unsigned byte = 0;
  const auto read =
      std::from_chars(&token[token[3] == '+' ? 4 : 3], end, byte, 16);
  return read.ec == std::errc() && read.ptr == end
             ? std::optional(static_cast<char>(byte))
             : std::nullopt;
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
    const std::size_t whole = is_broken ? 0 : size_of_whole_characters(run);
    is_broken =
        is_broken || (whole < run.size() &&
                      (run_ends || !begins_character(run.substr(whole))));
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
  return with_whole_tokens(
      [bytes = std::string()](std::vector<std::string>& tokens,
                              Next& next) mutable {
        for (const std::string& token : tokens) {
          append_bytes(token, bytes);
        }
        tokens.assign(1, "");
        move_characters(bytes, tokens.front(), next == Next::nothing);
        next = next == Next::nothing ? next : Next::rest_of_token;
        return ok();
      });
}

Result<DecoderStep> read_byte_fallback_decoder(const JsonPart& /*part*/) {
  return with_whole_tokens(ByteFallbackDecoder{});
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
