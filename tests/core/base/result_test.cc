#include "headwise/base/result.h"

#include <gtest/gtest.h>

#include <memory>

namespace headwise {
namespace {

const Error kError{
    ErrorCode::shape_mismatch,
    {.operation = "op", .argument = "x", .given = "has shape (1)"}};

TEST(ResultTest, HoldsAValueOrAnError) {
  const Result<int> value = 3;
  ASSERT_TRUE(value);
  EXPECT_EQ(*value, 3);
  const Result<int> failed = kError;
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code(), ErrorCode::shape_mismatch);
}

TEST(ResultTest, ValueThrowsTheSameText) {
  const Result<int> failed = kError;
  try {
    static_cast<void>(failed.value());
    FAIL() << "value() of an error must throw";
  } catch (const Exception& exception) {
    EXPECT_EQ(exception.what(), kError.message());
    EXPECT_EQ(exception.code(), ErrorCode::shape_mismatch);
  }
  EXPECT_THROW(Status(kError).value(), Exception);
  EXPECT_NO_THROW(ok().value());
}

TEST(ResultTest, AValueThatOnlyMovesCanBeTakenOut) {
  Result<std::unique_ptr<int>> result = std::make_unique<int>(7);
  const std::unique_ptr<int> taken = std::move(result).value();
  EXPECT_EQ(*taken, 7);
}

}  // namespace
}  // namespace headwise
