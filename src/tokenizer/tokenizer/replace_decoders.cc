#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "patterns/pattern.h"
#include "tokenizer/decoder_steps.h"
#include "unicode/characters.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

// Takes pieces of tokens, because there is only one token after Fuse.
struct ReplaceTextDecoder {
  std::string text{};  // not empty
  std::string content{};
  std::string begun{};  // a match whose rest may come

  Status operator()(std::vector<std::string>& tokens, Next& next) {
    if (!begun.empty() && (next == Next::nothing || !tokens.empty())) {
      tokens.resize(std::max<std::size_t>(tokens.size(), 1));
      tokens.front().insert(0, std::exchange(begun, {}));
    }
    for (std::size_t n = 0; n < tokens.size(); ++n) {
      replace(tokens[n], n + 1 == tokens.size() && next == Next::rest_of_token);
    }
    return ok();
  }

  void replace(std::string& token, bool waits) {
    std::string result;
    std::string_view rest = token;
    for (std::size_t at = rest.find(text); at != std::string_view::npos;
         at = rest.find(text)) {
      result.append(rest.substr(0, at)).append(content);
      rest.remove_prefix(at + text.size());
    }
    std::size_t kept = waits ? std::min(rest.size(), text.size() - 1) : 0;
    while (!rest.ends_with(std::string_view(text).substr(0, kept))) {
      --kept;
    }
    begun = rest.substr(rest.size() - kept);
    token = std::move(result.append(rest.substr(0, rest.size() - kept)));
  }
};

struct ReplacePatternDecoder {
  std::shared_ptr<const Pattern> pattern;
  std::string content{};
  std::vector<Match> matches{};

  Status operator()(std::vector<std::string>& tokens, Next& /*next*/) {
    for (std::string& token : tokens) {
      if (token.empty()) {
        continue;  // the reference does not search it
      }
      HEADWISE_TRY(pattern->find(token, matches));
      std::string result;
      std::size_t at = 0;
      for (const Match& match : matches) {
        result.append(token, at, match.begin - at).append(content);
        at = match.end;
      }
      token = std::move(result.append(token, at));
    }
    return ok();
  }
};

// Drops a character at the ends of each token, `start` and `stop` times at
// most. Those at the end wait for the rest of the token.
struct StripDecoder {
  std::string content{};  // one character
  std::size_t start = 0;
  std::size_t stop = 0;
  std::size_t dropped = 0;
  bool is_inside = false;  // something else came
  std::size_t waiting = 0;

  Status operator()(std::vector<std::string>& tokens, Next& next) {
    for (std::size_t n = 0; n < tokens.size(); ++n) {
      strip(tokens[n]);
      if (n + 1 < tokens.size() || next != Next::rest_of_token) {
        dropped = waiting = 0;
        is_inside = false;
      }
    }
    return ok();
  }

  void strip(std::string& token) {
    std::string_view rest = token;
    for (; !is_inside && dropped < start && rest.starts_with(content);
         ++dropped) {
      rest.remove_prefix(content.size());
    }
    is_inside = is_inside || !rest.empty();
    std::size_t last = 0;
    for (; rest.ends_with(content); ++last) {
      rest.remove_suffix(content.size());
    }
    // With nothing else in the token, those that waited go on at its end.
    const std::size_t before = rest.empty() ? 0 : std::exchange(waiting, 0);
    const std::size_t after = waiting + last - std::min(waiting + last, stop);
    waiting += last - after;
    token = repeated(before).append(rest).append(repeated(after));
  }

  std::string repeated(std::size_t count) const {
    std::string text;
    for (std::size_t n = 0; n < count; ++n) {
      text += content;
    }
    return text;
  }
};

}  // namespace

Result<DecoderStep> read_replace_decoder(const JsonPart& part) {
  std::string content;
  HEADWISE_TRY(part.require("content", content));
  const JsonPart pattern = part.at("pattern");
  std::optional<std::string> text;
  std::optional<std::string> expression;
  HEADWISE_TRY(pattern.get("String", text));
  HEADWISE_TRY(pattern.get("Regex", expression));
  if (text.has_value() == expression.has_value()) {
    return pattern.exists()
               ? part.unexpected("pattern", "String or Regex, with a text")
               : part.missing("pattern");
  }
  if (text && !text->empty()) {
    return DecoderStep(ReplaceTextDecoder{*text, content});
  }
  HEADWISE_ASSIGN(Pattern compiled, text ? Pattern::literal(*text)
                                         : Pattern::compile(*expression));
  return with_whole_tokens(ReplacePatternDecoder{
      std::make_shared<const Pattern>(std::move(compiled)), content});
}

Result<DecoderStep> read_strip_decoder(const JsonPart& part) {
  char32_t content = 0;
  StripDecoder decoder;
  HEADWISE_TRY(part.require("content", content));
  HEADWISE_TRY(part.require("start", decoder.start));
  HEADWISE_TRY(part.require("stop", decoder.stop));
  append_character(decoder.content, content);
  return DecoderStep(std::move(decoder));
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
