// verdicts READER: whether each of the files on standard input is read, a line
// each: `accepted`, or `refused: MESSAGE`. A file is its length (8 bytes,
// little endian) and its bytes.
#include <array>
#include <cstdio>
#include <string_view>
#include <vector>

#include "headwise/interop/npy.h"
#include "headwise/interop/safetensors.h"

namespace {

using Bytes = std::vector<std::byte>;

// Fills `bytes` from standard input; false at its end.
bool read(std::span<std::byte> bytes) {
  return std::fread(bytes.data(), 1, bytes.size(), stdin) == bytes.size();
}

template <class T>
void print(const headwise::Result<T>& result) {
  if (result) {
    std::puts("accepted");
  } else {
    std::printf("refused: %s\n", result.error().message().c_str());
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view reader = argc == 2 ? argv[1] : "";
  if (reader != "npy" && reader != "safetensors") {
    std::fputs("verdicts npy|safetensors <FILES\n", stderr);
    return 2;
  }
  std::array<std::byte, 8> length{};
  while (read(length)) {
    std::size_t size = 0;
    for (std::size_t i = length.size(); i-- > 0;) {
      size = size << 8 | std::to_integer<std::size_t>(length[i]);
    }
    Bytes file(size);
    if (!read(file)) {
      std::fputs("verdicts: the last file is cut off\n", stderr);
      return 1;
    }
    if (reader == "npy") {
      print(headwise::parse_npy(file, "file"));
    } else {
      print(headwise::parse_safetensors(file, "file"));
    }
  }
  return 0;
}
