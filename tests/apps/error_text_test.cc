// How the parts of an error become a line in Korean. The test
// tools.translations tests that every message has Korean.
#include "shell/error_text.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <limits>

#include "korean.h"
#include "shell/outcome.h"

namespace headwise::cli {
namespace {

std::string korean(const Error& error) {
  const InKorean in_korean;
  return error_text(error);
}

std::string korean(ErrorDetails details) {
  return korean({ErrorCode::bad_data, std::move(details)});
}

TEST(ErrorTextTest, EnglishIsTheMessage) {
  const Error error = option_error("--keep", "is 7", "at most 5");
  EXPECT_EQ(error_text(error), error.message());
  EXPECT_EQ(error_text(usage_error("a\033[2Jb")), "a\\x1b[2Jb");
}

TEST(ErrorTextTest, AnArgumentWhatWasGivenAndWhatWasExpected) {
  EXPECT_EQ(korean(option_error("--num-heads", message("is {}", 0),
                                "a whole number, 1 or greater")),
            "--num-heads 값이 0입니다. 1 이상의 정수여야 합니다");
  EXPECT_EQ(
      korean({.operation = "attention",
              .argument = "mask.key_lengths[0]",
              .given = message("is {}", 7),
              .expected = message("0 to Lkv = {}", 6)}),
      "attention: mask.key_lengths[0] 값이 7입니다. 0에서 Lkv = 6 사이여야 "
      "합니다");
  EXPECT_EQ(korean({.argument = "query",
                    .given = message("has shape {}", "(2, 10)"),
                    .expected = "(B, Lq) = (2, 12)"}),
            "query의 모양이 (2, 10)입니다. (B, Lq) = (2, 12)여야 합니다");
}

TEST(ErrorTextTest, WhatIsMissingIsNeeded) {
  EXPECT_EQ(korean(option_error("--tokens", "is empty", "a value")),
            "--tokens가 비어 있습니다. 값이 필요합니다");
  EXPECT_EQ(korean(option_error("--embed-dim", "has no value", "N")),
            "--embed-dim에 값이 없습니다. N이 필요합니다");
}

TEST(ErrorTextTest, WhatWasExpectedMayBeASentence) {
  EXPECT_EQ(korean(option_error("--seed", "was given more than once", "once")),
            "--seed를 두 번 이상 주었습니다. 한 번만 줄 수 있습니다");
  EXPECT_EQ(korean(option_error("--heads", message("has {}", "1.0"),
                                message("a head of another layer: layer {} has "
                                        "none left",
                                        1))),
            "--heads에 1.0이 있습니다. 다른 레이어의 헤드여야 합니다(레이어 "
            "1에는 남은 헤드가 없음)");
  EXPECT_EQ(korean(option_error("--query-offsets", message("is {}", "q.npy"),
                                message("{} too", "--offsets"))),
            "--query-offsets 값이 q.npy입니다. --offsets가 함께 필요합니다");
}

TEST(ErrorTextTest, TheFileAndTheEntryInIt) {
  EXPECT_EQ(korean({.operation = "read_npz",
                    .file = "q.npz",
                    .entry = "a.npy",
                    .byte = 12,
                    .given = "has a malformed header",
                    .expected = "a tuple"}),
            "read_npz: q.npz: a.npy의 헤더 형식이 잘못되었습니다(바이트 12). "
            "튜플이어야 합니다");
  EXPECT_EQ(korean({.operation = "--data",
                    .file = "standard input",
                    .entry = "line 3",
                    .given = "has no tab"}),
            "--data: 표준 입력: 3번째 줄에 탭이 없습니다");
}

TEST(ErrorTextTest, NamesAreNotTranslated) {
  EXPECT_EQ(korean({.file = "line 3", .entry = "layers", .given = "is empty"}),
            "line 3: layers가 비어 있습니다");
  EXPECT_EQ(
      korean({.given = message("is of another model: {}",
                               message("{} has shape {}", "x or y.w", "(2)"))}),
      "다른 모델의 것입니다: x or y.w의 모양이 (2)입니다");
}

TEST(ErrorTextTest, WhatTheSystemSaysComesFromItsNumber) {
  const Error missing = system_error({.file = "q.npy"}, ENOENT);
  EXPECT_EQ(korean(missing), "q.npy: 그런 파일이나 폴더가 없습니다");
  EXPECT_EQ(korean(system_error({.argument = "--out o/x.npy"}, EISDIR)),
            "--out o/x.npy: 폴더입니다");
  EXPECT_EQ(korean(system_error({.file = "q.npy"}, ERANGE)),
            "q.npy: 시스템 오류 34번이 났습니다");
  EXPECT_EQ(korean(failure_to_write(
                       system_error({.operation = "write_npy", .file = "o.npy"},
                                    ENOSPC))
                       .error),
            "o.npy를 쓸 수 없습니다: 디스크에 남은 공간이 없습니다");
}

TEST(ErrorTextTest, WithoutASubjectTheSentenceIsShorter) {
  EXPECT_EQ(korean({.given = "fits no layout",
                    .expected = message("one of {}", "a b")}),
            "어느 레이아웃에도 맞지 않습니다. a b 중 하나여야 합니다");
  EXPECT_EQ(korean({.operation = "train: step 7: uniform attention weights",
                    .given = message("the loss is {}", "nan")}),
            "train: 7번째 스텝: 균등 어텐션 가중치: 손실이 nan입니다");
}

TEST(ErrorTextTest, AListOfFaults) {
  EXPECT_EQ(
      korean(
          {.file = "m.npz",
           .given = message(
               "does not fit the layout {}: {}", "bert",
               message(
                   "{}; {}",
                   message("{}; {}",
                           message("{}, expected {} axes",
                                   message("{} has shape {}", "w", "(6)"), 2),
                           message("there is no {}", "b")),
                   Message("and more")))}),
      "m.npz는 레이아웃 bert에 맞지 않습니다: w의 모양이 (6)입니다. 축이 "
      "2개여야 합니다; b가 없습니다; 그 밖에도 더 있습니다");
}

TEST(ErrorTextTest, AHintEndsIt) {
  EXPECT_EQ(korean({.argument = "--lang",
                    .given = message("is {}", "de"),
                    .expected = message("one of {}", "en, ko"),
                    .hint = message("did you mean {}?", "en")}),
            "--lang 값이 de입니다. en, ko 중 하나여야 합니다. 혹시 en을 "
            "찾으셨나요?");
}

TEST(ErrorTextTest, WithoutWordsTheCodeSaysWhatIsWrong) {
  constexpr auto kMost = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(korean({.file = "q.npy"}), "q.npy: 잘못된 데이터입니다");
  EXPECT_EQ(korean(Error(ErrorCode::unsupported)), "지원하지 않습니다");
  EXPECT_EQ(korean(Error::no_memory_for(9)),
            "메모리가 부족합니다. 9바이트가 필요합니다");
  EXPECT_EQ(korean(Error::no_memory_for(137439094336)),
            "메모리가 부족합니다. 131073 MiB가 필요합니다");
  EXPECT_EQ(korean(Error::no_memory_for(kMost)),
            "메모리가 부족합니다. 필요한 크기가 셀 수 있는 범위를 넘습니다");
}

TEST(ErrorTextTest, WhatHasNoKoreanStaysAsItIs) {
  EXPECT_EQ(korean(option_error("--colour", "glows", "the colour of it")),
            "--colour: glows. the colour of it이어야 합니다");
}

}  // namespace
}  // namespace headwise::cli
