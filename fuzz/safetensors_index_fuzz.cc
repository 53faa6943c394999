// Any text gives names of shards without a path, or an error.
#include <cstdint>
#include <cstdlib>

#include "interop/safetensors_index.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const auto names = headwise::parse_safetensors_index(
      {reinterpret_cast<const char*>(data), size}, {"", "fuzz"});
  if (!names) {
    return 0;
  }
  for (const auto& [tensor, shard] : *names) {
    if (shard.find('/') != std::string::npos ||
        !shard.ends_with(".safetensors")) {
      std::abort();
    }
  }
  return 0;
}
