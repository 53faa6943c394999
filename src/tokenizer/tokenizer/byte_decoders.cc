#include "tokenizer/byte_decoders.h"

#include <optional>
#include <string_view>
#include <utility>

#include "tokenizer/byte_sequence.h"
#include "unicode/byte_alphabet.h"
#include "unicode/characters.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

class ByteLevelDecoder final : public WholeTokenStep {
 public:
  std::unique_ptr<DecoderStep> copy() const override {
    return std::make_unique<ByteLevelDecoder>(*this);
  }

 private:
  Status change(std::vector<std::string>& tokens, Next& next) override {
    for (const std::string& token : tokens) {
      add(token);
    }
    std::string text;
    move_characters(bytes_, text, next == Next::nothing);
    tokens.assign(1, std::move(text));
    next = next == Next::nothing ? next : Next::rest_of_token;
    return ok();
  }

  // A token with a character outside the alphabet stands for itself.
  void add(std::string_view token) {
    const std::size_t before = bytes_.size();
    for (std::string_view rest = token; !rest.empty();) {
      const Character character = first_character(rest);
      const auto byte = byte_of(character.code);
      if (!byte) {
        bytes_.resize(before);
        bytes_ += token;
        return;
      }
      bytes_ += static_cast<char>(*byte);
      rest.remove_prefix(character.bytes);
    }
  }

  std::string bytes_;  // not yet a character
};

// The byte of <0x0A>. The reference takes <0x+A> as well.
std::optional<char> byte_of_token(std::string_view token) {
  if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') {
    return {};
  }
  unsigned byte = 0;
  for (const char digit :
       token.substr(token[3] == '+' ? 4 : 3, token[3] == '+' ? 1 : 2)) {
    const std::size_t value =
        std::string_view("0123456789abcdef")
            .find(digit >= 'A' && digit <= 'F' ? static_cast<char>(digit + 32)
                                               : digit);
    if (value == std::string_view::npos) {
      return {};
    }
    byte = byte * 16 + static_cast<unsigned>(value);
  }
  return static_cast<char>(byte);
}

// A run of byte tokens becomes one token if it is UTF-8, and a U+FFFD for each
// byte if not. In a stream, whole characters do not wait for the end of their
// run, so what is broken after them changes only the rest.
class ByteFallbackDecoder final : public WholeTokenStep {
 public:
  std::unique_ptr<DecoderStep> copy() const override {
    return std::make_unique<ByteFallbackDecoder>(*this);
  }

 private:
  Status change(std::vector<std::string>& tokens, Next& next) override {
    std::vector<std::string> texts;
    for (std::string& token : tokens) {
      if (const auto byte = byte_of_token(token)) {
        run_ += *byte;
      } else {
        end_run(texts);
        texts.push_back(std::move(token));
      }
    }
    if (next == Next::nothing) {
      end_run(texts);
    } else {
      give_characters(texts);
      next = is_given_ ? Next::rest_of_token : next;
    }
    tokens = std::move(texts);
    return ok();
  }

  void end_run(std::vector<std::string>& texts) {
    if (whole_characters() < run_.size()) {
      break_run(texts);
    } else if (is_given_ || !run_.empty()) {
      texts.push_back(std::exchange(run_, {}));
    }
    is_given_ = is_broken_ = false;
  }

  void give_characters(std::vector<std::string>& texts) {
    const std::size_t whole = whole_characters();
    const bool is_cut =
        whole < run_.size() && !is_broken_ &&
        first_sequence(std::string_view(run_).substr(whole)).kind ==
            SequenceKind::cut;
    if (is_broken_ || (whole < run_.size() && !is_cut)) {
      break_run(texts);
    } else if (whole > 0) {
      texts.push_back(run_.substr(0, whole));
      run_.erase(0, whole);
      is_given_ = true;
    }
  }

  // Where whole characters end.
  std::size_t whole_characters() const {
    std::size_t at = 0;
    while (!is_broken_ && at < run_.size()) {
      const ByteSequence next =
          first_sequence(std::string_view(run_).substr(at));
      if (next.kind != SequenceKind::whole) {
        break;
      }
      at += next.bytes;
    }
    return at;
  }

  void break_run(std::vector<std::string>& texts) {
    if (is_given_) {
      texts.emplace_back();
    }
    texts.insert(texts.end(), run_.size(), std::string(kReplacementCharacter));
    run_.clear();
    is_given_ = false;
    is_broken_ = true;
  }

  std::string run_;         // its bytes that are no text yet
  bool is_given_ = false;   // its token has begun
  bool is_broken_ = false;  // its bytes are U+FFFD
};

}  // namespace

std::unique_ptr<DecoderStep> byte_level_decoder() {
  return std::make_unique<ByteLevelDecoder>();
}

std::unique_ptr<DecoderStep> byte_fallback_decoder() {
  return std::make_unique<ByteFallbackDecoder>();
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
