// Any bytes give a vocabulary or an error; in a vocabulary each token is found
// by its text, and nothing longer than it matches that.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "headwise/models/vocabulary.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto vocabulary = headwise::parse_vocabulary(text, "fuzz");
  if (!vocabulary) {
    if (vocabulary.error().message().empty()) {
      std::abort();
    }
    return 0;
  }
  for (std::size_t n = 0; n < vocabulary->size(); ++n) {
    const auto id = static_cast<headwise::TokenId>(n);
    const std::string_view token = vocabulary->token(id);
    const auto match = vocabulary->longest_match(token, false);
    if (vocabulary->find(token) != id || !match || match->id != id ||
        match->bytes != token.size()) {
      std::abort();
    }
  }
  return 0;
}
