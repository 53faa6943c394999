// No settings' file takes more memory than 16 times its size.
#include <gtest/gtest.h>

#include "models/model_files.h"
#include "support/allocations.h"

namespace headwise {
namespace {

using testing_support::live_bytes;
using testing_support::peak_bytes;

constexpr std::size_t kFileBytes = std::size_t{3} << 20;

// Times the size of the text that `work` took of memory.
template <class Work>
double memory_of(std::size_t size, const Work& work) {
  const std::size_t before = live_bytes;
  peak_bytes = before;
  work();
  return static_cast<double>(peak_bytes - before) / static_cast<double>(size);
}

// `start`, then `piece` of 0, 1, 2, .. as often as there is room.
template <class Piece>
std::string repeated(std::string start, const Piece& piece) {
  for (std::size_t n = 0; start.size() < kFileBytes; ++n) {
    start += (n == 0 ? "" : ",") + piece(n);
  }
  return start;
}

std::string number(std::size_t n) { return "\"" + std::to_string(n) + "\":1"; }
std::string same(const char* text) { return text; }

TEST(MemoryLimitTest, SettingsTakeAtMostSixteenTimesTheirSize) {
  const std::string fill(kFileBytes, 'x');
  for (const std::string& text :
       {repeated("{", number), repeated("{\"a\":{", number),
        repeated("{\"pooling_mode\":[",
                 [](std::size_t) { return same("\"\""); }),
        repeated("{\"pooling_mode\":[", [](std::size_t) { return same("[]"); }),
        repeated("[", [](std::size_t) { return same("{}"); }),
        repeated("{\"a\":[", [](std::size_t) { return same("{}"); }),
        R"({"model_type":")" + fill + "\"}",
        R"({"pooling_mode":")" + fill + "\"}", "{\"" + fill + "\":1}",
        "{\"hidden_size\":" + std::string(kFileBytes, '1') + "}",
        R"([{"type":")" + fill + "\"}]"}) {
    const double times = memory_of(text.size(), [&] {
      static_cast<void>(parse_bert_config(text, "x"));
      static_cast<void>(parse_sentence_modules(text, "x"));
      static_cast<void>(parse_pooling(text, "x", 384));
      static_cast<void>(parse_tokenizer_config(text, "x"));
    });
    EXPECT_LT(times, 16) << text.substr(0, 40);
  }
}

}  // namespace
}  // namespace headwise
