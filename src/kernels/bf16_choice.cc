#include "kernels/bf16_choice.h"

#include <cstdlib>
#include <string_view>

#include "kernels/amx_support.h"

namespace headwise::inline HEADWISE_ABI::kernels {
namespace {

std::optional<Bf16Choice> read_choice() {
  const char* const value = std::getenv("HEADWISE_BF16");
  const std::string_view choice = value == nullptr ? "" : value;
  if (choice.empty()) {
    return Bf16Choice::best;
  }
  if (choice == "emulated") {
    return Bf16Choice::emulated;
  }
  if (choice == "amx") {
    return Bf16Choice::amx;
  }
  if (choice == "amx_emulated") {
    return Bf16Choice::amx_emulated;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Bf16Choice> bf16_choice() {
  static const std::optional<Bf16Choice> choice = read_choice();
  return choice;
}

bool native_pairs() {
#if defined(__x86_64__) || defined(__i386__)
  static const bool native = __builtin_cpu_supports("avx512bf16") != 0 &&
                             bf16_choice() != Bf16Choice::emulated;
  return native;
#else
  return false;
#endif
}

Bf16Tiles bf16_tiles() {
  static const Bf16Tiles tiles = [] {
    if (bf16_choice() == Bf16Choice::amx_emulated) {
      return Bf16Tiles::emulated;
    }
    return bf16_choice() == Bf16Choice::amx && request_amx()
               ? Bf16Tiles::processor
               : Bf16Tiles::none;
  }();
  return tiles;
}

}  // namespace headwise::inline HEADWISE_ABI::kernels
