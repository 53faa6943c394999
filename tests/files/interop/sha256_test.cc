#include "headwise/interop/sha256.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "interop/files.h"

namespace headwise {
namespace {

// FIPS 180-4, of "abc".
constexpr std::string_view kAbc =
    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

TEST(Sha256Test, IsThatOfTheStandard) {
  EXPECT_EQ(sha256_of("abc"), kAbc);
  const Bytes a = bytes_of("a");
  const Bytes bc = bytes_of("bc");
  EXPECT_EQ(sha256_of(std::array<std::span<const std::byte>, 2>{a, bc}), kAbc);
}

TEST(Sha256Test, OfAFileIsThatOfItsBytes) {
  const TempFolder folder;
  const std::string text(3 << 20, 'x');  // more than one piece
  put_file(folder / "x", bytes_of(text));
  EXPECT_EQ(sha256_of_file(folder / "x").value(), sha256_of(text));
  EXPECT_EQ(sha256_of_file(folder / "none").error().code(),
            ErrorCode::io_error);
}

}  // namespace
}  // namespace headwise
