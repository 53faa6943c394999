// ByteLevel and ByteFallback: tokens that stand for bytes.
#include <algorithm>
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

struct ByteSequence {
  enum Kind { whole, cut, broken } kind = broken;  // cut: more bytes may come
  std::size_t bytes = 0;
};

// Whether a character may begin with these bytes, which are none themselves.
bool begins_character(std::string_view bytes) {
  // The lowest or the highest ones that can follow: some first bytes exclude
  // the lowest, others the highest.
  return internal::decode_utf8(std::string(bytes) + "\x80\x80\x80") ||
         internal::decode_utf8(std::string(bytes) + "\xBF\xBF\xBF");
}

// What `text`, which is not empty, begins with. Broken bytes are the longest
// ones that could have begun a character, as Unicode recommends.
ByteSequence first_sequence(std::string_view text) {
  if (const auto character = internal::decode_utf8(text)) {
    return {ByteSequence::whole, character->bytes};
  }
  std::size_t bytes = 0;
  while (bytes < text.size() && begins_character(text.substr(0, bytes + 1))) {
    ++bytes;
  }
  return bytes == text.size() ? ByteSequence{ByteSequence::cut, bytes}
                              : ByteSequence{ByteSequence::broken,
                                             std::max<std::size_t>(bytes, 1)};
}

// Moves the characters of `bytes` to `text`, with U+FFFD for each broken
// sequence. Leaves the bytes of a cut character unless `last`.
void move_characters(std::string& bytes, std::string& text, bool last) {
  std::string_view rest = bytes;
  while (!rest.empty()) {
    const ByteSequence next = first_sequence(rest);
    if (next.kind == ByteSequence::cut && !last) {
      break;
    }
    text += next.kind == ByteSequence::whole ? rest.substr(0, next.bytes)
                                             : kReplacementCharacter;
    rest.remove_prefix(next.bytes);
  }
  bytes.erase(0, bytes.size() - rest.size());
}

// Appends the bytes of a token in GPT-2's alphabet. One with a character
// outside of it stands for itself.
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
    std::size_t whole = 0;
    while (!is_broken && whole < run.size()) {
      const auto next = first_sequence(std::string_view(run).substr(whole));
      is_broken = next.kind == ByteSequence::broken ||
                  (next.kind == ByteSequence::cut && run_ends);
      if (next.kind != ByteSequence::whole) {
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
