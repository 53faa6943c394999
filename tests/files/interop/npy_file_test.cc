// A .npy file in parts: what the whole array has in their places.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <thread>

#include "headwise/interop/npy.h"
#include "interop/files.h"

namespace headwise {
namespace {

using testing::HasSubstr;

// Every part of the file, from any element to any other.
void expect_parts_of_the_whole(const std::string& path) {
  const auto whole = read_npy(path);
  const auto file = NpyFile::open(path);
  ASSERT_TRUE(whole) << whole.error().message();
  ASSERT_TRUE(file) << file.error().message();
  EXPECT_EQ(file->dtype(), whole->dtype);
  EXPECT_EQ(file->shape(), whole->shape);
  const std::size_t item = size_of(whole->dtype);
  const std::size_t count = whole->data.size() / item;
  for (std::size_t first = 0; first <= count; ++first) {
    for (std::size_t end = first; end <= count; ++end) {
      Bytes part((end - first) * item);
      ASSERT_TRUE(file->read(first, part));
      EXPECT_TRUE(std::ranges::equal(
          part, std::span(whole->data).subspan(first * item, part.size())))
          << path << first << end;
    }
  }
}

TEST(NpyFileTest, PartsAreThoseOfTheWholeArray) {
  for (const char* name :
       {"f2.npy", "f8.npy", "i4.npy", "b1.npy", "version3.npy",
        "big_endian_fortran.npy", "scalar.npy", "empty.npy"}) {
    expect_parts_of_the_whole(data_path(name));
  }
}

TEST(NpyFileTest, PartsInOtherByteOrderAndOtherBools) {
  const TempFolder folder;
  Bytes data;
  for (std::size_t n = 0; n < 24; ++n) {
    data.push_back(static_cast<std::byte>(11 * n));
  }
  for (const char* descr : {">i4", "<u2", "|b1"}) {
    const std::string size = descr[1] == 'i'   ? "6"
                             : descr[1] == 'u' ? "12"
                                               : "24";
    put_file(folder / "x.npy",
             npy_file(npy_dict(descr, "(" + size + ",)"), data));
    expect_parts_of_the_whole(folder / "x.npy");
  }
}

TEST(NpyFileTest, APipeIsReadAsAWhole) {
  const TempFolder folder;
  const std::string pipe = folder / "pipe.npy";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const Bytes bytes = file_bytes(data_path("f4.npy"));
  std::thread writer([&] { put_file(pipe, bytes); });
  const auto file = NpyFile::open(pipe);
  writer.join();
  ASSERT_TRUE(file) << file.error().message();
  const Array whole = read_npy(data_path("f4.npy")).value();
  Bytes part(2 * sizeof(float));
  ASSERT_TRUE(file->read(1, part));
  EXPECT_TRUE(std::ranges::equal(
      part, std::span(whole.data).subspan(sizeof(float), part.size())));
}

TEST(NpyFileTest, ElementsThatTheFileDoesNotHaveAreErrors) {
  const TempFolder folder;
  const std::string path = folder / "x.npy";
  put_file(path, npy_file(npy_dict("|u1", "(10,)"), Bytes(10)));
  const auto file = NpyFile::open(path).value();
  Bytes part(4);
  const auto message_of = [&](std::size_t first) {
    const Status status = file.read(first, part);
    return status ? "no error" : status.error().message();
  };
  EXPECT_EQ(message_of(6), "no error");
  EXPECT_THAT(message_of(7), HasSubstr("ends before the elements"));
  EXPECT_THAT(message_of(~std::size_t{0}), HasSubstr("ends before the"));
  // A file that somebody makes shorter.
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 1);
  EXPECT_EQ(message_of(5), "no error");
  EXPECT_THAT(message_of(6), HasSubstr("ends before the elements"));
}

TEST(NpyFileTest, AWrongFileIsAnErrorWhenItIsOpened) {
  const TempFolder folder;
  put_file(folder / "short.npy",
           npy_file(npy_dict("<f4", "(3, 4)"), Bytes(40)));
  const auto file = NpyFile::open(folder / "short.npy");
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code(), ErrorCode::bad_data);
  EXPECT_THAT(file.error().message(), HasSubstr("has 40 bytes of data"));
  EXPECT_EQ(NpyFile::open(folder / "none.npy").error().code(),
            ErrorCode::io_error);
}

}  // namespace
}  // namespace headwise
