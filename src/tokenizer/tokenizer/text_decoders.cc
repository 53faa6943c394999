#include "tokenizer/text_decoders.h"

#include <optional>
#include <string_view>
#include <utility>

#include "tokenizer/replaced_text.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

class FuseDecoder final : public DecoderStep {
 public:
  std::unique_ptr<DecoderStep> copy() const override {
    return std::make_unique<FuseDecoder>(*this);
  }

  Status apply(std::vector<std::string>& tokens, Next& next) override {
    std::string text;
    for (const std::string& token : tokens) {
      text += token;
    }
    tokens.assign(1, std::move(text));
    next = next == Next::nothing ? next : Next::rest_of_token;
    return ok();
  }
};

class MetaspaceDecoder final : public DecoderStep {
 public:
  MetaspaceDecoder(std::string space, bool drops_first)
      : space_(std::move(space)), drops_(drops_first) {}

  std::unique_ptr<DecoderStep> copy() const override {
    return std::make_unique<MetaspaceDecoder>(*this);
  }

  Status apply(std::vector<std::string>& tokens, Next& next) override {
    for (std::size_t n = 0; n < tokens.size(); ++n) {
      replace_all(tokens[n], space_, drops_ ? "" : " ");
      drops_ = drops_ && n + 1 == tokens.size() && next == Next::rest_of_token;
    }
    return ok();
  }

 private:
  std::string space_;
  bool drops_;
};

class WordPieceDecoder final : public WholeTokenStep {
 public:
  WordPieceDecoder(std::string prefix, bool cleans_up)
      : prefix_(std::move(prefix)), cleans_up_(cleans_up) {}

  std::unique_ptr<DecoderStep> copy() const override {
    return std::make_unique<WordPieceDecoder>(*this);
  }

 private:
  Status change(std::vector<std::string>& tokens, Next& /*next*/) override {
    for (std::string& token : tokens) {
      if (is_first_) {
        is_first_ = false;
      } else if (token.starts_with(prefix_)) {
        token.erase(0, prefix_.size());
      } else {
        token.insert(0, 1, ' ');
      }
      if (cleans_up_) {
        clean_up_spaces(token);
      }
    }
    return ok();
  }

  std::string prefix_;
  bool cleans_up_;
  bool is_first_ = true;
};

// Whether a token is the last one is known with the next one, so the last one
// waits, from its first suffix.
class BpeDecoder final : public WholeTokenStep {
 public:
  explicit BpeDecoder(std::string suffix) : suffix_(std::move(suffix)) {}

  std::unique_ptr<DecoderStep> copy() const override {
    return std::make_unique<BpeDecoder>(*this);
  }

 private:
  Status change(std::vector<std::string>& tokens, Next& next) override {
    const bool is_last = next == Next::nothing;
    if (waiting_ && (is_last || !tokens.empty())) {
      tokens.insert(tokens.begin(), *std::exchange(waiting_, {}));
    }
    if (tokens.empty()) {
      next = waiting_ ? Next::rest_of_token : next;
      return ok();
    }
    for (std::size_t n = 0; n + 1 < tokens.size(); ++n) {
      replace_all(tokens[n], suffix_, " ");
    }
    std::string& last = tokens.back();
    if (is_last) {
      replace_all(last, suffix_, "");
    } else if (const std::size_t at = last.find(suffix_);
               at != std::string::npos) {
      waiting_ = last.substr(at);
      last.erase(at);
      next = Next::rest_of_token;
    }
    return ok();
  }

  std::string suffix_;
  std::optional<std::string> waiting_;
};

class CtcDecoder final : public WholeTokenStep {
 public:
  explicit CtcDecoder(CtcOptions options) : options_(std::move(options)) {}

  std::unique_ptr<DecoderStep> copy() const override {
    return std::make_unique<CtcDecoder>(*this);
  }

 private:
  Status change(std::vector<std::string>& tokens, Next& /*next*/) override {
    std::vector<std::string> texts;
    for (std::string& token : tokens) {
      if (token == before_) {
        continue;
      }
      before_ = token;
      replace_all(token, options_.pad, "");
      if (options_.cleans_up) {
        clean_up_spaces(token);
        replace_all(token, options_.word_delimiter, " ");
      }
      if (!token.empty()) {
        texts.push_back(std::move(token));
      }
    }
    tokens = std::move(texts);
    return ok();
  }

  CtcOptions options_;
  std::optional<std::string> before_;
};

}  // namespace

std::unique_ptr<DecoderStep> fuse_decoder() {
  return std::make_unique<FuseDecoder>();
}

std::unique_ptr<DecoderStep> metaspace_decoder(std::string space,
                                               bool drops_first) {
  return std::make_unique<MetaspaceDecoder>(std::move(space), drops_first);
}

std::unique_ptr<DecoderStep> wordpiece_decoder(std::string prefix,
                                               bool cleans_up) {
  return std::make_unique<WordPieceDecoder>(std::move(prefix), cleans_up);
}

std::unique_ptr<DecoderStep> bpe_decoder(std::string suffix) {
  return std::make_unique<BpeDecoder>(std::move(suffix));
}

std::unique_ptr<DecoderStep> ctc_decoder(CtcOptions options) {
  return std::make_unique<CtcDecoder>(std::move(options));
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
