#include "kernels/native_pairs.h"

#if defined(__x86_64__) || defined(__i386__)
#include <cstdlib>
#include <string_view>
#endif

namespace headwise::inline HEADWISE_ABI::kernels {

#if defined(__x86_64__) || defined(__i386__)
bool native_pairs() {
  static const bool native = [] {
    const char* const choice = std::getenv("HEADWISE_BF16");
    return __builtin_cpu_supports("avx512bf16") != 0 &&
           (choice == nullptr || std::string_view(choice) != "emulated");
  }();
  return native;
}
#else
bool native_pairs() { return false; }
#endif

}  // namespace headwise::inline HEADWISE_ABI::kernels
