#include "headwise/interop/npz.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#include <thread>

#include "interop/zip_file.h"
#include "support/errors.h"
#include "support/matchers.h"

namespace headwise::testing_support {
namespace {

std::vector<std::string> names_of(const NamedArrays& arrays) {
  std::vector<std::string> names;
  for (const auto& [name, array] : arrays) {
    names.push_back(name);
  }
  return names;
}

std::map<std::string, AnyView> views_of(const NamedArrays& arrays) {
  std::map<std::string, AnyView> views;
  for (const auto& [name, array] : arrays) {
    views.emplace(name, array.view());
  }
  return views;
}

TEST(NpzTest, ReadsWhatSavezAndSavezCompressedWrote) {
  for (const char* file : {"stored.npz", "deflated.npz", "streamed.npz"}) {
    const auto arrays = read_npz(data_path(file)).value();
    EXPECT_THAT(names_of(arrays), ElementsAre("W_q/kernel", "a", "flags"));
    const Array& a = arrays.at("a");
    EXPECT_THAT(a.shape, ElementsAre(2, 3));
    EXPECT_THAT(elements_of<float>(a.data), ElementsAre(0, 1, 2, 3, 4, 5));
    EXPECT_EQ(arrays.at("W_q/kernel").dtype, DType::float64);
    EXPECT_EQ(arrays.at("flags").dtype, DType::boolean);
    const auto again = parse_npz(file_bytes(data_path(file)), file).value();
    EXPECT_EQ(again.at("W_q/kernel").data, arrays.at("W_q/kernel").data);
  }
}

TEST(NpzTest, EntriesThatAreNoArraysAreSkipped) {
  const Bytes array = npy_file(npy_dict("|u1", "(3,)"), bytes_of("abc"));
  const auto arrays =
      parse_npz(zip_file({{.name = "README.txt", .data = bytes_of("hello")},
                          {.name = "folder/", .data = {}},
                          {.name = "a.npy", .data = array}}),
                "x.npz")
          .value();
  EXPECT_EQ(arrays.size(), 1u);
  EXPECT_TRUE(arrays.contains("a"));
}

TEST(NpzTest, SixtyFourBitSizesAreRead) {
  const auto arrays =
      parse_npz(
          zip_file({{.name = "a.npy",
                     .data = npy_file(npy_dict("|u1", "(3,)"), bytes_of("abc")),
                     .zip64 = true}}),
          "x.npz")
          .value();
  EXPECT_THAT(elements_of<char>(arrays.at("a").data),
              ElementsAre('a', 'b', 'c'));
}

TEST(NpzTest, WhatIsWrittenIsReadAgain) {
  const auto arrays = read_npz(data_path("deflated.npz")).value();
  const TempFolder folder;
  const Status written = write_npz(folder / "x.npz", views_of(arrays));
  ASSERT_TRUE(written) << written.error().message();
  const auto again = read_npz(folder / "x.npz").value();
  EXPECT_EQ(names_of(again), names_of(arrays));
  for (const auto& [name, array] : arrays) {
    EXPECT_EQ(again.at(name).dtype, array.dtype);
    EXPECT_EQ(again.at(name).shape, array.shape);
    EXPECT_EQ(again.at(name).data, array.data);
  }
}

TEST(NpzTest, SameArraysGiveTheSameBytesInEveryTimeZone) {
  const auto arrays = read_npz(data_path("stored.npz")).value();
  const TempFolder folder;
  ::setenv("TZ", "Asia/Seoul", 1);
  ::tzset();
  ASSERT_TRUE(write_npz(folder / "a.npz", views_of(arrays)));
  ::setenv("TZ", "America/Lima", 1);
  ::tzset();
  ASSERT_TRUE(write_npz(folder / "b.npz", views_of(arrays)));
  ::unsetenv("TZ");
  const Bytes bytes = file_bytes(folder / "a.npz");
  EXPECT_EQ(bytes, file_bytes(folder / "b.npz"));
  // 1980-01-01 00:00 in the first local header.
  EXPECT_EQ(Bytes(bytes.begin() + 10, bytes.begin() + 14),
            bytes_of({"\0\0\x21\0", 4}));
}

TEST(NpzTest, ArchiveOfNothingIsReadAndWritten) {
  const TempFolder folder;
  ASSERT_TRUE(write_npz(folder / "none.npz", {}));
  EXPECT_EQ(file_bytes(folder / "none.npz"), file_bytes(data_path("none.npz")));
  const auto arrays = read_npz(folder / "none.npz").value();
  EXPECT_TRUE(arrays.empty());
}

TEST(NpzTest, ArchiveComesThroughAPipe) {
  const TempFolder folder;
  const std::string pipe = folder / "pipe.npz";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const Bytes file = file_bytes(data_path("deflated.npz"));
  std::thread writer([&] { put_file(pipe, file); });
  const auto arrays = read_npz(pipe);
  writer.join();
  ASSERT_TRUE(arrays) << arrays.error().message();
  EXPECT_EQ(arrays->size(), 3u);
}

TEST(NpzTest, NameThatCannotBeReadBackIsNotWritten) {
  const float value = 1;
  const TensorView<const float, 0> view(&value, {});
  const TempFolder folder;
  for (const std::string& name :
       {std::string(), std::string("/a"), std::string("a/../b"),
        std::string("a\\b"), std::string("a\0b", 3)}) {
    const Status written = write_npz(folder / "x.npz", {{name, view}});
    ASSERT_FALSE(written) << name;
    EXPECT_EQ(written.error().code(), ErrorCode::invalid_argument);
  }
  EXPECT_EQ(folder.count(), 0u);
}

TEST(NpzTest, FileThatIsNoArchiveIsNamedWithTheReason) {
  const std::string npy = data_path("f4.npy");
  EXPECT_THAT(read_npz(npy), HasError({.code = ErrorCode::bad_data,
                                       .operation = "read_npz",
                                       .file = npy,
                                       .given = {"zip"}}));
  const std::string missing = data_path("missing.npz");
  EXPECT_THAT(read_npz(missing), HasError({.code = ErrorCode::io_error,
                                           .operation = "read_npz",
                                           .file = missing,
                                           .system_error = ENOENT}));
}

}  // namespace
}  // namespace headwise::testing_support
