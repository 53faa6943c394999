#include "headwise/interop/npy.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <numeric>
#include <thread>

#include "interop/files.h"
#include "support/errors.h"
#include "support/matchers.h"

namespace headwise::testing_support {
namespace {

struct Type {
  std::string_view code;
  DType dtype;
};
constexpr std::array<Type, 12> kTypes = {{{"f2", DType::float16},
                                          {"f4", DType::float32},
                                          {"f8", DType::float64},
                                          {"i1", DType::int8},
                                          {"i2", DType::int16},
                                          {"i4", DType::int32},
                                          {"i8", DType::int64},
                                          {"u1", DType::uint8},
                                          {"u2", DType::uint16},
                                          {"u4", DType::uint32},
                                          {"u8", DType::uint64},
                                          {"b1", DType::boolean}}};

// The bytes of element `index`, different for each, lowest first. A bool's is
// 0 or 1.
Bytes element(const Type& type, std::size_t index) {
  Bytes bytes;
  for (std::size_t i = 0; i < size_of(type.dtype); ++i) {
    const std::size_t byte = type.code == "b1" ? index % 2 : 17 * index + i + 1;
    bytes.push_back(static_cast<std::byte>(byte));
  }
  return bytes;
}

// (2, 3, 4) elements in the order that `fortran` says.
Bytes elements(const Type& type, bool big_endian, bool fortran) {
  Bytes data;
  for (std::size_t at = 0; at < 24; ++at) {
    // The index in C order of what stands at place `at` of the file.
    const std::size_t index =
        fortran ? at % 2 * 12 + at / 2 % 3 * 4 + at / 6 : at;
    Bytes bytes = element(type, index);
    if (big_endian) {
      std::ranges::reverse(bytes);
    }
    append(data, bytes);
  }
  return data;
}

TEST(NpyTest, ReadsEveryTypeInEitherByteOrderAndEitherOrderOfAxes) {
  for (const Type& type : kTypes) {
    for (const char order : {'<', '>', '=', '|'}) {
      for (const bool fortran : {false, true}) {
        for (const int version : {1, 2, 3}) {
          const std::string descr = order + std::string(type.code);
          const Bytes file =
              npy_file(npy_dict(descr, "(2, 3, 4)", fortran ? "True" : "False"),
                       elements(type, order == '>', fortran), version);
          const Result<Array> array = parse_npy(file, "x.npy");
          ASSERT_TRUE(array) << array.error().message();
          EXPECT_EQ(array->dtype, type.dtype);
          EXPECT_THAT(array->shape, ElementsAre(2, 3, 4));
          EXPECT_TRUE(
              std::ranges::equal(array->data, elements(type, false, false)))
              << descr << fortran << version;
        }
      }
    }
  }
}

TEST(NpyTest, WritesTheBytesThatNumpyWrites) {
  for (const char* name :
       {"f2.npy", "f4.npy", "f8.npy", "i1.npy", "i2.npy", "i4.npy", "i8.npy",
        "u1.npy", "u2.npy", "u4.npy", "u8.npy", "b1.npy", "scalar.npy",
        "vector.npy", "empty.npy"}) {
    const Result<Array> array = read_npy(data_path(name));
    ASSERT_TRUE(array) << array.error().message();
    const auto bytes = format_npy(array->view()).value();
    EXPECT_EQ(bytes, file_bytes(data_path(name))) << name;
    const TempFolder folder;
    ASSERT_TRUE(write_npy(folder / name, array->view()));
    EXPECT_EQ(bytes, file_bytes(folder / name)) << name;
  }
}

TEST(NpyTest, ReadsWhatNumpyWrote) {
  const auto doubles = read_npy(data_path("version3.npy")).value();
  EXPECT_THAT(elements_of<double>(doubles.data), ElementsAre(0, 1, 2, 3, 4, 5));
  const auto fortran = read_npy(data_path("big_endian_fortran.npy")).value();
  EXPECT_THAT(fortran.shape, ElementsAre(2, 3, 4));
  const auto numbers = elements_of<std::int32_t>(fortran.data);
  for (int i = 0; i < 24; ++i) {
    EXPECT_EQ(numbers[static_cast<std::size_t>(i)], i);
  }
}

TEST(NpyTest, HeaderMayHaveItsKeysInAnyOrderAndBlanksAnywhere) {
  const Bytes data(6);
  for (const char* dict : {
           "{'shape':(2,3),'fortran_order':False,'descr':'|u1'}",
           "  { \"descr\" : \"|u1\" ,\n 'shape'\t:\t( 2 , 3 , ) ,\n"
           "'fortran_order' :False }   \n",
           "{'descr': 'u1', 'fortran_order': False, 'shape': (2L, 3L), }",
       }) {
    const auto array = parse_npy(npy_file(dict, data), "x.npy").value();
    EXPECT_THAT(array.shape, ElementsAre(2, 3));
  }
}

TEST(NpyTest, BoolOfAnyBytesButZeroIsTrue) {
  const auto array =
      parse_npy(npy_file(npy_dict("|b1", "(4,)"), bytes_of({"\0\1\2\xff", 4})),
                "x.npy")
          .value();
  EXPECT_EQ(Bytes(array.data.begin(), array.data.end()),
            bytes_of({"\0\1\1\1", 4}));
}

TEST(NpyTest, ArrayOfManyPiecesComesThroughAPipe) {
  const TempFolder folder;
  const std::string pipe = folder / "pipe.npy";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  Bytes data(5 << 20);
  for (std::size_t i = 0; i < data.size(); ++i) {
    data[i] = static_cast<std::byte>(i * 7 >> 3);
  }
  const Bytes file = npy_file(npy_dict("|u1", "(5242880,)"), data);
  std::thread writer([&] { put_file(pipe, file); });
  const auto array = read_npy(pipe);
  writer.join();
  ASSERT_TRUE(array) << array.error().message();
  EXPECT_TRUE(std::ranges::equal(array->data, data));
}

TEST(NpyTest, PipeThatEndsEarlySaysHowManyBytesCame) {
  const TempFolder folder;
  const std::string pipe = folder / "pipe.npy";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  // A promise that no memory could hold costs only what really comes.
  const Bytes file =
      npy_file(npy_dict("|u1", "(4611686018427387904,)"), Bytes(3 << 20));
  std::thread writer([&] { put_file(pipe, file); });
  const auto array = read_npy(pipe);
  writer.join();
  EXPECT_THAT(array, HasError({.code = ErrorCode::bad_data,
                               .operation = "read_npy",
                               .file = pipe,
                               .given = {"3145728"},
                               .expected = {"4611686018427387904"}}));
}

TEST(NpyTest, StridedViewsAreWrittenInCOrder) {
  std::vector<float> values(24);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(i);
  }
  const TensorView<const float, 3> view(values.data(), {2, 3, 4});
  const TempFolder folder;
  ASSERT_TRUE(write_npy(folder / "x.npy", view.permuted({2, 0, 1})));
  const auto array = read_npy(folder / "x.npy").value();
  EXPECT_THAT(array.shape, ElementsAre(4, 2, 3));
  const auto written = elements_of<float>(array.data);
  std::size_t at = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    for (std::size_t j = 0; j < 2; ++j) {
      for (std::size_t k = 0; k < 3; ++k) {
        EXPECT_EQ(written[at++], view(j, k, i));
      }
    }
  }
  // Repeated and reversed elements: strides 0 and -1.
  const TensorView<const float, 2> odd(values.data() + 2, {2, 3}, {0, -1});
  const auto bytes = format_npy(odd).value();
  EXPECT_THAT(elements_of<float>(std::span(bytes).last(24)),
              ElementsAre(2, 1, 0, 2, 1, 0));
}

