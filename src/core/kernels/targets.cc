#include "headwise/kernels/targets.h"

#include <hwy/highway.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/out_of_memory.h"
#include "kernels/native_pairs.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

std::int64_t available() { return hwy::SupportedTargets() & HWY_TARGETS; }

std::string name_of(std::int64_t target) {
  std::string name = hwy::TargetName(target);
  std::ranges::transform(name, name.begin(), [](unsigned char c) {
    return static_cast<char>(std::tolower(c));
  });
  return name;
}

std::vector<std::int64_t> best_first(std::int64_t targets) {
  std::vector<std::int64_t> list;
  for (; targets != 0; targets &= targets - 1) {  // a lower bit is better
    list.push_back(targets & -targets);
  }
  return list;
}

// Makes Highway's dispatch use the forced target.
Status force_target() {
  const char* forced = std::getenv("HEADWISE_TARGET");
  if (forced == nullptr || *forced == '\0') {
    return ok();
  }
  std::string names;
  for (const std::int64_t target : best_first(available())) {
    if (name_of(target) == forced) {
      hwy::SetSupportedTargetsForTest(target);
      return ok();
    }
    names += (names.empty() ? "" : ", ") + name_of(target);
  }
  return Error{ErrorCode::unsupported,
               ErrorDetails{.argument = "HEADWISE_TARGET",
                            .given = message("is {}", forced),
                            .expected = message("one of {}", names)}};
}

Status check_bf16() {
  const char* const choice = std::getenv("HEADWISE_BF16");
  if (choice == nullptr || *choice == '\0' ||
      std::string_view(choice) == "emulated") {
    return ok();
  }
  return Error{ErrorCode::unsupported,
               ErrorDetails{.argument = "HEADWISE_BF16",
                            .given = message("is {}", choice),
                            .expected = "emulated or nothing"}};
}

Status check_environment() {
  HEADWISE_TRY(force_target());
  return check_bf16();
}

}  // namespace

std::vector<std::string> available_targets() {
  std::vector<std::string> names;
  for (const std::int64_t target : best_first(available())) {
    names.push_back(name_of(target));
  }
  return names;
}

Status check_target() try {
  static const Status checked = check_environment();
  return checked;
} catch (...) {
  return caught_out_of_memory();
}

Result<std::string> current_target() try {
  HEADWISE_TRY(check_target());
  return name_of(best_first(available()).front());
} catch (...) {
  return caught_out_of_memory();
}

Result<bool> native_bf16() try {
  HEADWISE_TRY(check_target());
  return best_first(available()).front() == HWY_AVX3 && kernels::native_pairs();
} catch (...) {
  return caught_out_of_memory();
}

Result<std::string> bf16_projections() try {
  HEADWISE_ASSIGN(const auto native, native_bf16());
  return std::string(native ? "avx512_bf16" : "emulated");
} catch (...) {
  return caught_out_of_memory();
}

bool promises_same_bits(const std::string& target) {
  return target.starts_with("avx") || target == "neon";
}

}  // namespace headwise::inline HEADWISE_ABI
