#include "models/family_text_model.h"

#include <string>
#include <utility>

#include "headwise/models/special_tokens.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

// A model of any family.
class FamilyTextModel final : public LanguageModel {
 public:
  explicit FamilyTextModel(SentenceEncoder model) : model_(std::move(model)) {
    const ModelSettings& settings = model_.settings();
    const TransformerShape& shape = settings.shape;
    shape_ = {.num_layers = shape.num_layers,
              .num_heads = shape.num_heads,
              .hidden_size = shape.hidden_size,
              .vocab_size = shape.vocab_size,
              .max_tokens = settings.max_tokens,
              .max_tokens_key = settings.max_tokens_key,
              .max_positions = settings.most_tokens(),
              .added_tokens = model_.added_tokens(),
              .causal = shape.causal,
              .encoder_layers = shape.encoder_layers,
              .decoder_start = shape.decoder_start};
    const Tokenizer& tokenizer = model_.tokenizer();
    // Byte-level vocabularies write a space as U+0120.
    is_byte_level_ = tokenizer.find("\u0120") && !tokenizer.find("\u2581");
    constexpr std::string_view kNoCharacter = "\U0010FFFF";
    unknown_ = only_token(kNoCharacter);
  }

  const TextModelShape& shape() const override { return shape_; }
  std::vector<std::size_t> heads_in(std::size_t layer) const override {
    return encoder().heads_in(layer);
  }
  const MultiHeadAttention& attention(std::size_t layer) const override {
    return encoder().attention(layer);
  }

  Result<ModelTokens> encode(std::string_view text,
                             std::size_t max_tokens) const override {
    HEADWISE_ASSIGN(auto encoded, model_.encode_text(text, max_tokens));
    return ModelTokens{.ids = std::move(encoded.ids), .cut = encoded.cut};
  }
  Result<ModelTokens> encode_pair(std::string_view first,
                                  std::string_view second,
                                  std::size_t max_tokens) const override {
    constexpr std::size_t kTypesOfPair = 2;
    if (encoder().shape().token_types < kTypesOfPair) {
      return TextModel::encode_pair(first, second, max_tokens);
    }
    HEADWISE_ASSIGN(auto pair, model_.encode_pair(first, second, max_tokens));
    return ModelTokens{std::move(pair.ids), pair.cut,
                       std::move(pair.token_types)};
  }
  std::string_view token(TokenId id) const override {
    return model_.tokenizer().token(id).value_or(std::string_view());
  }

  std::string label(TokenId id) const override {
    const std::string_view token = this->token(id);
    if (is_byte_level_ && !is_special(id)) {
      const auto text = model_.tokenizer().decode({&id, 1}, false);
      constexpr std::string_view kReplacement = "\uFFFD";
      if (text && !text->empty() && text->find(kReplacement) == text->npos) {
        return *text;
      }
    }
    return std::string(token);
  }
  bool is_special(TokenId id) const override {
    return TextModel::is_special(id) || model_.tokenizer().is_special(id);
  }

  std::optional<TokenId> find(std::string_view token) const override {
    if (const auto id = model_.tokenizer().find(token)) {
      return id;
    }
    const auto id = only_token(token);
    return id == unknown_ ? std::nullopt : id;
  }

  Result<Tensor<float, 2>> hidden(const RaggedTokens& ids,
                                  const ModelPass& pass) const override {
    return encoder().hidden(ids, pass);
  }
  Result<Tensor<float, 2>> unembed(TensorView<const float, 2> hidden,
                                   const Executor* executor) const override {
    return encoder().logits(hidden, executor);
  }
  Result<ModelGradients> gate_gradients(
      const RaggedTokens& ids, const ModelPass& pass,
      LogitsGradient d_logits) const override {
    HEADWISE_ASSIGN(auto saved, encoder().forward_for_backward(ids, pass));
    HEADWISE_ASSIGN(const auto logits,
                    encoder().logits(saved.hidden(), pass.executor));
    HEADWISE_ASSIGN(const auto d, d_logits(logits));
    return encoder().backward_from_logits(saved, d, ModelWanted::gates);
  }

  Status run(const RaggedTokens& ids, const ModelPass& pass) const override {
    const auto done = encoder().hidden(ids, pass);
    return done ? ok() : Status(done.error());
  }

 private:
  const Transformer& encoder() const { return model_.encoder(); }
  // Of a text that is one.
  std::optional<TokenId> only_token(std::string_view text) const {
    const auto encoded =
        model_.tokenizer().encode(text, {.add_special_tokens = false});
    return encoded && encoded->ids.size() == 1
               ? std::optional(encoded->ids.front())
               : std::nullopt;
  }

  SentenceEncoder model_;
  TextModelShape shape_;
  bool is_byte_level_ = false;
  std::optional<TokenId> unknown_{};  // stands for unknown words
};

}  // namespace

std::unique_ptr<LanguageModel> family_text_model(SentenceEncoder model) {
  return std::make_unique<FamilyTextModel>(std::move(model));
}

}  // namespace headwise::inline HEADWISE_ABI
