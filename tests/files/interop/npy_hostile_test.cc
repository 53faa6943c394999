// Files that are not what they must be: an error each, never a crash.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "headwise/interop/npy.h"
#include "interop/files.h"
#include "interop/hostile_shapes.h"
#include "support/errors.h"
#include "support/matchers.h"

namespace headwise::testing_support {
namespace {

Error error_of(std::span<const std::byte> file) {
  const Result<Array> array = parse_npy(file, "x.npy");
  if (array) {
    ADD_FAILURE() << "no error";
    return ErrorCode::device_error;
  }
  EXPECT_EQ(array.error().details().operation, "parse_npy");
  EXPECT_EQ(array.error().details().file, "x.npy");
  return array.error();
}

Error error_of_header(std::string_view dict, std::size_t data_bytes = 0) {
  return error_of(npy_file(dict, Bytes(data_bytes)));
}

// The file is refused: the error names these values.
auto IsRefused(ErrorCode code, std::vector<std::string> given,
               std::vector<std::string> expected = {}) {
  return HasError({.code = code,
                   .operation = "parse_npy",
                   .file = "x.npy",
                   .given = std::move(given),
                   .expected = std::move(expected)});
}
auto IsBad(std::vector<std::string> given,
           std::vector<std::string> expected = {}) {
  return IsRefused(ErrorCode::bad_data, std::move(given), std::move(expected));
}

TEST(NpyHostileTest, EveryPrefixOfAFileIsAnError) {
  for (const char* name : {"f4.npy", "scalar.npy", "version2.npy"}) {
    const Bytes file = file_bytes(data_path(name));
    for (std::size_t size = 0; size < file.size(); ++size) {
      // Memory of its own, so that a read beyond it is seen.
      const Bytes prefix(file.begin(),
                         file.begin() + static_cast<std::ptrdiff_t>(size));
      EXPECT_EQ(error_of(prefix).code(), ErrorCode::bad_data);
    }
  }
}

TEST(NpyHostileTest, EveryFlippedBitGivesAValueOrAnError) {
  for (const char* name : {"f4.npy", "vector.npy", "version3.npy", "b1.npy",
                           "big_endian_fortran.npy", "objects.npy"}) {
    Bytes file = file_bytes(data_path(name));
    for (std::size_t bit = 0; bit < 8 * file.size(); ++bit) {
      const auto mask = static_cast<std::byte>(1u << bit % 8);
      file[bit / 8] ^= mask;
      const Result<Array> array = parse_npy(file, "x.npy");
      if (array) {
        const Result<std::vector<std::byte>> again = format_npy(array->view());
        EXPECT_TRUE(again);
      }
      file[bit / 8] ^= mask;
    }
  }
}

TEST(NpyHostileTest, TruncatedFileSaysHowManyBytesAreMissing) {
  for (const std::size_t bytes : {40u, 49u}) {
    EXPECT_THAT(error_of_header(npy_dict("<f4", "(3, 4)"), bytes),
                IsBad({std::to_string(bytes)}, {"48", "(3, 4)", "float32"}));
  }
  const TempFolder folder;
  put_file(folder / "x.npy",
           npy_file(npy_dict("<f4", "(1099511627776, 256)"), Bytes(12)));
  EXPECT_THAT(read_npy(folder / "x.npy"),
              HasError({.code = ErrorCode::bad_data,
                        .operation = "read_npy",
                        .file = folder / "x.npy",
                        .given = {"12"},
                        .expected = {"(1099511627776, 256)"}}));
}

TEST(NpyHostileTest, ShapesWhoseProductOverflowsAreErrors) {
  int legal = 0;
  for (const Sizes& shape : hostile_shapes()) {
    const std::string text = "(" + sizes_text(shape) + ")";
    const auto bytes = product_of(shape);
    const bool empty = std::ranges::count(shape, 0u) > 0;
    const auto read = parse_npy(
        npy_file(npy_dict("<f4", text), Bytes(empty ? 0 : 4)), "x.npy");
    EXPECT_EQ(static_cast<bool>(read), bytes && (empty || *bytes == 4)) << text;
    legal += read ? 1 : 0;
  }
  EXPECT_GT(legal, 100);
  for (const char* beyond : {"9223372036854775808", "18446744073709551616",
                             "99999999999999999999999999"}) {
    for (const char* other : {"", "0, ", "1, "}) {
      const std::string shape = "(" + std::string(other) + beyond + ",)";
      EXPECT_THAT(error_of_header(npy_dict("|u1", shape)), IsBad({"2^63 - 1"}));
    }
  }
  // An axis of extent 0 hides no overflow.
  EXPECT_THAT(error_of_header(npy_dict("<f4", "(0, 4611686018427387904, 2)")),
              IsBad({"(0, 4611686018427387904, 2)"}));
  EXPECT_THAT(error_of_header(npy_dict("|u1", "(18446744073709551615,)")),
              IsBad({"2^63 - 1"}));
  EXPECT_THAT(error_of_header(npy_dict("|u1", "(-1,)")), IsBad({}, {"size"}));
}

// llama.cpp #24263: a size of 0 was divided by.
TEST(NpyHostileTest, SizesOfZeroAreHarmlessEverywhere) {
  for (const char* shape :
       {"(0,)", "(0, 3)", "(3, 0)", "(2, 0, 3)", "(0, 0)"}) {
    for (const char* type : {"<f4", ">f8", "|b1", "<f2"}) {
      for (const char* fortran_order : {"False", "True"}) {
        const auto array =
            parse_npy(npy_file(npy_dict(type, shape, fortran_order), {}),
                      "x.npy")
                .value();
        EXPECT_TRUE(check_finite(array, "test", "x"));
        const auto again = format_npy(array.view()).value();
        EXPECT_EQ(parse_npy(again, "y.npy").value().shape, array.shape);
      }
    }
  }
}

// mlx #3365
TEST(NpyHostileTest, HeaderOf4GibInA12ByteFileIsAnError) {
  Bytes file = bytes_of("\x93NUMPY");
  append_number(file, 2, 2);
  append_number(file, 0xffffffff, 4);
  ASSERT_EQ(file.size(), 12u);
  EXPECT_THAT(error_of(file), IsBad({"4294967295"}));
}

TEST(NpyHostileTest, ObjectsAreRefusedBecauseTheyAreAPickle) {
  EXPECT_THAT(error_of(file_bytes(data_path("objects.npy"))),
              IsRefused(ErrorCode::unsupported, {"pickle"}));
}

TEST(NpyHostileTest, TypesThatAreNotReadAreRefusedByName) {
  for (const auto& [descr, named] :
       {std::pair{"<c8", "complex"}, std::pair{"<U4", "text"},
        std::pair{"|S4", "text"}, std::pair{"|V2", "bfloat16"},
        std::pair{"<M8[ns]", "dates"}, std::pair{"<f16", "'<f16'"},
        std::pair{"", "''"}, std::pair{"<", "'<'"}, std::pair{"<f", "'<f'"}}) {
    EXPECT_THAT(error_of_header(npy_dict(descr, "(1,)"), 8),
                IsRefused(ErrorCode::unsupported, {named}, {"f2 f4 f8"}));
  }
  EXPECT_THAT(
      error_of_header("{'descr': [('a', '<f4')], 'fortran_order': False, "
                      "'shape': (1,)}"),
      IsRefused(ErrorCode::unsupported, {"records"}, {"f2 f4 f8"}));
}

TEST(NpyHostileTest, HeaderWithOtherThanTheThreeKeysIsAnError) {
  EXPECT_THAT(error_of_header("{'descr': '<f4', 'shape': (1,)}", 4),
              IsBad({"'fortran_order'"}));
  EXPECT_THAT(error_of_header("{'descr': '<f4', 'descr': '<f4'}", 4),
              IsBad({"'descr'", "twice"}));
  EXPECT_THAT(error_of_header("{'a\x1b[31m': 1}"), IsBad({"'a\\x1b[31m'"}));
  EXPECT_THAT(error_of_header("{}"), IsBad({"'descr'"}));
}

TEST(NpyHostileTest, HeaderThatIsNoDictOfPlainValuesIsAnError) {
  const std::string start = "{'descr': '<f4', 'fortran_order': ";
  for (const std::string& dict : {std::string(),
                                  std::string("{"),
                                  std::string("()"),
                                  npy_dict("<f4", "1"),
                                  npy_dict("<f4", "(1)"),
                                  npy_dict("<f4", "(,)"),
                                  npy_dict("<f4", "(1,,)"),
                                  npy_dict("<f4", "(1 1)"),
                                  npy_dict("<f4", "[1]"),
                                  npy_dict("<f4", "(01,)"),
                                  npy_dict("<f4", "(1_0,)"),
                                  npy_dict("<f4", "(1.0,)"),
                                  npy_dict("<f4", "(True,)"),
                                  npy_dict("<f4", "(1,)", "0"),
                                  npy_dict("<f4", "(1,)", "TrueFalse"),
                                  npy_dict("<f4", "(1,)") + "x",
                                  npy_dict("\\x3cf4", "(1,)"),
                                  start + "False, 'shape': (1,)",
                                  start + "False 'shape': (1,)}",
                                  start + "False,, 'shape': (1,)}",
                                  std::string("{'descr"),
                                  std::string("{'descr' '<f4'}"),
                                  std::string(70, '{')}) {
    const Error error = error_of(npy_file(dict, Bytes(4)));
    EXPECT_EQ(error.code(), ErrorCode::bad_data) << dict;
  }
}

TEST(NpyHostileTest, MoreThan32AxesAreAnError) {
  std::string shape = "(";
  for (int axis = 0; axis < 32; ++axis) {
    shape += "1, ";
  }
  EXPECT_TRUE(
      parse_npy(npy_file(npy_dict("|u1", shape + ")"), Bytes(1)), "x.npy"));
  EXPECT_THAT(error_of_header(npy_dict("|u1", shape + "1)"), 1), IsBad({"32"}));
}

TEST(NpyHostileTest, OtherVersionsAndOtherFilesAreErrors) {
  Bytes file = file_bytes(data_path("f4.npy"));
  file[7] = std::byte{1};
  EXPECT_THAT(error_of(file),
              IsRefused(ErrorCode::unsupported, {"1.1"}, {"1.0, 2.0 or 3.0"}));
  file[6] = std::byte{4};
  EXPECT_EQ(error_of(file).code(), ErrorCode::unsupported);
  EXPECT_THAT(error_of(bytes_of("PK\x03\x04 what follows")),
              IsBad({".npy"}, {"\\x93NUMPY"}));
}

}  // namespace
}  // namespace headwise::testing_support
