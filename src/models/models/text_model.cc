#include "headwise/models/text_model.h"

#include <string>
#include <utility>

#include "base/out_of_memory.h"
#include "headwise/models/sentence_encoder.h"
#include "headwise/models/special_tokens.h"
#include "models/family_text_model.h"

namespace headwise::inline HEADWISE_ABI {
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
    HEADWISE_ASSIGN(auto model,
                    SentenceEncoder::read(folder, {.arithmetic = arithmetic}));
    std::unique_ptr<TextModel> made = family_text_model(std::move(model));
    return made;
  });
}

Result<std::unique_ptr<TextModel>> read_any_text_model(
    const std::string& folder, Arithmetic arithmetic) {
  return catching_out_of_memory([&]() -> Result<std::unique_ptr<TextModel>> {
    HEADWISE_ASSIGN(auto settings, read_model_settings(folder));
    HEADWISE_ASSIGN(auto model,
                    SentenceEncoder::read_of(std::move(settings),
                                             {.arithmetic = arithmetic}));
    std::unique_ptr<TextModel> made = family_text_model(std::move(model));
    return made;
  });
}

}  // namespace headwise::inline HEADWISE_ABI
