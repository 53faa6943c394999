
#include "headwise/models/vocabulary.h"

#include <string>
#include <utility>

#include "interop/files.h"
#include "models/vocabularies.h"
#include "support/errors.h"
#include "support/matchers.h"

namespace headwise::testing_support {
namespace {

TEST(VocabularyTest, TheLineIsTheId) {
  const Vocabulary vocabulary = vocabulary_of({"the", "##s", "h\xC3\xA9"});
  ASSERT_EQ(vocabulary.size(), 8u);
  EXPECT_EQ(vocabulary.token(0), "[PAD]");
  EXPECT_EQ(vocabulary.token(5), "the");
  EXPECT_EQ(vocabulary.token(7), "h\xC3\xA9");
  for (TokenId id = 0; id < 8; ++id) {
    EXPECT_EQ(vocabulary.find(vocabulary.token(id)), id);
  }
  EXPECT_FALSE(vocabulary.find("th"));
  EXPECT_FALSE(vocabulary.find("thee"));
  EXPECT_FALSE(vocabulary.find(""));
}

TEST(VocabularyTest, SpecialTokensAreFoundWhereverTheyStand) {
  const auto vocabulary =
      parse_vocabulary("x\n[SEP]\n[CLS]\n[UNK]\n[PAD]", "test").value();
  EXPECT_EQ(vocabulary.pad(), 4);
  EXPECT_EQ(vocabulary.unk(), 3);
  EXPECT_EQ(vocabulary.cls(), 2);
  EXPECT_EQ(vocabulary.sep(), 1);
  EXPECT_THAT(vocabulary.special_tokens(), ElementsAre(4, 3, 2, 1));
  EXPECT_THAT(vocabulary_of({}).special_tokens(), ElementsAre(0, 1, 2, 3, 4));
}

TEST(VocabularyTest, LinesMayEndLikeThoseOfWindowsAndTheLastMayNotEndAtAll) {
  const auto vocabulary =
      parse_vocabulary("[PAD]\r\n[UNK]\r\n[CLS]\r\n[SEP]\r\nthe", "test")
          .value();
  EXPECT_EQ(vocabulary.size(), 5u);
  EXPECT_EQ(vocabulary.find("the"), 4);
}

// ---- The longest match. ----

TEST(VocabularyTest, AByteOrderMarkIsSkipped) {
  const auto vocabulary =
      parse_vocabulary("\xEF\xBB\xBF[PAD]\n[UNK]\n[CLS]\n[SEP]\n", "test")
          .value();
  EXPECT_EQ(vocabulary.token(0), "[PAD]");
}

// Bytes above 0x7f are larger than ASCII, as char they might be less.
TEST(VocabularyTest, TokensAreFoundWhateverTheirBytes) {
  const Vocabulary vocabulary =
      vocabulary_of({"\xC3\xA9", "~", "a\xC3\xA9", "az", "a", "\x7f"});
  for (TokenId id = 5; id < 11; ++id) {
    EXPECT_EQ(vocabulary.find(vocabulary.token(id)), id);
  }
}

// ---- Files that are wrong. ----

// The vocabulary is refused: the error is about this line, or about the whole,
// and names these values.
void expect_refused(const std::string& text, const std::string& line,
                    const std::vector<std::string>& given,
                    const std::vector<std::string>& expected = {}) {
  EXPECT_THAT(parse_vocabulary(text, "vocab.txt"),
              HasError({.code = ErrorCode::bad_data,
                        .operation = "parse_vocabulary",
                        .file = "vocab.txt",
                        .entry = line,
                        .given = given,
                        .expected = expected}))
      << text.substr(0, 200);
}

TEST(VocabularyTest, AFileWithoutTokens) { expect_refused("", "", {"empty"}); }

TEST(VocabularyTest, AnEmptyLineIsNamed) {
  expect_refused("\n", "line 1", {"empty"});
  expect_refused(vocabulary_text({"a", "", "b"}), "line 7", {"empty"});
  expect_refused(vocabulary_text({"a", "\r"}), "line 7", {"empty"});
  expect_refused(vocabulary_text({"a", ""}), "line 7", {"empty"});
}

TEST(VocabularyTest, ATokenThatIsThereTwice) {
  expect_refused(vocabulary_text({"the", "b", "c", "c", "b", "the"}), "line 9",
                 {"\"c\"", "line 8"});
  expect_refused(vocabulary_text({"\x1b[2J", "\x1b[2J", "\x1b[2J"}), "line 7",
                 {"\"\\x1b[2J\"", "line 6"});
  expect_refused(vocabulary_text({"[SEP]"}), "line 6", {"\"[SEP]\"", "line 4"});
}

TEST(VocabularyTest, ATokenThatIsNoUtf8) {
  expect_refused(vocabulary_text({"a", "b\xff"}), "line 7", {"UTF-8", "1"});
  expect_refused(vocabulary_text({"\xC3"}), "line 6", {"UTF-8", "0"});
}

TEST(VocabularyTest, ATokenThatIsTooLong) {
  const std::string longest(kLongestToken, 'x');
  EXPECT_TRUE(parse_vocabulary(vocabulary_text({longest}), "vocab.txt"));
  expect_refused(vocabulary_text({longest + "x"}), "line 6", {"513"}, {"512"});
}

TEST(VocabularyTest, ASpecialTokenThatIsMissing) {
  for (const std::string missing : {"[PAD]", "[UNK]", "[CLS]", "[SEP]"}) {
    std::string text = vocabulary_text({"a"});
    text.replace(text.find(missing), missing.size(), "x");
    expect_refused(text, "", {missing});
  }
}

TEST(VocabularyTest, AFileThatIsTooLarge) {
  expect_refused(std::string(kLargestVocabulary + 1, 'x'), "", {"67108865"},
                 {"67108864"});
}

TEST(VocabularyTest, AFileIsReadAndNamed) {
  const TempFolder folder;
  const std::string path = folder / "vocab.txt";
  put_file(path, bytes_of(vocabulary_text({"the"})));
  const auto vocabulary = read_vocabulary(path).value();
  EXPECT_EQ(vocabulary.token(5), "the");
  put_file(path, bytes_of("[PAD]\n[PAD]\n"));
  EXPECT_THAT(read_vocabulary(path),
              HasError({.code = ErrorCode::bad_data,
                        .operation = "read_vocabulary",
                        .file = path,
                        .entry = "line 2",
                        .given = {"\"[PAD]\"", "line 1"}}));
  EXPECT_THAT(read_vocabulary(folder / "none.txt"),
              HasError({.code = ErrorCode::io_error,
                        .operation = "read_vocabulary",
                        .file = folder / "none.txt",
                        .system_error = ENOENT}));
}

TEST(VocabularyTest, AMovedVocabularyIsTheSame) {
  Vocabulary vocabulary = vocabulary_of({"the"});
  const Vocabulary moved = std::move(vocabulary);
  EXPECT_EQ(moved.token(5), "the");
  EXPECT_EQ(moved.find("the"), 5);
}

}  // namespace
}  // namespace headwise::testing_support
