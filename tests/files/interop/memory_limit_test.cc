// No file takes more memory than 16 times its size and 16 MiB.
#include <gtest/gtest.h>

#include "headwise/interop/npy.h"
#include "headwise/interop/npz.h"
#include "interop/safetensors_bytes.h"
#include "interop/safetensors_index.h"
#include "interop/sharded_safetensors.h"
#include "interop/zip_file.h"
#include "support/memory.h"

namespace headwise::testing_support {
namespace {

std::vector<std::string> costly_headers() {
  const std::string fill(kCostlyFileBytes, 'x');
  const std::string ones = [] {
    std::string shape = "[0";
    for (int axis = 1; axis < 32; ++axis) {
      shape += ",1";
    }
    return shape + "]";
  }();
  return {
      repeated("{\"__metadata__\":{", ",",
               [](std::size_t n) { return "\"" + short_name(n) + "\":\"\""; }) +
          "}}",
      repeated("{", ",",
               [](std::size_t n) {
                 return entry(short_name(n), "U8", "[0]", "[0,0]");
               }) +
          "}",
      repeated("{", ",",
               [&](std::size_t n) {
                 return entry(short_name(n), "U8", ones, "[0,0]");
               }) +
          "}",
      "{\"" + fill,
      "{\"" + fill + "\":1}",
      "{\"a\":" + std::string(fill),
      "{\"a\":{\"dtype\":\"" + fill + "\"}}",
      "{\"a\":{\"shape\":[" + std::string(kCostlyFileBytes, '1') + "]}}",
      "{\"__metadata__\":{\"a\":\"" + fill + "\xff\"}}",
      "{\"a\":{\"shape\":" + std::string(kCostlyFileBytes, '[')};
}

TEST(MemoryLimitTest, HeaderTakesAtMostSixteenTimesItsSize) {
  const TempFolder folder;
  const std::string path = folder / "x.safetensors";
  for (const std::string& header : costly_headers()) {
    const Bytes file = safetensors_file(header, {});
    put_file(path, file);
    const auto shown = header.substr(0, 40);
    EXPECT_LT(
        memory_of(file.size(),
                  [&] { static_cast<void>(parse_safetensors(file, "x")); }),
        16)
        << shown;
    EXPECT_LT(memory_of(file.size(),
                        [&] { static_cast<void>(open_safetensors(path)); }),
              16)
        << shown;
  }
}

TEST(MemoryLimitTest, IndexTakesAtMostSixteenTimesItsSize) {
  for (const std::string& index :
       {repeated("{\"weight_map\":{", ",",
                 [](std::size_t n) {
                   return "\"" + short_name(n) + "\":\"a.safetensors\"";
                 }) +
            "}}",
        repeated("{\"metadata\":{", ",",
                 [](std::size_t n) { return "\"" + short_name(n) + "\":1"; }) +
            "}}",
        repeated("{\"metadata\":[", ",", [](std::size_t) {
          return std::string("[]");
        }) + "]}"}) {
    EXPECT_LT(
        memory_of(
            index.size(),
            [&] {
              static_cast<void>(parse_safetensors_index(index, {"", "x"}));
            }),
        16)
        << index.substr(0, 40);
  }
}

// Transposing keeps both orders for a while.
TEST(MemoryLimitTest, ArrayTakesAtMostTwiceItsFile) {
  const TempFolder folder;
  const std::string path = folder / "x.npy";
  const Bytes data(kCostlyFileBytes);
  const std::string size = std::to_string(kCostlyFileBytes / 2);
  for (const char* fortran_order : {"False", "True"}) {
    const Bytes file =
        npy_file(npy_dict("|u1", "(2, " + size + ")", fortran_order), data);
    put_file(path, file);
    EXPECT_LT(
        memory_of(file.size(), [&] { EXPECT_TRUE(parse_npy(file, "x.npy")); }),
        2.1);
    EXPECT_LT(memory_of(file.size(), [&] { EXPECT_TRUE(read_npy(path)); }),
              2.1);
  }
  // A header of 64 KiB is the largest that is read.
  std::string shape = "(";
  while (shape.size() < 60'000) {
    shape += "1, ";
  }
  const Bytes header = npy_file(npy_dict("|u1", shape + ")"), {});
  EXPECT_LT(memory_of(header.size(),
                      [&] { EXPECT_FALSE(parse_npy(header, "x.npy")); }),
            16);
}

// What an archive holds is not counted, but what is read of it.
TEST(MemoryLimitTest, ArchiveTakesAtMostThreeTimesWhatItUnpacksTo) {
  const std::string size = std::to_string(kCostlyFileBytes);
  const Bytes array =
      npy_file(npy_dict("|u1", "(" + size + ",)"), Bytes(kCostlyFileBytes));
  const Bytes file = zip_file({{.name = "a.npy", .data = array}});
  EXPECT_LT(
      memory_of(file.size(), [&] { EXPECT_TRUE(parse_npz(file, "x.npz")); }),
      3);
}

// As an archive of 16 KB that unpacks to 16 MB.
TEST(MemoryLimitTest, BombTakesNoMemory) {
  const std::string path = data_path("bomb_zeros.npz");
  EXPECT_LT(memory_of(1 << 20, [&] { EXPECT_FALSE(read_npz(path)); }), 1);
}

// A promise in 8 bytes costs no memory.
TEST(MemoryLimitTest, LengthOfAHeaderThatIsNotThereCostsNothing) {
  Bytes file;
  append_number(file, 100'000'000, 8);
  const TempFolder folder;
  const std::string path = folder / "x.safetensors";
  put_file(path, file);
  const std::string empty =
      "{" + entry("w", "U8", "[90000000000]", "[0,90000000000]") + "}";
  const std::string promising = folder / "y.safetensors";
  put_file(promising, safetensors_file(empty, {}));
  EXPECT_LT(memory_of(1 << 20,
                      [&] {
                        EXPECT_FALSE(open_safetensors(path));
                        EXPECT_FALSE(open_safetensors(promising));
                      }),
            1);
}

}  // namespace
}  // namespace headwise::testing_support
