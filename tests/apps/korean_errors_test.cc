#include "shell/korean_errors.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace headwise::cli {
namespace {

void expect_all(const std::vector<std::pair<std::string, std::string>>& cases) {
  for (const auto& [english, korean] : cases) {
    EXPECT_EQ(korean_error(english), korean);
  }
}

TEST(KoreanErrorTest, OptionsTheirValuesAndWhatWasExpected) {
  expect_all({
      {"--num-heads is 0, expected a whole number from 1 on",
       "--num-heads 값이 0입니다. 1 이상의 정수여야 합니다"},
      {"--dropout is 2, expected a number from 0 to 1",
       "--dropout 값이 2입니다. 0에서 1 사이의 수여야 합니다"},
      {"--seed is 99999999999999999999, expected a number that fits 64 bits",
       "--seed 값이 99999999999999999999입니다. 64비트에 들어가는 수여야 "
       "합니다"},
      {"--lang is de, expected one of en, ko; did you mean en?",
       "--lang 값이 de입니다. en, ko 중 하나여야 합니다. 혹시 en을 "
       "찾으셨나요?"},
      {"--tokens is empty, expected a value",
       "--tokens가 비어 있습니다. 값이 필요합니다"},
      {"--embed-dim has no value, expected N",
       "--embed-dim에 값이 없습니다. N이 필요합니다"},
      {"--json has a value, expected none", "--json에는 값을 주지 않습니다"},
      {"--seed was given more than once, expected once",
       "--seed를 두 번 이상 주었습니다. 한 번만 줄 수 있습니다"},
      {"--query is required", "--query가 필요합니다"},
      {"--params needs --num-heads",
       "--params를 쓰려면 --num-heads가 필요합니다"},
      {"--json and --csv exclude each other",
       "--json과 --csv는 함께 쓸 수 없습니다"},
      {"expected --out FILE.npy, or --json",
       "--out FILE.npy 또는 --json이 필요합니다"},
      {"expected one of --keep, --remove and --max-drop beside --out",
       "--out과 함께 --keep, --remove, --max-drop 중 하나가 필요합니다"},
      {"expected either --workload or --list",
       "--workload와 --list 중 하나가 필요합니다"},
  });
}

TEST(KoreanErrorTest, CommandsAndArguments) {
  expect_all({
      {"unknown command explian; did you mean explain?",
       "알 수 없는 명령입니다: explian. 혹시 explain을 찾으셨나요?"},
      {"unknown option --frob", "알 수 없는 옵션입니다: --frob"},
      {"unexpected argument \"masked\"",
       "예상하지 못한 인자입니다: \"masked\""},
  });
}

TEST(KoreanErrorTest, PlacesStandBeforeTheSentence) {
  expect_all({
      {"explain: --embed-dim is 8, expected a multiple of --num-heads, which "
       "is 3",
       "explain: --embed-dim 값이 8입니다. --num-heads(3)의 배수여야 합니다"},
      {"--query: q.npy: No such file or directory",
       "--query: q.npy: 그런 파일이나 폴더가 없습니다"},
      {"sentences: cannot read a.txt: Permission denied",
       "sentences: a.txt를 읽을 수 없습니다: 권한이 없습니다"},
      {"cannot write to standard output: No space left on device",
       "표준 출력에 쓸 수 없습니다: 디스크에 남은 공간이 없습니다"},
  });
}

TEST(KoreanErrorTest, WhatHasNoKoreanStaysEnglishInItsFrame) {
  expect_all({
      {"--colour is 5, expected the colour of something",
       "--colour 값이 5입니다. the colour of something이어야 합니다"},
      {"the loss became infinite", "오류: the loss became infinite"},
      {"", "오류: "},
  });
}

}  // namespace
}  // namespace headwise::cli
