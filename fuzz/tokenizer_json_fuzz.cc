// Any bytes are a tokenizer.json or an error; one that is read encodes texts
// or says why not.
#include <cstdint>
#include <string_view>

#include "tokenizer_calls.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const std::string_view json(reinterpret_cast<const char*>(data), size);
  const auto tokenizer = headwise::Tokenizer::parse(json, "fuzz");
  if (!tokenizer) {
    fuzz::require(!tokenizer.error().message().empty());
    return 0;
  }
  for (const std::string_view text : fuzz::kTexts) {
    fuzz::call(*tokenizer, text, static_cast<unsigned>(size % 256));
  }
  fuzz::check_decoding(*tokenizer, {0, 1, 2, 40, 7, 1'000'000, -1, 0});
  return 0;
}
