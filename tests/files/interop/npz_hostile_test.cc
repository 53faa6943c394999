// Archives that are not what they must be: an error each, never a crash.

#include <string>
#include <utility>
#include <vector>

#include "headwise/interop/npz.h"
#include "interop/zip_file.h"
#include "support/errors.h"
#include "support/matchers.h"

namespace headwise::testing_support {
namespace {

const Bytes kArray = npy_file(npy_dict("|u1", "(3,)"), bytes_of("abc"));

Error error_of(std::span<const std::byte> file) {
  const auto arrays = parse_npz(file, "x.npz");
  if (arrays) {
    ADD_FAILURE() << "no error";
    return ErrorCode::device_error;
  }
  EXPECT_EQ(arrays.error().details().operation, "parse_npz");
  EXPECT_EQ(arrays.error().details().file, "x.npz");
  return arrays.error();
}

// The archive, or this entry of it, is refused: the error names these values.
auto IsRefused(ErrorCode code, std::string entry,
               std::vector<std::string> given,
               std::vector<std::string> expected = {}) {
  return HasError({.code = code,
                   .operation = "parse_npz",
                   .file = "x.npz",
                   .entry = std::move(entry),
                   .given = std::move(given),
                   .expected = std::move(expected)});
}
auto IsBad(std::string entry, std::vector<std::string> given,
           std::vector<std::string> expected = {}) {
  return IsRefused(ErrorCode::bad_data, std::move(entry), std::move(given),
                   std::move(expected));
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
  EXPECT_THAT(
      error_of(zip_file({{.name = "a.npy", .data = kArray},
                         {.name = "b.npy", .data = kArray, .crc_error = 1}})),
      IsBad("b.npy", {"CRC"}));
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
  EXPECT_THAT(error_of(zip_file(
                  {{.name = "a.npy",
                    .data = npy_file(npy_dict("<f4", "(1099511627776, 99)"),
                                     bytes_of("abc"))}})),
              IsBad("a.npy", {"3"}, {"(1099511627776, 99)"}));
}

TEST(NpzHostileTest, MegabyteBehindAHeaderOf16BytesIsNotUnpacked) {
  EXPECT_THAT(error_of(file_bytes(data_path("bomb_header.npz"))),
              IsBad("a.npy", {"1048592"}, {"16", "(4)", "float32"}));
  EXPECT_THAT(error_of(file_bytes(data_path("bomb_directory.npz"))),
              IsBad("a.npy", {}));
}

// 16 MiB in 16 KB: deflate can do no more than 1032 : 1, and an archive that
// is said to do so is not unpacked at all.
TEST(NpzHostileTest, MoreThanAThousandTimesTheArchiveIsNotUnpacked) {
  EXPECT_THAT(error_of(file_bytes(data_path("bomb_zeros.npz"))),
              IsBad("", {"1000"}));
  // What one of two entries may take, both may not.
  ZipEntry a{.name = "a.npy", .data = kArray, .size_error = 250'000};
  ZipEntry b{.name = "b.npy", .data = kArray};
  EXPECT_THAT(error_of(zip_file({a, b})), IsBad("a.npy", {}));
  b.size_error = a.size_error;
  EXPECT_THAT(error_of(zip_file({a, b})), IsBad("", {"1000"}));
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
                                 {.name = "a.npy", .data = kArray}})),
              IsBad("", {"two"}));
}

TEST(NpzHostileTest, NamesThatArePathsOrNoTextAreErrors) {
  const auto of_name = [](const std::string& name) {
    return error_of(zip_file({{.name = name, .data = kArray}}));
  };
  for (const auto& [name, named] :
       {std::pair<std::string, const char*>{"/etc/a.npy", "absolute"},
        {"../a.npy", "'..'"},
        {"a/../../b.npy", "'..'"},
        {"a/...npy", "'..'"},
        {"a\\b.npy", "backslash"},
        {".npy", "no name"}}) {
    EXPECT_THAT(of_name(name), IsBad(name, {named}));
  }
  EXPECT_THAT(of_name("a\x1b[31m.npy"), IsBad("a\\x1b[31m.npy", {}, {"UTF-8"}));
  EXPECT_THAT(of_name("a\xff.npy"), IsBad("a\xff.npy", {}, {"UTF-8"}));
  EXPECT_TRUE(parse_npz(zip_file({{.name = "", .data = kArray}}), "x.npz"));
  // A NUL ends no name.
  const auto nul =
      parse_npz(
          zip_file({{.name = std::string("a.npy\0b.npy", 11), .data = kArray}}),
          "x.npz")
          .value();
  EXPECT_TRUE(nul.contains("a.npy b"));
  EXPECT_TRUE(parse_npz(
      zip_file({{.name = "\xea\xb0\x80/a..b.npy", .data = kArray}}), "x.npz"));
}

TEST(NpzHostileTest, EncryptionAndOtherCompressionAreRefusedByName) {
  EXPECT_THAT(
      error_of(zip_file({{.name = "a.npy", .data = kArray, .flags = 1}})),
      IsRefused(ErrorCode::unsupported, "a.npy", {"encrypted"}));
  EXPECT_THAT(error_of(file_bytes(data_path("bzip2.npz"))),
              IsRefused(ErrorCode::unsupported, "a.npy", {"12"}, {"0", "8"}));
}

TEST(NpzHostileTest, EntryThatIsNoArrayIsAnError) {
  EXPECT_THAT(error_of(zip_file({{.name = "a.npy", .data = bytes_of("text")}})),
              HasError({.code = ErrorCode::bad_data,
                        .operation = "parse_npz",
                        .file = "x.npz",
                        .entry = "a.npy",
                        .byte = 4}));
  EXPECT_EQ(error_of(zip_file({{.name = "a.npy",
                                .data = file_bytes(data_path("objects.npy"))}}))
                .code(),
            ErrorCode::unsupported);
}

}  // namespace
}  // namespace headwise::testing_support
