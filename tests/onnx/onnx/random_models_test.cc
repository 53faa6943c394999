// Random models, most of them changed at random, for a minute.
// HEADWISE_ONNX_SECONDS in the environment makes it longer or shorter, and
// HEADWISE_ONNX_CASE begins with another case than the first.
#include <gtest/gtest.h>
#include <sanitizer/common_interface_defs.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>

#include "onnx/onnx_case.h"

namespace headwise::testing_support {
namespace {

std::uint64_t setting(const char* name, std::uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::stoull(text);
}

std::uint64_t current = 0;  // the case that runs

void say_current() {
  std::fprintf(stderr, "in case %llu\n",
               static_cast<unsigned long long>(current));
}

TEST(RandomModelsTest, KeepThePromises) {
  using std::chrono::steady_clock;
  __sanitizer_set_death_callback(say_current);
  const auto end = steady_clock::now() +
                   std::chrono::seconds(setting("HEADWISE_ONNX_SECONDS", 60));
  const OnnxCases cases;
  const std::uint64_t first = setting("HEADWISE_ONNX_CASE", 0);
  std::uint64_t whole = 0;
  std::uint64_t ran = 0;
  std::uint64_t changed_ran = 0;
  for (current = first; steady_clock::now() < end; ++current) {
    const std::uint64_t drawn = std::mt19937_64(current)();
    std::array<std::uint8_t, sizeof drawn> bytes{};
    std::memcpy(bytes.data(), &drawn, sizeof drawn);
    const OnnxVerdict verdict = cases.run(bytes);
    whole += verdict.changed ? 0 : 1;
    ran += verdict.ran && !verdict.changed ? 1 : 0;
    changed_ran += verdict.ran && verdict.changed ? 1 : 0;
  }
  std::printf(
      "%llu cases; of %llu unchanged ones %llu ran, of the others %llu\n",
      static_cast<unsigned long long>(current - first),
      static_cast<unsigned long long>(whole),
      static_cast<unsigned long long>(ran),
      static_cast<unsigned long long>(changed_ran));
  EXPECT_GT(3 * ran, whole);
  EXPECT_GT(changed_ran, 0);
}

}  // namespace
}  // namespace headwise::testing_support
