// A program of somebody who tokenizes a text with headwise::tokenizer.
#include <headwise/tokenizer/tokenizer.h>

#include <iostream>
#include <vector>

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
  const hw::Encoding encoding = tokenizer->encode("heads matter").value();
  return encoding.ids == std::vector<hw::TokenId>{1, 2} ? 0 : 1;
}
