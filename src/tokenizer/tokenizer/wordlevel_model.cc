#include <utility>

#include "tokenizer/models.h"
#include "tokenizer/token_table.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

class WordLevelModel final : public TokenModel {
 public:
  WordLevelModel(TokenTable vocabulary, std::optional<ModelId> unknown,
                 Error no_unknown)
      : vocabulary_(std::move(vocabulary)),
        unknown_(unknown),
        no_unknown_(std::move(no_unknown)) {}

  Status encode(std::string_view word, ModelMemory& /*memory*/,
                std::vector<ModelToken>& tokens) const override {
    const std::optional<ModelId> known = vocabulary_.find(word);
    if (!known && !unknown_) {
      return no_unknown_;
    }
    tokens.push_back({known ? *known : *unknown_, 0,
                      static_cast<std::uint32_t>(word.size())});
    return ok();
  }

  std::size_t size() const override { return vocabulary_.size(); }
  std::optional<ModelId> find(std::string_view token) const override {
    return vocabulary_.find(token);
  }
  std::optional<std::string_view> token(ModelId id) const override {
    return vocabulary_.token(id);
  }

 private:
  TokenTable vocabulary_;
  std::optional<ModelId> unknown_;
  Error no_unknown_;
};

}  // namespace

MadeModel make_wordlevel(const JsonPart& model, TokenizerSpec& spec) {
  std::string unk_token;
  HEADWISE_TRY(model.require("unk_token", unk_token));
  TokenTable vocabulary(std::exchange(spec.vocabulary, {}));
  const std::optional<ModelId> unknown = vocabulary.find(unk_token);
  return {std::make_unique<WordLevelModel>(
      std::move(vocabulary), unknown,
      model.unexpected("unk_token", "a token of model.vocab"))};
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
