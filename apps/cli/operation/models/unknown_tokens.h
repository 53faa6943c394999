// Words that the vocabulary of a model lacks. Its tokenizer makes [UNK] or
// <unk> of each, so the model cannot tell them apart.
#pragma once

#include <cstddef>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "headwise/steps/tokens.h"

namespace headwise::cli {

struct UnknownTokens {
  std::size_t unknown = 0;
  std::size_t tokens = 0;

  void add(std::string_view token);
  // Of a model, the tokens that its token() names.
  template <class Model>
  void add(const Model& model, const std::vector<TokenId>& ids) {
    for (const TokenId id : ids) {
      add(model.token(id));
    }
  }
};

// "M: 12 of 40 tokens (30%) are words that its vocabulary lacks ([UNK])", as a
// line; nothing without them.
void warn_of_unknown(const std::string& model, const UnknownTokens& tokens,
                     std::ostream& err);

}  // namespace headwise::cli
