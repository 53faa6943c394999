// A model folder as interventions take it: a sentence encoder, perhaps with a
// classifier, or a language model.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/heads/hooked_model.h"
#include "headwise/models/label_probe.h"
#include "headwise/models/language_model.h"
#include "headwise/models/sentence_encoder.h"
#include "headwise/models/text_model.h"
#include "operation/models/token_limit.h"

namespace headwise::cli {

enum class WithClassifier { none, if_there, required };

class HookedInput {
 public:
  // Errors: those of read_model(), read_language() and read_any_probe();
  // bad_data for a required classifier that is not there, and for a model
  // without heads.
  static Result<HookedInput> read(const std::string& folder,
                                  WithClassifier classifier,
                                  ModelUse use = ModelUse::inference);

  const HookedModel& model() const { return *model_; }
  // Null for a sentence encoder.
  const LanguageModel* language() const { return language_.get(); }
  // What the outputs of the model are logits of: labels or tokens. Empty:
  // outputs are embeddings.
  const std::vector<std::string>& labels() const { return labels_; }

  // `wanted` is --max-tokens. Errors: those of token_limit().
  Result<TokenLimit> limit(std::optional<std::size_t> wanted) const;
  // Errors: those of the tokenizer.
  Result<ModelTokens> encode(std::string_view text,
                             std::size_t max_tokens) const;
  std::string_view token(TokenId id) const;
  // The same as it is shown.
  std::string label(TokenId id) const;

 private:
  explicit HookedInput(std::string folder) : folder_(std::move(folder)) {}
  Status read_language(WithClassifier classifier, ModelUse use);
  Status read_sentences(WithClassifier classifier, ModelUse use);

  std::string folder_;
  // Only one of them. In memory of their own: the model refers to them.
  std::unique_ptr<LanguageModel> language_{};
  std::unique_ptr<SentenceEncoder> sentences_{};
  std::unique_ptr<LabelProbe> probe_{};
  std::unique_ptr<HookedModel> model_{};
  std::vector<std::string> labels_{};
};

}  // namespace headwise::cli
