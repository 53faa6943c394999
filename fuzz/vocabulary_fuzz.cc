// Any bytes give a vocabulary or an error; in a vocabulary each token is found
// by its text.
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
    if (vocabulary->find(vocabulary->token(id)) != id) {
      std::abort();
    }
  }
  return 0;
}
