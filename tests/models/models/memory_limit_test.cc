// No text file of a model takes more memory than 16 times its size.
#include <gtest/gtest.h>

#include "models/model_files.h"
#include "support/memory.h"
#include "transformer/kept_heads.h"

namespace headwise::testing_support {
namespace {

std::string number(std::size_t n) { return "\"" + std::to_string(n) + "\":1"; }

TEST(MemoryLimitTest, SettingsTakeAtMostSixteenTimesTheirSize) {
  const auto list_of = [](const std::string& start, const std::string& piece) {
    return repeated(start, ",", [&](std::size_t) { return piece; });
  };
  const std::string fill(kCostlyFileBytes, 'x');
  for (const std::string& text :
       {repeated("{", ",", number), repeated("{\"a\":{", ",", number),
        list_of("{\"pooling_mode\":[", "\"\""),
        list_of("{\"pooling_mode\":[", "[]"), list_of("[", "{}"),
        list_of("{\"a\":[", "{}"), R"({"model_type":")" + fill + "\"}",
        R"({"pooling_mode":")" + fill + "\"}", "{\"" + fill + "\":1}",
        "{\"hidden_size\":" + std::string(kCostlyFileBytes, '1') + "}",
        R"([{"type":")" + fill + "\"}]"}) {
    const auto parse_it = [&] {
      static_cast<void>(parse_sentence_modules(text, {"", "x"}));
      static_cast<void>(parse_pooling(text, {"", "x"}, 384));
      static_cast<void>(parse_tokenizer_config(text, {"", "x"}));
    };
    EXPECT_LT(memory_of(text.size(), parse_it), 16) << text.substr(0, 40);
  }
}

TEST(MemoryLimitTest, TheTextOfKeptHeadsTakesAtMostSixteenTimesItsSize) {
  const auto list_of = [](const std::string& start, const std::string& piece) {
    return repeated(start, ",", [&](std::size_t) { return piece; });
  };
  for (const std::string& text :
       {std::string(kCostlyFileBytes, '['), list_of("[", "[]"),
        list_of("[[", "1"), list_of("[", "0"), list_of("[", "{}"),
        std::string(kCostlyFileBytes, 'x')}) {
    const SafetensorsMetadata kept = {{"kept_heads", text}};
    const SafetensorsMetadata counted = {{"kept_heads", "[[0],[]]"},
                                         {"num_heads", text}};
    for (const auto* metadata : {&kept, &counted}) {
      EXPECT_LT(
          memory_of(
              text.size(),
              [&] {
                KeptHeadLists kept;
                EXPECT_FALSE(read_kept_heads(*metadata, {"", "x"}, 2, 3, kept));
              }),
          16)
          << text.substr(0, 40);
    }
  }
}

}  // namespace
}  // namespace headwise::testing_support
