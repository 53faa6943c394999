// Any bytes are the file of a tokenizer, of any kind (SentencePiece, GGUF,
// ranks, vocabularies), or an error; one that is read encodes texts or says why
// not.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <string>

#include "tokenizer_calls.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  static const int kFile = memfd_create("tokenizer", MFD_CLOEXEC);
  static const std::string kPath = "/proc/self/fd/" + std::to_string(kFile);
  fuzz::require(ftruncate(kFile, 0) == 0 &&
                pwrite(kFile, data, size, 0) == static_cast<ssize_t>(size));
  const auto tokenizer = headwise::Tokenizer::read(kPath);
  if (!tokenizer) {
    fuzz::require(!tokenizer.error().message().empty());
    return 0;
  }
  fuzz::call_all(*tokenizer, static_cast<unsigned>(size % 256));
  return 0;
}
