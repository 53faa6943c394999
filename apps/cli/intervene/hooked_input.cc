#include "hooked_input.h"

#include <array>
#include <utility>

#include "operation/models/any_heads.h"
#include "shell/models/read_model.h"

namespace headwise::cli {

Result<HookedInput> HookedInput::read(const std::string& folder,
                                      WithClassifier classifier, ModelUse use) {
  HEADWISE_TRY(check_model_folder(folder));
  HookedInput input(folder);
  HEADWISE_TRY(is_language_model(folder)
                   ? input.read_language(classifier, use)
                   : input.read_sentences(classifier, use));
  HEADWISE_TRY(check_has_heads(input.model().heads()));
  return input;
}

// With `required` its tokens are the labels.
Status HookedInput::read_language(WithClassifier classifier, ModelUse use) {
  HEADWISE_ASSIGN(language_, cli::read_language(folder_, {.use = use}));
  model_ = hooked_language(*language_);
  if (classifier != WithClassifier::none) {
    for (std::size_t id = 0; id < language_->shape().vocab_size; ++id) {
      labels_.push_back(language_->label(static_cast<TokenId>(id)));
    }
  }
  return ok();
}

Status HookedInput::read_sentences(WithClassifier classifier, ModelUse use) {
  HEADWISE_ASSIGN(auto encoder, read_model(folder_, {.use = use}));
  sentences_ = std::make_unique<SentenceEncoder>(std::move(encoder));
  if (classifier == WithClassifier::required) {
    HEADWISE_ASSIGN(auto probe, read_probe(folder_, *sentences_));
    probe_ = std::make_unique<LabelProbe>(std::move(probe));
  } else if (classifier == WithClassifier::if_there) {
    HEADWISE_ASSIGN(auto probe, read_any_probe(folder_, *sentences_));
    if (probe.has_value()) {
      probe_ = std::make_unique<LabelProbe>(*std::move(probe));
    }
  }
  if (probe_) {
    labels_ = probe_->labels();
  }
  model_ = hooked_sentences(*sentences_, probe_.get());
  return ok();
}

Result<TokenLimit> HookedInput::limit(std::optional<std::size_t> wanted) const {
  return language_ ? token_limit(wanted, folder_, language_->shape())
                   : token_limit(wanted, folder_, sentences_->settings());
}

Result<ModelTokens> HookedInput::encode(std::string_view text,
                                        std::size_t max_tokens) const {
  if (language_) {
    return language_->encode(text, max_tokens);
  }
  const std::array<std::string_view, 1> texts = {text};
  HEADWISE_ASSIGN(auto tokens,
                  sentences_->tokenize(texts, {.max_tokens = max_tokens}));
  return ModelTokens{.ids = std::move(tokens.ids[0]), .cut = tokens.cut[0]};
}

std::string_view HookedInput::token(TokenId id) const {
  return language_ ? language_->token(id)
                   : sentences_->tokenizer().token(id).value_or("");
}

std::string HookedInput::label(TokenId id) const {
  return language_ ? language_->label(id) : std::string(token(id));
}

}  // namespace headwise::cli
