// No file of token ids takes more memory than 16 times its size and 16 MiB.
#include <gtest/gtest.h>

#include "headwise/interop/token_text.h"
#include "interop/files.h"
#include "operation/read_tokens.h"
#include "support/memory.h"

namespace headwise::cli {
namespace {

using namespace testing_support;  // NOLINT(google-build-using-namespace)

// For each of its bytes what a file of `bytes` may take.
double most_memory(std::size_t bytes) {
  return 16 + static_cast<double>(16 << 20) / static_cast<double>(bytes);
}

TEST(MemoryLimitTest, TokensTakeAtMostSixteenTimesTheirSize) {
  const TempFolder folder;
  const std::string path = folder / "tokens";
  const auto same = [](const char* text) {
    return [text](std::size_t) { return std::string(text); };
  };
  const std::string million(kMostSequences - 1, '\n');
  for (const std::string& text :
       {repeated("", " ", same("1")), repeated("", "\n", same("1")),
        "1" + million, "1" + million + std::string(1 << 20, ' '),
        "1" + std::string(kCostlyFileBytes, '\n'),
        repeated("[[", ",", same("1")) + "]]",
        repeated("[", ",", same("[]")) + "]",
        repeated("[", ",", same("[1]")) + "]", repeated("[", ",", same("[1]")),
        std::string(kCostlyFileBytes, '['), repeated("[[", ",", same("{}")),
        "[[" + std::string(kCostlyFileBytes, '1') + "]]",
        "[[\"" + std::string(kCostlyFileBytes, 'x') + "\"]]",
        std::string(kCostlyFileBytes, 'x')}) {
    put_file(path, bytes_of(text));
    EXPECT_LT(
        memory_of(text.size(),
                  [&] { static_cast<void>(read_tokens("--tokens", path)); }),
        most_memory(text.size()))
        << text.substr(0, 40);
  }
}

}  // namespace
}  // namespace headwise::cli
