// No vocabulary takes more memory than 16 times its file and 16 MiB.
#include <gtest/gtest.h>

#include "headwise/models/vocabulary.h"
#include "support/memory.h"

namespace headwise {
namespace {

using testing_support::kCostlyFileBytes;
using testing_support::memory_of;
using testing_support::repeated;
using testing_support::short_name;

TEST(MemoryLimitTest, VocabularyTakesAtMostSixteenTimesItsSize) {
  const std::string start = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n";
  for (const std::string& text :
       {repeated(start, "\n", short_name),
        repeated(start, "\n", [](std::size_t) { return std::string("a"); }),
        std::string(kCostlyFileBytes, '\n'),
        std::string(kCostlyFileBytes, 'a')}) {
    EXPECT_LT(
        memory_of(text.size(),
                  [&] { static_cast<void>(parse_vocabulary(text, "x")); }),
        16)
        << text.substr(0, 40);
  }
}

}  // namespace
}  // namespace headwise
