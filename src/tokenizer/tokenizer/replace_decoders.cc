#include "tokenizer/replace_decoders.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "tokenizer/replaced_text.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

// Ready for texts without end: after Fuse, all tokens are one.
class ReplaceTextDecoder final : public DecoderStep {
 public:
  ReplaceTextDecoder(std::string text, std::string content)
      : text_(std::move(text)), content_(std::move(content)) {}

  std::unique_ptr<DecoderStep> copy() const override {
    return std::make_unique<ReplaceTextDecoder>(*this);
  }

  Status apply(std::vector<std::string>& tokens, Next& next) override {
    if (!begun_.empty() && (next == Next::nothing || !tokens.empty())) {
      tokens.resize(std::max<std::size_t>(tokens.size(), 1));
      tokens.front().insert(0, std::exchange(begun_, {}));
    }
    for (std::size_t n = 0; n < tokens.size(); ++n) {
      const bool waits = n + 1 == tokens.size() && next == Next::rest_of_token;
      replace(tokens[n], waits);
    }
    return ok();
  }

 private:
  void replace(std::string& token, bool waits) {
    std::string result;
    std::string_view rest = token;
    for (std::size_t at = rest.find(text_); at != std::string_view::npos;
         at = rest.find(text_)) {
      result.append(rest.substr(0, at)).append(content_);
      rest.remove_prefix(at + text_.size());
    }
    const std::size_t kept = waits ? begun(rest) : 0;
    begun_ = rest.substr(rest.size() - kept);
    token = std::move(result.append(rest.substr(0, rest.size() - kept)));
  }

  // How many bytes at the end of `token` may become a match.
  std::size_t begun(std::string_view token) const {
    std::size_t bytes = std::min(token.size(), text_.size() - 1);
    while (!token.ends_with(std::string_view(text_).substr(0, bytes))) {
      --bytes;
    }
    return bytes;
  }

  std::string text_;
  std::string content_;
  std::string begun_;  // of a token whose rest comes later
};

class ReplacePatternDecoder final : public WholeTokenStep {
 public:
  ReplacePatternDecoder(Pattern pattern, std::string content)
      : pattern_(std::make_shared<Pattern>(std::move(pattern))),
        content_(std::move(content)) {}

  std::unique_ptr<DecoderStep> copy() const override {
    return std::make_unique<ReplacePatternDecoder>(*this);
  }

 private:
  Status change(std::vector<std::string>& tokens, Next& /*next*/) override {
    for (std::string& token : tokens) {
      if (token.empty()) {
        continue;  // the reference does not search it
      }
      HEADWISE_TRY(pattern_->find(token, matches_));
      std::string result;
      std::size_t at = 0;
      for (const Match& match : matches_) {
        result.append(token, at, match.begin - at).append(content_);
        at = match.end;
      }
      token = std::move(result.append(token, at));
    }
    return ok();
  }

  std::shared_ptr<const Pattern> pattern_;
  std::string content_;
  std::vector<Match> matches_;
};

class StripDecoder final : public DecoderStep {
 public:
  explicit StripDecoder(StripOptions options)
      : options_(std::move(options)), start_(options_.start) {}

  std::unique_ptr<DecoderStep> copy() const override {
    return std::make_unique<StripDecoder>(*this);
  }

  Status apply(std::vector<std::string>& tokens, Next& next) override {
    for (std::size_t n = 0; n < tokens.size(); ++n) {
      strip(tokens[n]);
      if (n + 1 < tokens.size() || next != Next::rest_of_token) {
        start_ = options_.start;
        waiting_ = 0;
      }
    }
    return ok();
  }

 private:
  // What may be dropped at the end of the token waits for its rest.
  void strip(std::string& token) {
    const std::string_view content = options_.content;
    std::string_view rest = token;
    for (; start_ > 0 && rest.starts_with(content); --start_) {
      rest.remove_prefix(content.size());
    }
    start_ = rest.empty() ? start_ : 0;
    std::size_t last = 0;  // characters at the end
    for (; rest.ends_with(content); ++last) {
      rest.remove_suffix(content.size());
    }
    // Characters that waited are before `rest`, or go on at the end.
    const std::size_t before = rest.empty() ? 0 : std::exchange(waiting_, 0);
    waiting_ += last;
    const std::size_t after = waiting_ - std::min(waiting_, options_.stop);
    waiting_ -= after;
    std::string result;
    result.reserve(rest.size() + (before + after) * content.size());
    const auto add = [&](std::size_t count) {
      for (std::size_t n = 0; n < count; ++n) {
        result += content;
      }
    };
    add(before);
    result += rest;
    add(after);
    token = std::move(result);
  }

  StripOptions options_;
  std::size_t start_;        // how many more may be dropped
  std::size_t waiting_ = 0;  // characters
};

}  // namespace

std::unique_ptr<DecoderStep> replace_decoder(std::string text,
                                             std::string content) {
  return std::make_unique<ReplaceTextDecoder>(std::move(text),
                                              std::move(content));
}

std::unique_ptr<DecoderStep> replace_decoder(Pattern pattern,
                                             std::string content) {
  return std::make_unique<ReplacePatternDecoder>(std::move(pattern),
                                                 std::move(content));
}

std::unique_ptr<DecoderStep> strip_decoder(StripOptions options) {
  return std::make_unique<StripDecoder>(std::move(options));
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
