// How the parts of an error become a line of text. Other tests compare parts.
#include <gtest/gtest.h>

#include <limits>

#include "headwise/base/result.h"

namespace headwise {
namespace {

std::string text_of(const ErrorDetails& details,
                    ErrorCode code = ErrorCode::bad_data) {
  return Error(code, details).message();
}

TEST(ErrorTest, AnArgumentIsTheSubject) {
  EXPECT_EQ(text_of({.operation = "attention",
                     .argument = "mask.key_lengths[0]",
                     .given = "is 7",
                     .expected = "0 to Lkv = 6"}),
            "attention: mask.key_lengths[0] is 7, expected 0 to Lkv = 6");
  EXPECT_EQ(text_of({.argument = "--keep", .given = "is 7"}), "--keep is 7");
}

TEST(ErrorTest, AFileOrAnEntryInItIsTheSubject) {
  EXPECT_EQ(
      text_of({.operation = "read_npy", .file = "q.npy", .given = "is empty"}),
      "read_npy: q.npy is empty");
  EXPECT_EQ(text_of({.operation = "read_npz",
                     .file = "q.npz",
                     .entry = "a.npy",
                     .byte = 12,
                     .given = "has a malformed header",
                     .expected = "'{'"}),
            "read_npz: q.npz: a.npy has a malformed header at byte 12, "
            "expected '{'");
}

TEST(ErrorTest, WhatTheSystemSaysStandsByItself) {
  EXPECT_EQ(text_of({.operation = "read_npy",
                     .file = "q.npy",
                     .system_error = 2,
                     .given = "No such file or directory"}),
            "read_npy: q.npy: No such file or directory");
}

TEST(ErrorTest, WithoutASubjectItIsAClause) {
  EXPECT_EQ(text_of({.operation = "linear",
                     .given = "the parameters were kept for inference",
                     .expected = "a layer that can be trained"}),
            "linear: the parameters were kept for inference, expected a layer "
            "that can be trained");
  EXPECT_EQ(text_of({.given = "gone"}), "gone");
}

TEST(ErrorTest, AHintEndsIt) {
  EXPECT_EQ(text_of({.argument = "--lang",
                     .given = "is de",
                     .expected = "one of en, ko",
                     .hint = "did you mean en?"}),
            "--lang is de, expected one of en, ko; did you mean en?");
  EXPECT_EQ(text_of({.given = "gone", .hint = "look again"}),
            "gone; look again");
}

TEST(ErrorTest, WithoutWordsTheCodeSaysWhatIsWrong) {
  EXPECT_EQ(Error(ErrorCode::unsupported).message(), "unsupported");
  EXPECT_EQ(text_of({}), "bad data");
  EXPECT_EQ(text_of({.file = "q.npy"}), "q.npy: bad data");
}

TEST(ErrorTest, OutOfMemoryTellsTheBytesWhereTheyAreKnown) {
  constexpr auto kMost = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(Error(ErrorCode::out_of_memory).message(), "out of memory");
  EXPECT_EQ(Error::no_memory_for(9).message(),
            "out of memory: 9 bytes are needed");
  EXPECT_EQ(Error::no_memory_for((1 << 20) - 1).message(),
            "out of memory: 1048575 bytes are needed");
  EXPECT_EQ(Error::no_memory_for(137439094336).message(),
            "out of memory: 131073 MiB are needed");
  EXPECT_EQ(Error::no_memory_for(kMost).message(),
            "out of memory: more bytes are needed than can be counted");
  EXPECT_EQ(Error::no_memory_for(9).code(), ErrorCode::out_of_memory);
}

TEST(ErrorTest, AnotherCodeKeepsTheDetails) {
  const Error error{ErrorCode::invalid_argument,
                    {.argument = "x", .given = "is 7"}};
  const Error other = error.with_code(ErrorCode::bad_data);
  EXPECT_EQ(other.code(), ErrorCode::bad_data);
  EXPECT_EQ(other.message(), error.message());
  EXPECT_EQ(&other.details(), &error.details());  // shared
}

}  // namespace
}  // namespace headwise
