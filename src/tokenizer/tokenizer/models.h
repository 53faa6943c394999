// The four models. Each takes what it needs out of `spec`; `model` is the part
// "model" of its JSON.
#pragma once

#include <memory>
#include <utility>

#include "headwise/base/result.h"
#include "headwise/version.h"
#include "tokenizer/json_part.h"
#include "tokenizer/token_model.h"
#include "tokenizer/token_table.h"
#include "tokenizer/tokenizer_spec.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

using MadeModel = Result<std::unique_ptr<TokenModel>>;

MadeModel make_bpe(const JsonPart& model, TokenizerSpec& spec, bool byte_level);
MadeModel make_unigram(const JsonPart& model, TokenizerSpec& spec);
MadeModel make_wordpiece(const JsonPart& model, TokenizerSpec& spec);
MadeModel make_wordlevel(const JsonPart& model, TokenizerSpec& spec);

class TableModel : public TokenModel {
 public:
  std::size_t size() const override { return vocabulary_.size(); }
  std::optional<ModelId> find(std::string_view token) const override {
    return vocabulary_.find(token);
  }
  std::optional<std::string_view> token(ModelId id) const override {
    return vocabulary_.token(id);
  }

 protected:
  explicit TableModel(TokenTable vocabulary)
      : vocabulary_(std::move(vocabulary)) {}

  TokenTable vocabulary_;
};

// The token for all that is unknown, whose text is model.unk_token. An error if
// it is not in the vocabulary: only texts that need it report that.
inline Result<ModelId> unknown_token(const JsonPart& model,
                                     const std::string& unk_token,
                                     const TokenTable& vocabulary) {
  if (const auto id = vocabulary.find(unk_token)) {
    return *id;
  }
  return model.unexpected("unk_token", "a token of model.vocab");
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
