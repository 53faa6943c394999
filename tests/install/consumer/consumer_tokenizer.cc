// A program of somebody who tokenizes a text with headwise::tokenizer.
#include <headwise/tokenizer/tokenizer.h>

#include <iostream>

namespace hw = headwise;

int main() {
  const auto tokenizer = hw::Tokenizer::parse(
      R"({"model": {"type": "WordLevel", "unk_token": "?",
                    "vocab": {"?": 0, "heads": 1, "matter": 2}},
          "pre_tokenizer": {"type": "Whitespace"}})",
      "tokenizer.json");
  if (!tokenizer) {
    std::cout << tokenizer.error().message() << '\n';
    return 1;
  }
  for (const hw::TokenId id : tokenizer->encode("heads matter").value().ids) {
    std::cout << id << '\n';
  }
  return 0;
}
