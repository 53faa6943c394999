#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "patterns/pattern.h"
#include "tokenizer/decoder.h"
#include "tokenizer/shared_keys.h"
#include "unicode/characters.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

using Tokens = std::vector<std::string>;

std::string with_replaced(std::string_view text,
                          const std::vector<Match>& matches,
                          std::string_view content) {
  std::string result;
  std::size_t at = 0;
  for (const Match& match : matches) {
    result.append(text.substr(at, match.begin - at)).append(content);
    at = match.end;
  }
  return result.append(text.substr(at));
}

// Each `from` in `text` becomes `to`. An empty `from` is before each character
// and at the end.
void replace_all(std::string& text, std::string_view from,
                 std::string_view to) {
  if (text.find(from) == std::string::npos) {
    return;
  }
  std::vector<Match> matches;
  if (Pattern::literal(from).find(text, matches)) {
    text = with_replaced(text, matches, to);
  }
}

// Undoes the spaces that tokenizers put around English punctuation, in the
// order of the reference.
void clean_up_spaces(std::string& text) {
  static constexpr std::pair<std::string_view, std::string_view> kChanges[] = {
      {" .", "."},   {" ?", "?"},     {" !", "!"},     {" ,", ","},
      {" ' ", "'"},  {" n't", "n't"}, {" 'm", "'m"},   {" do not", " don't"},
      {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"},
  };
  if (text.find(' ') == std::string::npos) {
    return;
  }
  for (const auto& [from, to] : kChanges) {
    replace_all(text, from, to);
  }
}

}  // namespace

// All tokens become one.
Result<DecoderStep> read_fuse_decoder(const JsonPart& /*part*/) {
  return DecoderStep([](Tokens& tokens, Next& next) {
    tokens.assign(1, joined(tokens));
    next = next == Next::nothing ? next : Next::rest_of_token;
    return ok();
  });
}

// A character stands for a space, and for nothing in the first token.
Result<DecoderStep> read_metaspace_decoder(const JsonPart& part) {
  HEADWISE_ASSIGN(const MetaspaceKeys keys, read_metaspace(part));
  return DecoderStep([space = keys.replacement,
                      drops = keys.scheme != MetaspaceKeys::never](
                         Tokens& tokens, Next& next) mutable {
    for (std::string& token : tokens) {
      replace_all(token, space, drops ? "" : " ");
      drops = drops && &token == &tokens.back() && next == Next::rest_of_token;
    }
    return ok();
  });
}

// Tokens without the prefix begin with a space.
Result<DecoderStep> read_wordpiece_decoder(const JsonPart& part) {
  std::string prefix;
  bool cleanup = false;
  HEADWISE_TRY(part.require("prefix", prefix));
  HEADWISE_TRY(part.require("cleanup", cleanup));
  return with_whole_tokens(
      [=, is_first = true](Tokens& tokens, Next& /*next*/) mutable {
        for (std::string& token : tokens) {
          if (!std::exchange(is_first, false)) {
            token = token.starts_with(prefix) ? token.substr(prefix.size())
                                              : " " + token;
          }
          if (cleanup) {
            clean_up_spaces(token);
          }
        }
        return ok();
      });
}

// The suffix stands for a space, and for nothing in the last token. Which one
// that is shows with the next one, so the last one waits, from its suffix.
Result<DecoderStep> read_bpe_decoder(const JsonPart& part) {
  std::string suffix;
  HEADWISE_TRY(part.require("suffix", suffix));
  return with_whole_tokens([suffix, waiting = std::optional<std::string>()](
                               Tokens& tokens, Next& next) mutable {
    if (waiting && (next == Next::nothing || !tokens.empty())) {
      tokens.insert(tokens.begin(), *std::exchange(waiting, {}));
    }
    for (std::string& token : tokens) {
      const bool is_last = &token == &tokens.back();
      const std::size_t at = token.find(suffix);
      if (!is_last || next == Next::nothing) {
        replace_all(token, suffix, is_last ? "" : " ");
      } else if (at != std::string::npos) {
        waiting = token.substr(at);
        token.erase(at);
      }
    }
    next = waiting ? Next::rest_of_token : next;
    return ok();
  });
}

