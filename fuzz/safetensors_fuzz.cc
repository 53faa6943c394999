// Any bytes give a file or an error; each tensor of a file can be had, and what
// the file is written as is read as the same file.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "headwise/interop/safetensors.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size,
                                        std::size_t max_size);

// Changes that leave the length of the header right, every other time: few
// would get past it otherwise.
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data,
                                               std::size_t size,
                                               std::size_t max_size,
                                               unsigned int seed) {
  constexpr std::size_t kLengthBytes = 8;
  size = LLVMFuzzerMutate(data, size, max_size);
  if (seed % 2 == 0 || size < kLengthBytes) {
    return size;
  }
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  // Behind the last '}', or at the end of the length where there is none.
  const std::size_t end =
      std::max(text.find_last_of('}') + 1, std::size_t{kLengthBytes});
  for (std::size_t i = 0; i < kLengthBytes; ++i) {
    data[i] = static_cast<std::uint8_t>((end - kLengthBytes) >> (8 * i) & 0xff);
  }
  return size;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const auto file =
      headwise::parse_safetensors(std::as_bytes(std::span(data, size)), "fuzz");
  if (!file) {
    return 0;
  }
  std::map<std::string, headwise::SafetensorsTensor> tensors;
  std::map<std::string, headwise::AnyView> views;
  for (const auto& [name, entry] : file->tensors()) {
    tensors[name] = file->tensor(name).value();
    views.emplace(name, tensors[name].view);
  }
  const auto bytes = headwise::format_safetensors(views, file->metadata());
  if (!bytes) {
    std::abort();
  }
  const auto again = headwise::parse_safetensors(*bytes, "again");
  if (!again || again->metadata() != file->metadata() ||
      again->tensors().size() != file->tensors().size()) {
    std::abort();
  }
  for (const auto& [name, entry] : file->tensors()) {
    const auto before = file->array(name);
    const auto after = again->array(name);
    if (!before || !after || before->dtype != after->dtype ||
        before->shape != after->shape || before->data != after->data) {
      std::abort();
    }
  }
  return 0;
}
