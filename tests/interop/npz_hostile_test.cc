// Archives that are not what they must be: an error each, never a crash.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "headwise/interop/npz.h"
#include "interop/zip_file.h"

namespace headwise {
namespace {

using testing::HasSubstr;

const Bytes kArray = npy_file(npy_dict("|u1", "(3,)"), bytes_of("abc"));

Error error_of(std::span<const std::byte> file) {
  const auto arrays = parse_npz(file, "x.npz");
  if (arrays) {
    ADD_FAILURE() << "no error";
    return ErrorCode::device_error;
  }
  EXPECT_THAT(arrays.error().message(), HasSubstr("parse_npz: x.npz"));
  return arrays.error();
}

TEST(NpzHostileTest, EveryPrefixOfAnArchiveIsAnError) {
  for (const char* name : {"stored.npz", "deflated.npz"}) {
    const Bytes file = file_bytes(data_path(name));
    for (std::size_t size = 0; size < file.size(); ++size) {
      error_of(Bytes(file.begin(),
                     file.begin() + static_cast<std::ptrdiff_t>(size)));
    }
  }
}

TEST(NpzHostileTest, EveryFlippedBitGivesAValueOrAnError) {
  for (const char* name : {"stored.npz", "deflated.npz", "none.npz"}) {
    Bytes file = file_bytes(data_path(name));
    for (std::size_t bit = 0; bit < 8 * file.size(); ++bit) {
      const auto mask = static_cast<std::byte>(1u << bit % 8);
      file[bit / 8] ^= mask;
      const auto arrays = parse_npz(file, "x.npz");
      if (!arrays) {
        EXPECT_FALSE(arrays.error().message().empty());
      }
      file[bit / 8] ^= mask;
    }
  }
}

TEST(NpzHostileTest, WrongCrcIsAnErrorThatNamesTheEntry) {
  const Error error =
      error_of(zip_file({{.name = "a.npy", .data = kArray},
                         {.name = "b.npy", .data = kArray, .crc_error = 1}}));
  EXPECT_EQ(error.code(), ErrorCode::bad_data);
  EXPECT_EQ(
      error.message(),
      "parse_npz: x.npz: b.npy cannot be read as a zip archive: CRC error");
}

TEST(NpzHostileTest, SizeThatIsNotTheHeadersIsAnError) {
  for (const std::uint32_t wrong : {1u, 1u << 30, 0xffffffffu}) {
    for (const bool zip64 : {false, true}) {
      error_of(zip_file({{.name = "a.npy",
                          .data = kArray,
                          .size_error = wrong,
                          .zip64 = zip64}}));
    }
  }
  const Error error = error_of(
      zip_file({{.name = "a.npy",
                 .data = npy_file(npy_dict("<f4", "(1099511627776, 99)"),
                                  bytes_of("abc"))}}));
  EXPECT_THAT(error.message(), HasSubstr("has 3 bytes of data"));
}

TEST(NpzHostileTest, MegabyteBehindAHeaderOf16BytesIsNotUnpacked) {
  EXPECT_THAT(
      error_of(file_bytes(data_path("bomb_header.npz"))).message(),
      HasSubstr(
          "a.npy has 1048592 bytes of data, expected 16 for (4) float32"));
  EXPECT_THAT(error_of(file_bytes(data_path("bomb_directory.npz"))).message(),
              HasSubstr("x.npz: a.npy"));
}

// 16 MiB in 16 KB: deflate can do no more than 1032 : 1, and an archive that
// is said to do so is not unpacked at all.
TEST(NpzHostileTest, MoreThanAThousandTimesTheArchiveIsNotUnpacked) {
  const std::string said =
      "parse_npz: x.npz has entries that unpack to more than 1000 "
      "times its ";
  EXPECT_THAT(error_of(file_bytes(data_path("bomb_zeros.npz"))).message(),
              testing::StartsWith(said));
  // What one of two entries may take, both may not.
  ZipEntry a{.name = "a.npy", .data = kArray, .size_error = 250'000};
  ZipEntry b{.name = "b.npy", .data = kArray};
  EXPECT_THAT(error_of(zip_file({a, b})).message(), HasSubstr("a.npy has "));
  b.size_error = a.size_error;
  EXPECT_THAT(error_of(zip_file({a, b})).message(), testing::StartsWith(said));
}

// Entries that share their bytes (42 KB that unpack to 5 GB).
TEST(NpzHostileTest, EntriesThatOverlapAreAnError) {
  Bytes file = zip_file(
      {{.name = "a.npy", .data = kArray}, {.name = "b.npy", .data = kArray}});
  // The second entry of the directory: its name, and its place in the file.
  const std::string text(reinterpret_cast<const char*>(file.data()),
                         file.size());
  const std::size_t second = text.rfind("PK\x01\x02");
  ASSERT_NE(second, std::string::npos);
  std::fill_n(file.begin() + static_cast<std::ptrdiff_t>(second) + 42, 4,
              std::byte{0});
  error_of(file);
}

TEST(NpzHostileTest, TwoEntriesOfOneNameAreAnError) {
  EXPECT_THAT(error_of(zip_file({{.name = "a.npy", .data = kArray},
                                 {.name = "a.npy", .data = kArray}}))
                  .message(),
              HasSubstr("has two entries of one name"));
}

TEST(NpzHostileTest, NamesThatArePathsOrNoTextAreErrors) {
  for (const auto& [name, said] :
       {std::pair<std::string, const char*>{"/etc/a.npy", "absolute path"},
        {"../a.npy", "'..'"},
        {"a/../../b.npy", "'..'"},
        {"a/...npy", "'..'"},
        {"a\\b.npy", "backslash"},
        {"a\x1b[31m.npy", "a\\x1b[31m.npy"},
        {"a\xff.npy", "expected UTF-8 text"},
        {".npy", "has no name"},
        {"", ""},
        {"folder/", "does not end in .npy"},
        {"a.txt", "does not end in .npy"}}) {
    const Error error = error_of(zip_file({{.name = name, .data = kArray}}));
    EXPECT_EQ(error.code(), ErrorCode::bad_data) << name;
    EXPECT_THAT(error.message(), HasSubstr(said));
  }
  // A NUL ends no name.
  const auto nul = parse_npz(
      zip_file({{.name = std::string("a.npy\0b.npy", 11), .data = kArray}}),
      "x.npz");
  ASSERT_TRUE(nul) << nul.error().message();
  EXPECT_TRUE(nul->contains("a.npy b"));
  EXPECT_TRUE(parse_npz(
      zip_file({{.name = "\xea\xb0\x80/a..b.npy", .data = kArray}}), "x.npz"));
}

TEST(NpzHostileTest, EncryptionAndOtherCompressionAreRefusedByName) {
  const Error encrypted =
      error_of(zip_file({{.name = "a.npy", .data = kArray, .flags = 1}}));
  EXPECT_EQ(encrypted.code(), ErrorCode::unsupported);
  EXPECT_THAT(encrypted.message(), HasSubstr("encrypted"));
  const Error compressed = error_of(file_bytes(data_path("bzip2.npz")));
  EXPECT_EQ(compressed.code(), ErrorCode::unsupported);
  EXPECT_THAT(compressed.message(), HasSubstr("by method 12"));
}

TEST(NpzHostileTest, EntryThatIsNoArrayIsAnError) {
  EXPECT_THAT(error_of(zip_file({{.name = "a.npy", .data = bytes_of("text")}}))
                  .message(),
              HasSubstr("a.npy ends in its beginning at byte 4"));
  EXPECT_EQ(error_of(zip_file({{.name = "a.npy",
                                .data = file_bytes(data_path("objects.npy"))}}))
                .code(),
            ErrorCode::unsupported);
}

}  // namespace
}  // namespace headwise
