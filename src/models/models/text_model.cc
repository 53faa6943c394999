#include "headwise/models/text_model.h"

#include <string>
#include <utility>

#include "base/out_of_memory.h"
#include "headwise/models/causal_model.h"
#include "headwise/models/sentence_encoder.h"
#include "headwise/models/vocabulary.h"
#include "models/causal_params.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

// A model of any family.
class FamilyTextModel final : public TextModel {
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
              .causal = shape.causal};
    const Tokenizer& tokenizer = model_.tokenizer();
    // Of byte-level vocabularies: the letter that stands for a space.
    is_byte_level_ = tokenizer.find("\u0120") && !tokenizer.find("\u2581");
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

  Status run(const RaggedTokens& ids, const ModelPass& pass) const override {
    const auto done = encoder().hidden(ids, pass);
    return done ? ok() : Status(done.error());
  }

 private:
  const Transformer& encoder() const { return model_.encoder(); }

  SentenceEncoder model_;
  TextModelShape shape_;
  bool is_byte_level_ = false;
};

}  // namespace

Result<ModelTokens> TextModel::encode_pair(std::string_view /*first*/,
                                           std::string_view /*second*/,
                                           std::size_t /*max_tokens*/) const {
  return catching_out_of_memory([]() -> Result<ModelTokens> {
    return Error{ErrorCode::unsupported,
                 ErrorDetails{.operation = "encode_pair",
                              .given = "the model has no token types",
                              .expected = "one that was trained on pairs"}};
  });
}

std::string TextModel::label(TokenId id) const {
  return std::string(token(id));
}

bool TextModel::is_special(TokenId id) const {
  return headwise::is_special(token(id));
}

Result<std::unique_ptr<TextModel>> read_text_model(const std::string& folder,
                                                   Arithmetic arithmetic) {
  return catching_out_of_memory([&]() -> Result<std::unique_ptr<TextModel>> {
    if (is_causal_model(folder)) {
      HEADWISE_ASSIGN(auto model, CausalModel::read(folder, arithmetic));
      std::unique_ptr<TextModel> made =
          std::make_unique<CausalModel>(std::move(model));
      return made;
    }
    HEADWISE_ASSIGN(auto model,
                    SentenceEncoder::read(folder, {.arithmetic = arithmetic}));
    std::unique_ptr<TextModel> made =
        std::make_unique<FamilyTextModel>(std::move(model));
    return made;
  });
}

}  // namespace headwise::inline HEADWISE_ABI