// Equal neighbours become one token; the pad is dropped.
Result<DecoderStep> read_ctc_decoder(const JsonPart& part) {
  std::string pad;
  std::string delimiter;
  bool cleanup = false;
  HEADWISE_TRY(part.require("pad_token", pad));
  HEADWISE_TRY(part.require("word_delimiter_token", delimiter));
  HEADWISE_TRY(part.require("cleanup", cleanup));
  return with_whole_tokens([=, before = std::optional<std::string>()](
                               Tokens& tokens, Next& /*next*/) mutable {
    for (std::string& token : std::exchange(tokens, {})) {
      if (token == before) {
        continue;
      }
      before = token;
      replace_all(token, pad, "");
      if (cleanup) {
        clean_up_spaces(token);
        replace_all(token, delimiter, " ");
      }
      if (!token.empty()) {
        tokens.push_back(std::move(token));
      }
    }
    return ok();
  });
}

// Pieces, without their bytes: ByteFallback comes next. Keys: unk_token, and
// unk_surface, what it becomes; strip_space (true), whether the space in front
// of the text goes; strip_spaces (false), whether those of all its first pieces
// go.
Result<DecoderStep> read_sentencepiece_decoder(const JsonPart& part) {
  std::string unknown;
  std::string surface;
  bool strip_space = true;
  bool strip_spaces = false;
  HEADWISE_TRY(part.require("unk_token", unknown));
  HEADWISE_TRY(part.require("unk_surface", surface));
  HEADWISE_TRY(part.get("strip_space", strip_space));
  HEADWISE_TRY(part.get("strip_spaces", strip_spaces));
  return with_whole_tokens(
      [=, strips = strip_space](Tokens& tokens, Next& /*next*/) mutable {
        for (std::string& token : tokens) {
          const bool is_known = token != unknown;
          if (is_known && strips && token.starts_with(kWordBoundary)) {
            token.erase(0, kWordBoundary.size());
            strips = strip_spaces;
          }
          if (is_known) {
            replace_all(token, kWordBoundary, " ");
          } else {
            token = surface;
          }
          strips = strips && token.empty();
        }
        return ok();
      });
}

// A single character is replaced in pieces of tokens, too: there is only one
// token after Fuse.
Result<DecoderStep> read_replace_decoder(const JsonPart& part) {
  std::string content;
  std::string text;
  HEADWISE_TRY(part.require("content", content));
  HEADWISE_ASSIGN(Pattern read, read_pattern(part));
  HEADWISE_TRY(part.at("pattern").get("String", text));
  const auto pattern = std::make_shared<const Pattern>(std::move(read));
  DecoderStep step = [=, matches = std::vector<Match>()](
                         Tokens& tokens, Next& /*next*/) mutable -> Status {
    for (std::string& token : tokens) {
      if (!token.empty()) {  // the reference does not search an empty one
        HEADWISE_TRY(pattern->find(token, matches));
        token = with_replaced(token, matches, content);
      }
    }
    return ok();
  };
  return !text.empty() && first_character(text).bytes == text.size()
             ? std::move(step)
             : with_whole_tokens(std::move(step));
}

// Drops a character at the ends of each token, `start` and `stop` times at
// most. Those at the end wait for the rest of the token.
Result<DecoderStep> read_strip_decoder(const JsonPart& part) {
  char32_t content = 0;
  std::size_t start = 0;
  std::size_t stop = 0;
  HEADWISE_TRY(part.require("content", content));
  HEADWISE_TRY(part.require("start", start));
  HEADWISE_TRY(part.require("stop", stop));
  std::string dropped;
  append_character(dropped, content);
  return DecoderStep([=, left = start, waiting = std::string()](
                         Tokens& tokens, Next& next) mutable {
    for (std::string& token : tokens) {
      std::string_view rest = token;
      for (; left > 0 && rest.starts_with(dropped); --left) {
        rest.remove_prefix(dropped.size());
      }
      left = rest.empty() ? left : 0;
      token = std::exchange(waiting, {}).append(rest);
      std::string_view kept = token;
      for (std::size_t n = 0; n < stop && kept.ends_with(dropped); ++n) {
        kept.remove_suffix(dropped.size());
      }
      if (&token == &tokens.back() && next == Next::rest_of_token) {
        waiting = token.substr(kept.size());
      } else {
        left = start;
      }
      token.resize(kept.size());
    }
    return ok();
  });
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
