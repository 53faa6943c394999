// Prints the seconds that opening a safetensors file takes, checks and all:
//   read_safetensors FILE mapped   its tensors in the file's own bytes
//   read_safetensors FILE read     the whole file in memory
#include <chrono>
#include <cstdio>
#include <string_view>

#include "headwise/interop/safetensors.h"

int main(int argc, char** argv) {
  using headwise::FileAccess;
  if (argc != 3) {
    std::fputs("expected FILE and mapped or read\n", stderr);
    return 2;
  }
  const bool mapped = std::string_view(argv[2]) == "mapped";
  const auto begin = std::chrono::steady_clock::now();
  const auto file = headwise::open_safetensors(
      argv[1], mapped ? FileAccess::mapped : FileAccess::read);
  const std::chrono::duration<double> took =
      std::chrono::steady_clock::now() - begin;
  if (!file) {
    std::fprintf(stderr, "%s\n", file.error().message().c_str());
    return 1;
  }
  std::printf("%.9f\n", took.count());
}
