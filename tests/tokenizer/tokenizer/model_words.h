// Models for tests, and the tokens of words as one text.
#pragma once

#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tokenizer/token_model.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

inline TokenizerSpec bpe_spec(
    Json model, const std::vector<std::string>& vocabulary,
    std::vector<std::pair<std::string, std::string>> merges = {}) {
  TokenizerSpec spec;
  spec.subject = {"read", "t.json", {}};
  spec.json["model"] = std::move(model);
  for (const std::string& text : vocabulary) {
    spec.vocabulary.emplace_back(text, spec.vocabulary.size());
  }
  spec.merges = std::move(merges);
  return spec;
}

inline std::unique_ptr<TokenModel> model_of(TokenizerSpec spec,
                                            bool byte_level = false) {
  return make_model(spec, byte_level).value();
}

inline std::string spec_error(TokenizerSpec spec) {
  const auto made = make_model(spec, false);
  return made ? "" : made.error().message();
}

// "a[0,1) b[1,2)", or the error.
inline std::string tokens_of(const TokenModel& model, std::string_view word) {
  ModelMemory memory;
  std::vector<ModelToken> tokens;
  if (const Status status = model.encode(word, memory, tokens); !status) {
    return status.error().message();
  }
  std::ostringstream text;
  for (const ModelToken& token : tokens) {
    text << (text.tellp() > 0 ? " " : "") << model.token(token.id).value_or("?")
         << '[' << token.begin << ',' << token.end << ')';
  }
  return text.str();
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
