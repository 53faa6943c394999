#include <cstddef>
#include <optional>
#include <utility>

#include "tokenizer/decoder_steps.h"
#include "tokenizer/replaced_text.h"
#include "tokenizer/shared_keys.h"
#include "unicode/characters.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

// All tokens become one.
Status fuse(std::vector<std::string>& tokens, Next& next) {
  std::string text;
  for (const std::string& token : tokens) {
    text += token;
  }
  tokens.assign(1, std::move(text));
  next = next == Next::nothing ? next : Next::rest_of_token;
  return ok();
}

// A character stands for a space, and for nothing in the first token.
struct MetaspaceDecoder {
  std::string space{};
  bool drops = true;

  Status operator()(std::vector<std::string>& tokens, Next& next) {
    for (std::size_t n = 0; n < tokens.size(); ++n) {
      replace_all(tokens[n], space, drops ? "" : " ");
      drops = drops && n + 1 == tokens.size() && next == Next::rest_of_token;
    }
    return ok();
  }
};

// Tokens without the prefix begin with a space.
struct WordPieceDecoder {
  std::string prefix{};
  bool cleanup = false;
  bool is_first = true;

  Status operator()(std::vector<std::string>& tokens, Next& /*next*/) {
    for (std::string& token : tokens) {
      if (is_first) {
        is_first = false;
      } else if (token.starts_with(prefix)) {
        token.erase(0, prefix.size());
      } else {
        token.insert(0, 1, ' ');
      }
      if (cleanup) {
        clean_up_spaces(token);
      }
    }
    return ok();
  }
};

// The suffix stands for a space, and for nothing in the last token. Which one
// that is shows with the next one, so the last one waits, from its suffix.
struct BpeDecoder {
  std::string suffix{};
  std::optional<std::string> waiting{};

  Status operator()(std::vector<std::string>& tokens, Next& next) {
    const bool is_end = next == Next::nothing;
    if (waiting && (is_end || !tokens.empty())) {
      tokens.insert(tokens.begin(), *std::exchange(waiting, {}));
    }
    for (std::size_t n = 0; n + 1 < tokens.size(); ++n) {
      replace_all(tokens[n], suffix, " ");
    }
    if (is_end && !tokens.empty()) {
      replace_all(tokens.back(), suffix, "");
    } else if (!tokens.empty() &&
               tokens.back().find(suffix) != std::string::npos) {
      const std::size_t at = tokens.back().find(suffix);
      waiting = tokens.back().substr(at);
      tokens.back().erase(at);
    }
    next = waiting ? Next::rest_of_token : next;
    return ok();
  }
};

// Equal neighbours become one token; the pad is dropped.
struct CtcDecoder {
  std::string pad{};
  std::string word_delimiter{};
  bool cleanup = false;
  std::optional<std::string> before{};

  Status operator()(std::vector<std::string>& tokens, Next& /*next*/) {
    std::vector<std::string> texts;
    for (std::string& token : tokens) {
      if (token == before) {
        continue;
      }
      before = token;
      replace_all(token, pad, "");
      if (cleanup) {
        clean_up_spaces(token);
        replace_all(token, word_delimiter, " ");
      }
      if (!token.empty()) {
        texts.push_back(std::move(token));
      }
    }
    tokens = std::move(texts);
    return ok();
  }
};

}  // namespace

Result<DecoderStep> read_fuse_decoder(const JsonPart& /*part*/) {
  return DecoderStep(fuse);
}

Result<DecoderStep> read_metaspace_decoder(const JsonPart& part) {
  HEADWISE_ASSIGN(const MetaspaceKeys keys, read_metaspace(part));
  MetaspaceDecoder decoder{.drops = keys.scheme != PrependScheme::never};
  append_character(decoder.space, keys.replacement);
  return DecoderStep(std::move(decoder));
}

Result<DecoderStep> read_wordpiece_decoder(const JsonPart& part) {
  WordPieceDecoder decoder;
  HEADWISE_TRY(part.require("prefix", decoder.prefix));
  HEADWISE_TRY(part.require("cleanup", decoder.cleanup));
  return with_whole_tokens(std::move(decoder));
}

Result<DecoderStep> read_bpe_decoder(const JsonPart& part) {
  BpeDecoder decoder;
  HEADWISE_TRY(part.require("suffix", decoder.suffix));
  return with_whole_tokens(std::move(decoder));
}

Result<DecoderStep> read_ctc_decoder(const JsonPart& part) {
  CtcDecoder decoder;
  HEADWISE_TRY(part.require("pad_token", decoder.pad));
  HEADWISE_TRY(part.require("word_delimiter_token", decoder.word_delimiter));
  HEADWISE_TRY(part.require("cleanup", decoder.cleanup));
  return with_whole_tokens(std::move(decoder));
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
