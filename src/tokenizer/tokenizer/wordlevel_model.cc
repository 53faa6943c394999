#include <utility>

#include "tokenizer/models.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

class WordLevelModel final : public TableModel {
 public:
  WordLevelModel(TokenTable vocabulary, Result<ModelId> unknown)
      : TableModel(std::move(vocabulary)), unknown_(std::move(unknown)) {}

  Status encode(std::string_view word, ModelMemory& /*memory*/,
                std::vector<ModelToken>& tokens) const override {
    const std::optional<ModelId> known = find(word);
    if (!known) {
      HEADWISE_TRY(unknown_);
    }
    tokens.push_back({known ? *known : *unknown_, 0,
                      static_cast<std::uint32_t>(word.size())});
    return ok();
  }

 private:
  Result<ModelId> unknown_;
};

}  // namespace

MadeModel make_wordlevel(const JsonPart& model, TokenizerSpec& spec) {
  std::string unk_token;
  HEADWISE_TRY(model.require("unk_token", unk_token));
  TokenTable vocabulary(std::exchange(spec.vocabulary, {}));
  auto unknown = unknown_token(model, unk_token, vocabulary);
  return {std::make_unique<WordLevelModel>(std::move(vocabulary),
                                           std::move(unknown))};
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
