// A causal model small enough for differences in double.
#pragma once

#include <memory>
#include <sstream>
#include <string>
#include <utility>

#include "headwise/json/json.h"
#include "headwise/models/language_model.h"
#include "headwise/models/sentence_encoder.h"
#include "models/family_text_model.h"
#include "models/small_model.h"
#include "train/drawn_causal.h"

namespace headwise::testing_support {

inline constexpr CausalSizes kSmallCausal = {.vocab_size = 14,
                                             .hidden_size = 12,
                                             .num_layers = 2,
                                             .num_heads = 3,
                                             .max_positions = 7};

inline Transformer small_causal_transformer(
    const CausalSizes& sizes = kSmallCausal) {
  return Transformer::create(causal_config(sizes),
                             draw_causal(sizes, Seed{3}).value(),
                             {.use = ModelUse::training})
      .value();
}

// Words of kSmallVocabulary, parted by white space.
inline Tokenizer small_words() {
  Json vocab = Json::object();
  std::istringstream lines{std::string(kSmallVocabulary)};
  std::string line;
  while (std::getline(lines, line)) {
    vocab[line] = vocab.size();
  }
  const Json json = {
      {"version", "1.0"},
      {"pre_tokenizer", {{"type", "WhitespaceSplit"}}},
      {"model",
       {{"type", "WordLevel"}, {"vocab", vocab}, {"unk_token", "[UNK]"}}}};
  return Tokenizer::parse(json.dump(), "tokenizer.json").value();
}

inline std::unique_ptr<LanguageModel> with_words(Transformer model) {
  return family_text_model(
      SentenceEncoder::create(std::move(model), small_words()).value());
}

inline std::unique_ptr<LanguageModel> small_causal_model(
    const CausalSizes& sizes = kSmallCausal) {
  return with_words(small_causal_transformer(sizes));
}

}  // namespace headwise::testing_support
