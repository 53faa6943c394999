#include <gtest/gtest.h>

#include <string>

#include "headwise/prune/importance.h"
#include "interop/files.h"

namespace headwise {
namespace {

ImportanceFile file() {
  return {.method = "gradient",
          .loss = "classification",
          .model_sha256 = "ab",
          .num_heads = 2,
          .examples = 5,
          .max_tokens = 9,
          .seed = 3,
          .heads = {{0, 1}, {1}},
          .importance = {.scores = {{0.5, 0.25}, {2}},
                         .order = {{0, 1}, {0, 0}, {1, 1}}}};
}

constexpr std::string_view kText = R"({
 "examples": 5,
 "format": "headwise-importance",
 "loss": "classification",
 "max_tokens": 9,
 "method": "gradient",
 "model": {
  "num_heads": 2,
  "sha256": "ab"
 },
 "seed": 3,
 "share_a_round": null,
 "version": 1,
 "heads": [
  [0,1],
  [1]
 ],
 "scores": [
  [0.5,0.25],
  [2.0]
 ],
 "order": [[0,1],[0,0],[1,1]]
}
)";

TEST(ImportanceFileTest, IsJsonWithALineForEachLayer) {
  EXPECT_EQ(importance_json(file()), kText);
}

TEST(ImportanceFileTest, IsReadAsItWasWritten) {
  const TempFolder folder;
  ASSERT_TRUE(write_importance(folder / "s.json", file()));
  const auto read = read_importance(folder / "s.json").value();
  EXPECT_EQ(read.heads, file().heads);
  EXPECT_EQ(read.importance.scores, file().importance.scores);
  EXPECT_EQ(read.importance.order, file().importance.order);
  EXPECT_EQ(read.model_sha256, "ab");
  EXPECT_EQ(read_importance(folder / "none").error().code(),
            ErrorCode::io_error);
}

TEST(ImportanceFileTest, WithoutAnOrderItIsThatOfTheScores) {
  const std::string text(kText.substr(0, kText.find(",\n \"order\"")));
  const auto read = parse_importance(text + "}", "s.json").value();
  EXPECT_EQ(read.importance.order,
            (std::vector<HeadId>{{0, 1}, {0, 0}, {1, 1}}));
}

TEST(ImportanceFileTest, ErrorsHaveTheJsonPath) {
  std::string text(kText);
  text.replace(text.find("[2.0]"), 5, "[null]");
  const Error error = parse_importance(text, "s.json").error();
  EXPECT_EQ(error.code(), ErrorCode::bad_data);
  EXPECT_EQ(error.details().file, "s.json");
  EXPECT_EQ(error.details().entry, "scores[1][0]");
  EXPECT_EQ(error.details().expected, "a finite number");
}

}  // namespace
}  // namespace headwise
