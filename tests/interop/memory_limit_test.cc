// No file takes more memory than 16 times its size and 16 MiB.
#include <gtest/gtest.h>

#include "headwise/interop/sharded_safetensors.h"
#include "interop/safetensors_bytes.h"
#include "interop/safetensors_index.h"
#include "support/allocations.h"

namespace headwise {
namespace {

using testing_support::live_bytes;
using testing_support::peak_bytes;

constexpr std::size_t kFileBytes = std::size_t{3} << 20;

// Times the size of the text that `work` took of memory.
template <class Work>
double memory_of(std::size_t size, const Work& work) {
  const std::size_t before = live_bytes;
  peak_bytes = before;
  work();
  return static_cast<double>(peak_bytes - before) / static_cast<double>(size);
}

// `start`, then what `piece` gives of 0, 1, 2, .. as often as there is room.
template <class Piece>
std::string repeated(std::string start, const Piece& piece) {
  for (std::size_t n = 0; start.size() < kFileBytes; ++n) {
    start += (n == 0 ? "" : ",") + piece(n);
  }
  return start;
}

// A name of few characters.
std::string name_of(std::size_t n) {
  std::string name;
  for (; n > 0; n /= 64) {
    name += static_cast<char>('0' + n % 64);
    if (name.back() == '\\') {
      name.back() = '!';
    }
  }
  return name;
}

std::vector<std::string> costly_headers() {
  const std::string fill(kFileBytes, 'x');
  const std::string ones = [] {
    std::string shape = "[0";
    for (int axis = 1; axis < 32; ++axis) {
      shape += ",1";
    }
    return shape + "]";
  }();
  return {
      repeated("{\"__metadata__\":{",
               [](std::size_t n) { return "\"" + name_of(n) + "\":\"\""; }) +
          "}}",
      repeated("{",
               [](std::size_t n) {
                 return entry(name_of(n), "U8", "[0]", "[0,0]");
               }) +
          "}",
      repeated("{",
               [&](std::size_t n) {
                 return entry(name_of(n), "U8", ones, "[0,0]");
               }) +
          "}",
      "{\"" + fill,
      "{\"" + fill + "\":1}",
      "{\"a\":" + std::string(fill),
      "{\"a\":{\"dtype\":\"" + fill + "\"}}",
      "{\"a\":{\"shape\":[" + std::string(kFileBytes, '1') + "]}}",
      "{\"__metadata__\":{\"a\":\"" + fill + "\xff\"}}",
      "{\"a\":{\"shape\":" + std::string(kFileBytes, '[')};
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
       {repeated("{\"weight_map\":{",
                 [](std::size_t n) {
                   return "\"" + name_of(n) + "\":\"a.safetensors\"";
                 }) +
            "}}",
        repeated("{\"metadata\":{",
                 [](std::size_t n) { return "\"" + name_of(n) + "\":1"; }) +
            "}}",
        repeated("{\"metadata\":[", [](std::size_t) {
          return std::string("[]");
        }) + "]}"}) {
    EXPECT_LT(
        memory_of(
            index.size(),
            [&] { static_cast<void>(parse_safetensors_index(index, "x")); }),
        16)
        << index.substr(0, 40);
  }
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
}  // namespace headwise
