#include "kernels/amx_support.h"

#if defined(__x86_64__) && defined(__linux__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#endif

namespace headwise::inline HEADWISE_ABI::kernels {

#if defined(__x86_64__) && defined(__linux__)
namespace {

bool processor_has_amx() {
  constexpr unsigned kAmxBf16 = 1u << 22;
  constexpr unsigned kAmxTile = 1u << 24;
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (d & kAmxBf16) != 0 &&
         (d & kAmxTile) != 0;
}

// Whether the operating system keeps tiles when it changes threads.
bool system_keeps_tiles() {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & bit_OSXSAVE) == 0) {
    return false;
  }
  constexpr std::uint32_t kTiles = 3u << 17;  // their shapes and their numbers
  std::uint32_t low = 0;
  std::uint32_t high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (low & kTiles) == kTiles;
}

// The numbers of <asm/prctl.h>, which older systems lack.
bool linux_permits_tiles() {
  constexpr std::int64_t kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr std::int64_t kTileNumbers = 18;            // XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, kRequestPermission, kTileNumbers) == 0;
}

}  // namespace

bool request_amx() {
  return processor_has_amx() && system_keeps_tiles() && linux_permits_tiles();
}
#else
bool request_amx() { return false; }
#endif

}  // namespace headwise::inline HEADWISE_ABI::kernels
