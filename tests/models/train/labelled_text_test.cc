#include "headwise/train/labelled_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "interop/files.h"

namespace headwise {
namespace {

using testing::ElementsAre;

Error error_of(const std::string& bytes) {
  const auto text = parse_labelled_text(bytes, "a.tsv");
  EXPECT_FALSE(text);
  EXPECT_EQ(text.error().code(), ErrorCode::bad_data);
  EXPECT_EQ(text.error().details().file, "a.tsv");
  return text.error();
}

TEST(LabelledTextTest, ALineIsALabelATabAndAText) {
  const auto text =
      parse_labelled_text("\xEF\xBB\xBFgood\tone\ttwo\r\nbad\tthree", "-")
          .value();
  EXPECT_THAT(text.texts, ElementsAre("one\ttwo", "three"));
  EXPECT_THAT(text.labels, ElementsAre("good", "bad"));
  EXPECT_TRUE(text.labelled());
  EXPECT_EQ(text.line_of(1), 2u);
  EXPECT_THAT(distinct_labels(text), ElementsAre("bad", "good"));
  EXPECT_THAT(targets_of(text, {"bad", "good"}).value(), ElementsAre(1, 0));
}

TEST(LabelledTextTest, WithoutTabsEveryLineIsAText) {
  const auto text = parse_labelled_text("one\ntwo\n", "-").value();
  EXPECT_THAT(text.texts, ElementsAre("one", "two"));
  EXPECT_FALSE(text.labelled());
}

TEST(LabelledTextTest, ErrorsHaveTheLine) {
  struct Case {
    std::string bytes, entry, given;
  };
  for (const auto& [bytes, entry, given] :
       {Case{"a\tb\nc\n", "line 2", "has no tab"},
        Case{"a\nb\tc\n", "line 2", "has a tab"},
        Case{"a\tb\nc\t \n", "line 2", "has no text"},
        Case{"a\tb\n\tc\n", "line 2", "has no label"},
        Case{"", "", "is empty"}}) {
    const Error error = error_of(bytes);
    EXPECT_EQ(error.details().entry, entry);
    EXPECT_EQ(error.details().given, given);
  }
  EXPECT_EQ(error_of("a\tb\n\xff\tc\n").details().entry, "line 2");
}

TEST(LabelledTextTest, AnUnknownLabelIsAnErrorAtItsLine) {
  const auto text = parse_labelled_text("a\tone\nb\ttwo\nc\tx\n", "a.tsv");
  const auto some = spread_examples(*text, 2);
  EXPECT_THAT(some.labels, ElementsAre("a", "b"));
  const auto targets = targets_of(some, {"a", "c"});
  ASSERT_FALSE(targets);
  EXPECT_EQ(targets.error().details().entry, "line 2");
  EXPECT_EQ(targets.error().details().given, "has the label b");
  EXPECT_EQ(targets.error().details().expected, "one of the model's: a, c");
  const std::string name(45, 'x');
  const auto longer = parse_labelled_text(name + "\tone\n", "-").value();
  EXPECT_EQ(targets_of(longer, {"a"}).error().details().given,
            "has the label " + std::string(37, 'x') + "...");
}

TEST(LabelledTextTest, ExamplesAreSpreadOverAll) {
  const auto text = parse_labelled_text("0\n1\n2\n3\n4\n5\n", "-").value();
  const auto some = spread_examples(text, 3);
  EXPECT_THAT(some.texts, ElementsAre("0", "2", "4"));
  EXPECT_EQ(some.line_of(2), 5u);
  EXPECT_EQ(some.sha256(), text.sha256());
  EXPECT_EQ(spread_examples(text, 0).texts.size(), 6u);
  EXPECT_EQ(spread_examples(text, 7).texts.size(), 6u);
}

TEST(LabelledTextTest, IsReadFromAFile) {
  const TempFolder folder;
  put_file(folder / "a.tsv", bytes_of("a\tb\n"));
  EXPECT_EQ(read_labelled_text(folder / "a.tsv").value().file,
            folder / "a.tsv");
  EXPECT_EQ(read_labelled_text(folder / "b.tsv").error().code(),
            ErrorCode::io_error);
}

}  // namespace
}  // namespace headwise
