// Files and their bytes for the tests of readers and writers.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headwise {

using Bytes = std::vector<std::byte>;

// A folder of its own, gone with the object.
class TempFolder {
 public:
  TempFolder() : path_(testing::TempDir() + "headwise-test-XXXXXX") {
    EXPECT_NE(::mkdtemp(path_.data()), nullptr);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  ~TempFolder() { std::filesystem::remove_all(path_); }

  std::string path() const { return path_; }
  std::string operator/(std::string_view name) const {
    return path_ + "/" + std::string(name);
  }
  std::size_t count() const {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator(path_), {}));
  }

 private:
  std::string path_;
};

// A file that NumPy wrote.
inline std::string data_path(std::string_view name) {
  return std::string(HEADWISE_TEST_DATA) + "/" + std::string(name);
}

inline Bytes bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

inline Bytes file_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  return bytes_of(std::string(std::istreambuf_iterator<char>(file), {}));
}

inline void put_file(const std::string& path,
                     std::span<const std::byte> bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  EXPECT_TRUE(file.flush()) << path;
}

inline void append(Bytes& bytes, std::span<const std::byte> more) {
  bytes.insert(bytes.end(), more.begin(), more.end());
}

// `count` bytes, little endian.
inline void append_number(Bytes& bytes, std::size_t number, int count) {
  for (int i = 0; i < count; ++i) {
    bytes.push_back(static_cast<std::byte>(number >> (8 * i)));
  }
}

// A .npy file, right or wrong, by hand.
inline Bytes npy_file(std::string_view dict, std::span<const std::byte> data,
                      int version = 1) {
  Bytes bytes = bytes_of("\x93NUMPY");
  append_number(bytes, static_cast<std::size_t>(version), 2);
  append_number(bytes, dict.size(), version == 1 ? 2 : 4);
  append(bytes, bytes_of(dict));
  append(bytes, data);
  return bytes;
}

inline std::string npy_dict(std::string_view descr, std::string_view shape,
                            std::string_view fortran_order = "False") {
  return "{'descr': '" + std::string(descr) +
         "', 'fortran_order': " + std::string(fortran_order) +
         ", 'shape': " + std::string(shape) + ", }\n";
}

// The elements of an array as T, whatever the array says they are.
template <class T>
std::vector<T> elements_of(std::span<const std::byte> data) {
  std::vector<T> elements(data.size() / sizeof(T));
  std::memcpy(elements.data(), data.data(), elements.size() * sizeof(T));
  return elements;
}

}  // namespace headwise
