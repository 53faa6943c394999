// Any bytes are a text that a tokenizer encodes, or an error. The first byte
// chooses one of the tokenizers of the tests, the second the options; the rest
// is the text.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer_calls.h"

namespace {

std::vector<headwise::Tokenizer> read_tokenizers() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry :
       std::filesystem::directory_iterator(HEADWISE_TOKENIZERS)) {
    if (entry.path().extension() == ".tokenizer_json") {
      files.push_back(entry.path());
    }
  }
  std::ranges::sort(files);
  std::vector<headwise::Tokenizer> tokenizers;
  for (const auto& file : files) {
    std::ifstream stream(file, std::ios::binary);
    const std::string json(std::istreambuf_iterator<char>(stream), {});
    tokenizers.push_back(
        headwise::Tokenizer::parse(json, file.string()).value());
  }
  return tokenizers;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  if (size < 2) {
    return 0;
  }
  static const std::vector<headwise::Tokenizer> kTokenizers = read_tokenizers();
  const std::string_view text(reinterpret_cast<const char*>(data) + 2,
                              size - 2);
  fuzz::call(kTokenizers[data[0] % kTokenizers.size()], text, data[1]);
  std::vector<headwise::TokenId> ids(text.size());
  std::ranges::transform(text, ids.begin(), [](char c) {
    return static_cast<headwise::TokenId>(static_cast<unsigned char>(c));
  });
  fuzz::check_decoding(kTokenizers[data[0] % kTokenizers.size()], ids);
  return 0;
}