TEST(NpyTest, RowsMadeOneAfterAnotherAreWrittenAsAWhole) {
  std::vector<float> values(7 * 3);
  std::iota(values.begin(), values.end(), 0.0F);
  const TensorView<const float, 2> all(values.data(), {7, 3});
  const TempFolder folder;
  for (const std::size_t at_once : {1u, 3u, 7u, 100u}) {
    std::size_t next = 0;
    const auto make =
        [&](std::size_t first,
            std::size_t count) -> Result<TensorView<const float, 2>> {
      EXPECT_EQ(first, next);
      EXPECT_LE(count, at_once);
      next += count;
      return TensorView<const float, 2>(&all(first, 0), {count, 3});
    };
    ASSERT_TRUE(write_npy_rows(folder / "x.npy", {7, 3}, at_once, make));
    EXPECT_EQ(file_bytes(folder / "x.npy"), format_npy(all).value());
  }
  const auto fails =
      [&](std::size_t first,
          std::size_t count) -> Result<TensorView<const float, 2>> {
    if (first != 0) {
      return Error(ErrorCode::unsupported);
    }
    return TensorView<const float, 2>(&all(0, 0), {count, 3});
  };
  EXPECT_THAT(write_npy_rows(folder / "x.npy", {7, 3}, 2, fails),
              IsError(ErrorCode::unsupported, ""));
  EXPECT_EQ(file_bytes(folder / "x.npy"), format_npy(all).value());
}

TEST(NpyTest, WhatNumpyHasNoNameForIsNotWritten) {
  const std::uint16_t one = 0x3f80;
  const std::array<std::size_t, 1> extents = {1};
  const std::array<std::ptrdiff_t, 1> strides = {1};
  const auto bytes =
      format_npy(AnyView(&one, DType::bfloat16, extents, strides));
  EXPECT_THAT(bytes, HasError({.code = ErrorCode::unsupported,
                               .operation = "format_npy",
                               .given = {"bfloat16"},
                               .expected = {"float32"}}));
  const std::vector<std::size_t> many(33, 1);
  const std::vector<std::ptrdiff_t> steps(33, 1);
  EXPECT_FALSE(format_npy(AnyView(&one, DType::int16, many, steps)));
}

TEST(NpyTest, FileThatCannotBeReadIsNamedWithTheReason) {
  const TempFolder folder;
  for (const auto& [path, reason] :
       {std::pair(folder / "none.npy", ENOENT), {folder.path(), EISDIR}}) {
    EXPECT_THAT(read_npy(path), HasError({.code = ErrorCode::io_error,
                                          .operation = "read_npy",
                                          .file = path,
                                          .system_error = reason}));
  }
  EXPECT_FALSE(read_npy(std::string("a\0b", 3)));
}

}  // namespace
}  // namespace headwise::testing_support
