#include "headwise/models/language_model.h"

#include <utility>

#include "base/out_of_memory.h"
#include "interop/folder.h"
#include "models/family_text_model.h"
#include "models/model_folder.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

bool has_regular_file(const std::string& folder, std::string_view name) {
  const auto is_there =
      is_regular_file("language_model", folder + "/" + std::string(name));
  return is_there && *is_there;
}

}  // namespace

Result<Tensor<float, 2>> LanguageModel::logits(const RaggedTokens& ids,
                                               const ModelPass& pass) const {
  HEADWISE_ASSIGN(const auto x, hidden(ids, pass));
  return unembed(x.view(), pass.executor);
}

bool is_language_model(const std::string& path) {
  const auto shape = Transformer::read_shape(path);
  return shape && shape->causal && shape->has_logits &&
         shape->encoder_layers == 0 &&
         !has_regular_file(path, "modules.json") &&
         !has_regular_file(path, kClassifierFile);
}

Result<std::unique_ptr<LanguageModel>> read_language_model(
    const std::string& path, const ModelAccess& access) {
  return catching_out_of_memory(
      [&]() -> Result<std::unique_ptr<LanguageModel>> {
        HEADWISE_ASSIGN(auto model, SentenceEncoder::read(path, access));
        if (!model.encoder().shape().has_logits) {
          return Error{ErrorCode::unsupported,
                       {.operation = "read_language_model",
                        .given = message("a model of type {} has no logits",
                                         model.encoder().shape().family)}};
        }
        return family_text_model(std::move(model));
      });
}

}  // namespace headwise::inline HEADWISE_ABI
