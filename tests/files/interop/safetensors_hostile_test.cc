// safetensors files that are not what they must be: an error each, never a
// crash.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "headwise/interop/safetensors.h"
#include "interop/hostile_shapes.h"
#include "interop/safetensors_bytes.h"
#include "support/errors.h"
#include "support/matchers.h"

namespace headwise::testing_support {
namespace {

// As the same error of all three ways to a file.
Error error_of(std::span<const std::byte> bytes) {
  const auto file = parse_safetensors(bytes, "x");
  if (file) {
    ADD_FAILURE() << "no error";
    return ErrorCode::device_error;
  }
  const ErrorDetails& is = file.error().details();
  EXPECT_EQ(is.operation, "parse_safetensors");
  EXPECT_EQ(is.file, "x");
  const TempFolder folder;
  const std::string path = folder / "x";
  put_file(path, bytes);
  for (const FileAccess access : {FileAccess::read, FileAccess::mapped}) {
    const auto opened = open_safetensors(path, access);
    if (opened) {
      ADD_FAILURE() << "no error of the file";
      return ErrorCode::device_error;
    }
    const ErrorDetails& same = opened.error().details();
    EXPECT_EQ(opened.error().code(), file.error().code());
    EXPECT_EQ(same.operation, "open_safetensors");
    EXPECT_EQ(same.file, path);
    EXPECT_EQ(same.entry, is.entry);
    EXPECT_EQ(same.given, is.given);
    EXPECT_EQ(same.byte, is.byte);
    EXPECT_EQ(same.expected, is.expected);
  }
  return file.error();
}

Error error_of(std::string_view header, std::size_t data_bytes) {
  return error_of(safetensors_file(header, Bytes(data_bytes)));
}

// Of `{...}` before 8 bytes of data.
Error error_of_entries(const std::string& entries) {
  return error_of("{" + entries + "}", 8);
}

// The file is refused: the error is about this entry and names these values.
auto IsBad(std::string entry, std::vector<std::string> given,
           std::vector<std::string> expected = {},
           std::optional<std::uint64_t> byte = {}) {
  return HasError({.code = ErrorCode::bad_data,
                   .file = "x",
                   .entry = std::move(entry),
                   .byte = byte,
                   .given = std::move(given),
                   .expected = std::move(expected)});
}

const std::string kGood = entry("w", "F32", "[2]", "[0,8]");

TEST(SafetensorsHostileTest, EveryPrefixOfAFileIsAnError) {
  for (const char* name : {"every_type.safetensors", "one.safetensors"}) {
    const Bytes file = file_bytes(data_path(name));
    for (std::size_t size = 0; size < file.size(); ++size) {
      // A copy of its own, for the sanitizer to see its end.
      const Bytes prefix(file.begin(),
                         file.begin() + static_cast<std::ptrdiff_t>(size));
      EXPECT_FALSE(parse_safetensors(prefix, "x")) << size;
    }
  }
  for (const std::size_t size : {0u, 7u, 8u, 71u}) {
    const Bytes file = file_bytes(data_path("one.safetensors"));
    error_of(std::span(file).first(size));
  }
}

TEST(SafetensorsHostileTest, EveryFlippedBitGivesAValueOrAnError) {
  for (const char* name :
       {"every_type.safetensors", "one.safetensors", "none.safetensors"}) {
    Bytes bytes = file_bytes(data_path(name));
    for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
      const auto mask = static_cast<std::byte>(1u << bit % 8);
      bytes[bit / 8] ^= mask;
      const auto file = parse_safetensors(bytes, "x");
      if (!file) {
        EXPECT_FALSE(file.error().message().empty());
      } else {
        for (const auto& [tensor, entry] : file->tensors()) {
          EXPECT_TRUE(file->tensor(tensor));
          EXPECT_TRUE(file->array(tensor));
        }
      }
      bytes[bit / 8] ^= mask;
    }
  }
}

TEST(SafetensorsHostileTest, LengthOfTheHeaderIsHeldToTheCapAndTheFile) {
  const auto error_of_length = [](std::size_t length) {
    Bytes bytes;
    append_number(bytes, length, 8);
    append(bytes, bytes_of("{}"));
    return error_of(bytes);
  };
  constexpr auto kLargest = std::numeric_limits<std::uint64_t>::max();
  for (const std::size_t length :
       {kLargest, kLargest - 7, std::uint64_t{100'000'001}}) {
    EXPECT_THAT(error_of_length(length),
                IsBad("", {"not a safetensors file"}, {"100000000"}));
  }
  for (const std::size_t length : {100'000'000u, 3u}) {
    EXPECT_THAT(error_of_length(length),
                IsBad("", {std::to_string(length)}, {"10"}));
  }
  EXPECT_THAT(error_of_length(0), IsBad("", {}, {"'{'"}, 8));
}

TEST(SafetensorsHostileTest, HeaderThatIsNoJsonObjectIsAnError) {
  for (const std::string& header :
       {std::string("[]"), std::string(" {}"), std::string("\xef\xbb\xbf{}"),
        std::string("\"a\""), std::string("0")}) {
    EXPECT_THAT(error_of(header, 0), IsBad("", {}, {"'{'"}, 8));
  }
  for (const std::string& header :
       {std::string("{"),
        std::string("{]"),
        std::string("{}}"),
        std::string("{} {}"),
        std::string("{,}"),
        std::string("{\"a\"}"),
        std::string("{'a':1}"),
        std::string("{\"__metadata__\":{}"),
        std::string("{\"__metadata__\":{},}"),
        std::string("{} // text"),
        std::string("{\"\xff\":{}}"),
        std::string("{\"\xc0\x80\":{}}"),
        std::string("{\"\xed\xa0\x80\":{}}"),
        std::string("{\"\\ud800\":{}}"),
        std::string("{\"a\nb\":{}}"),
        std::string("{\"\\x\":{}}"),
        std::string("{\"__metadata__\":{\"a\":\"\xff\"}}"),
        std::string("{\"a\":{\"shape\":[1,]}}"),
        std::string("{\"a\":{\"shape\":[+1]}}"),
        std::string("{\"a\":{\"shape\":[01]}}"),
        std::string("{\"a\":{\"shape\":[1 2]}}")}) {
    const Error error = error_of(header, 0);
    EXPECT_THAT(error, IsBad("", {"JSON"})) << header;
    EXPECT_TRUE(error.details().byte) << header;
  }
  EXPECT_THAT(error_of(std::string("{}\0{}", 5), 0),
              IsBad("", {"NUL"}, {}, 10));
}

TEST(SafetensorsHostileTest, NestingEndsWhereTheFormatEnds) {
  EXPECT_THAT(error_of_entries("\"w\":" + std::string(1'000'000, '[')),
              IsBad("w", {"array"}, {"object"}));
  std::string objects;
  for (int i = 0; i < 100'000; ++i) {
    objects += "{\"a\":";
  }
  EXPECT_THAT(error_of_entries("\"w\":{\"shape\":" + objects),
              IsBad("w.shape", {"object"}, {"array"}));
  EXPECT_THAT(error_of_entries("\"__metadata__\":{\"a\":" + objects),
              IsBad("__metadata__.a", {"object"}, {"text"}));
}

TEST(SafetensorsHostileTest, NoKeyStandsTwice) {
  EXPECT_THAT(error_of_entries(kGood + "," + kGood), IsBad("", {"w"}));
  EXPECT_THAT(error_of_entries(kGood + R"(,"\u0077":{})"), IsBad("", {"w"}));
  EXPECT_THAT(error_of_entries(R"("__metadata__":{},"__metadata__":{})"),
              IsBad("", {"__metadata__"}));
  EXPECT_THAT(error_of_entries(R"("__metadata__":{"a":"1","a":"1"})"),
              IsBad("__metadata__", {"a"}));
  for (const char* key : {"dtype", "shape", "data_offsets"}) {
    std::string twice = kGood;
    twice.pop_back();
    const std::size_t at = kGood.find("\"" + std::string(key));
    const std::size_t end = kGood.find(",\"", at);
    twice += "," + kGood.substr(at, std::min(end, kGood.size() - 1) - at) + "}";
    EXPECT_THAT(error_of_entries(twice), IsBad("w", {key, "twice"}));
  }
}

TEST(SafetensorsHostileTest, EntryHasItsThreeKeysAndNoOther) {
  EXPECT_THAT(error_of_entries(R"("w":{})"), IsBad("w", {"dtype"}));
  EXPECT_THAT(error_of_entries(R"("w":{"dtype":"F32","data_offsets":[0,8]})"),
              IsBad("w", {"shape"}));
  EXPECT_THAT(error_of_entries(R"("w":{"shape":[2],"dtype":"F32"})"),
              IsBad("w", {"data_offsets"}));
  EXPECT_THAT(error_of_entries(R"("w":{"dtype":"F32","offsets":[0,8]})"),
              IsBad("w", {"offsets"}, {"dtype", "shape", "data_offsets"}));
  EXPECT_THAT(error_of_entries(R"("a\u001b[31m":{"x":1})"),
              IsBad("a\\x1b[31m", {"x"}, {"dtype", "shape", "data_offsets"}));
}

TEST(SafetensorsHostileTest, ValueOfAnotherKindIsNamedWithItsPlace) {
  struct Fault {
    std::string entries;
    std::string entry;
    std::string given;
    std::string expected;
  };
  for (const auto& [entries, place, given, expected] : std::vector<Fault>{
           {R"("w":null)", "w", "null", "object"},
           {R"("w":["F32",[2],[0,8]])", "w", "array", "object"},
           {R"("__metadata__":null)", "__metadata__", "null", "object"},
           {R"("__metadata__":[])", "__metadata__", "array", "object"},
           {R"("__metadata__":{"k":1})", "__metadata__.k", "number", "text"},
           {R"("__metadata__":{"k":false})", "__metadata__.k", "bool", "text"},
           {R"("w":{"dtype":32})", "w.dtype", "number", "text"},
           {R"("w":{"dtype":{"F32":null}})", "w.dtype", "object", "text"},
           {R"("w":{"shape":2})", "w.shape", "number", "array"},
           {R"("w":{"shape":[2.0]})", "w.shape", "64", "array"},
           {R"("w":{"shape":[18446744073709551616]})", "w.shape", "64",
            "array"},
           {R"("w":{"shape":[-1]})", "w.shape", "negative", "array"},
           {R"("w":{"shape":[-0]})", "w.shape", "negative", "array"},
           {R"("w":{"shape":[[2]]})", "w.shape", "array", "array"},
           {R"("w":{"shape":["2"]})", "w.shape", "text", "array"},
           {R"("w":{"data_offsets":8})", "w.data_offsets", "number",
            "[begin, end]"},
           {R"("w":{"data_offsets":[0,-8]})", "w.data_offsets", "negative",
            "[begin, end]"}}) {
    EXPECT_THAT(error_of_entries(entries), IsBad(place, {given}, {expected}))
        << entries;
  }
  for (const char* offsets : {"[]", "[0]", "[0,8,8]"}) {
    EXPECT_THAT(error_of_entries(entry("w", "F32", "[2]", offsets)),
                IsBad("w.data_offsets", {}, {"[begin, end]"}));
  }
}

TEST(SafetensorsHostileTest, TypesThatAreNotReadAreRefusedByName) {
  for (const char* type : {"F4", "F6_E2M3", "F6_E3M2", "F8_E4M3", "F8_E5M2",
                           "F8_E8M0", "F8_E4M3FNUZ", "F8_E5M2FNUZ", "C64"}) {
    EXPECT_THAT(
        error_of_entries(entry("w", type, "[8]", "[0,8]")),
        HasError({.code = ErrorCode::unsupported,
                  .file = "x",
                  .entry = "w",
                  .given = {type},
                  .expected = {"F64 F32 F16 BF16 I64 I32 I16 I8 U64 U32 U16 U8 "
                               "BOOL"}}));
  }
  EXPECT_EQ(error_of(file_bytes(data_path("float8.safetensors"))).code(),
            ErrorCode::unsupported);
  for (const char* type : {"", "f32", "F32 ", "float32", "\\u0000"}) {
    EXPECT_THAT(error_of_entries(entry("w", type, "[2]", "[0,8]")),
                IsBad("w", {}, {"F64 F32 F16"}));
  }
}

TEST(SafetensorsHostileTest, OffsetsFitTheShapeAndTheType) {
  EXPECT_THAT(error_of_entries(entry("w", "F32", "[2]", "[8,0]")),
              IsBad("w", {"[8, 0]"}));
  for (const auto& [type, bytes] : {std::pair{"F64", 16},
                                    {"F32", 8},
                                    {"F16", 4},
                                    {"BF16", 4},
                                    {"I64", 16},
                                    {"I32", 8},
                                    {"I16", 4},
                                    {"I8", 2},
                                    {"U64", 16},
                                    {"U32", 8},
                                    {"U16", 4},
                                    {"U8", 2},
                                    {"BOOL", 2}}) {
    const std::string right = "[0," + std::to_string(bytes) + "]";
    const Bytes file =
        safetensors_file("{" + entry("w", type, "[2]", right) + "}",
                         Bytes(static_cast<std::size_t>(bytes)));
    EXPECT_TRUE(parse_safetensors(file, "x")) << type;
    for (const int wrong : {bytes - 1, bytes + 1, 0}) {
      const std::string offsets = "[0," + std::to_string(wrong) + "]";
      EXPECT_THAT(error_of_entries(entry("w", type, "[2]", offsets)),
                  IsBad("w", {"(2)", type, std::to_string(bytes),
                              "[0, " + std::to_string(wrong) + "]"}));
    }
  }
}

TEST(SafetensorsHostileTest, TensorsCoverTheDataOnce) {
  // The order of the entries is not that of the data.
  EXPECT_TRUE(parse_safetensors(
      safetensors_file("{" + entry("a", "I32", "[1]", "[4,8]") + "," +
                           entry("b", "I32", "[1]", "[0,4]") + "}",
                       Bytes(8)),
      "x"));
  const auto error_of_two = [](const char* first, const char* second) {
    return error_of_entries(entry("a", "U8", "[4]", first) + "," +
                            entry("b", "U8", "[4]", second));
  };
  EXPECT_THAT(error_of_two("[0,4]", "[3,7]"),
              IsBad("b", {"[3, 7]", "a", "[0, 4]"}));
  EXPECT_THAT(error_of_two("[0,4]", "[0,4]"), IsBad("b", {"a", "[0, 4]"}));
  EXPECT_THAT(error_of_two("[5,9]", "[0,4]"), IsBad("", {"4", "5"}));
  EXPECT_THAT(error_of_two("[1,5]", "[5,9]"), IsBad("", {"0", "1"}));
  // A tensor without elements has a place too.
  EXPECT_THAT(error_of_entries(kGood + "," + entry("z", "F32", "[0]", "[4,4]")),
              IsBad("z", {"[4, 4]", "w", "[0, 8]"}));
  EXPECT_THAT(error_of_entries(kGood + "," + entry("z", "F32", "[0]", "[9,9]")),
              IsBad("", {"8", "9"}));
}

TEST(SafetensorsHostileTest, DataIsAsLongAsTheTensors) {
  EXPECT_THAT(error_of("{" + kGood + "}", 7), IsBad("", {"7"}, {"8"}));
  EXPECT_THAT(error_of("{" + kGood + "}", 9), IsBad("", {"9"}, {"8"}));
  EXPECT_THAT(error_of("{}", 1), IsBad("", {"1"}, {"0"}));
  EXPECT_THAT(error_of_entries(entry("w", "U8", "[9223372036854775807]",
                                     "[0,9223372036854775807]")),
              IsBad("", {"8"}, {"9223372036854775807"}));
}

TEST(SafetensorsHostileTest, MoreAxesThanThirtyTwoAreRefused) {
  const auto shape = [](int rank) {
    std::string text = "[";
    for (int axis = 0; axis < rank; ++axis) {
      text += "1,";
    }
    text.back() = ']';
    return text;
  };
  EXPECT_TRUE(parse_safetensors(
      safetensors_file("{" + entry("w", "F64", shape(32), "[0,8]") + "}",
                       Bytes(8)),
      "x"));
  EXPECT_THAT(error_of_entries(entry("w", "F64", shape(33), "[0,8]")),
              IsBad("w", {"32"}));
}

TEST(SafetensorsHostileTest, PicklesAndArchivesAreNeverRead) {
  for (const std::string& start :
       {std::string("PK\x03\x04\x14\0\0\0", 8),
        std::string("\x80\x02\x8a\x0al\xfc\x9c\x46", 8),
        std::string("\x80\x05\x95\x10\0\0\0\1", 8)}) {
    EXPECT_THAT(error_of(bytes_of(start + "some more bytes")),
                IsBad("", {"safetensors.torch.save_file(torch.load(FILE, "
                           "weights_only=True), OUT)"}));
  }
  // A header of 0x280 bytes begins with the same two.
  std::string header = "{" + kGood;
  header.resize(0x27f, ' ');
  EXPECT_TRUE(parse_safetensors(safetensors_file(header + "}", Bytes(8)), "x"));
}

// CVE-2026-33298, CVE-2026-27940, CVE-2025-53630: a product of sizes that
// wraps round to a small number.
TEST(SafetensorsHostileTest, ProductsOfSizesDoNotOverflow) {
  int legal = 0;
  for (const Sizes& shape : hostile_shapes()) {
    std::string text = "[" + sizes_text(shape);
    text.back() = ']';
    const auto bytes = product_of(shape);
    const bool empty = std::ranges::count(shape, 0u) > 0;
    const Bytes file = safetensors_file(
        "{" + entry("w", "F32", text, empty ? "[0,0]" : "[0,4]") + "}",
        Bytes(empty ? 0 : 4));
    const auto read = parse_safetensors(file, "x");
    EXPECT_EQ(static_cast<bool>(read), bytes && (empty || *bytes == 4)) << text;
    if (read) {
      ++legal;
      EXPECT_TRUE(read->tensor("w"));
      EXPECT_EQ(read->array("w").value().data.size(), empty ? 0u : 4u);
    } else if (!bytes) {
      EXPECT_THAT(read, IsBad("w", {"F32", "more"}));
    }
  }
  EXPECT_GT(legal, 100);
}

// llama.cpp #24263: a size of 0 was divided by.
TEST(SafetensorsHostileTest, SizesOfZeroAreHarmlessEverywhere) {
  for (const char* shape : {"[0]", "[0,3]", "[3,0]", "[2,0,3]", "[0,0]"}) {
    for (const char* type : {"F32", "F16", "BF16", "F64", "BOOL", "I8"}) {
      const Bytes bytes =
          safetensors_file("{" + entry("w", type, shape, "[0,0]") + "}", {});
      const auto file = parse_safetensors(bytes, "x").value();
      const auto array = file.array("w").value();
      EXPECT_TRUE(check_finite(array, "test", "w"));
      EXPECT_FALSE(to_float<5>(array, "test", "w"));
      const Bytes again =
          format_safetensors({{"w", file.tensor("w").value().view}}).value();
      EXPECT_EQ(parse_safetensors(again, "y").value().tensors().at("w").shape,
                array.shape);
    }
  }
}

// mlx #3363: offsets that do not fit the shape were read behind the file's end.
TEST(SafetensorsHostileTest, OffsetsDoNotReachOutOfTheFile) {
  for (const char* offsets :
       {"[8,0]", "[0,4]", "[0,9]", "[4,12]", "[8,16]", "[1,9]", "[0,0]",
        "[8,8]", "[18446744073709551608,0]", "[0,18446744073709551615]",
        "[18446744073709551612,4]", "[9223372036854775808,9223372036854775816]",
        "[4294967296,4294967304]"}) {
    EXPECT_EQ(error_of("{" + entry("w", "F32", "[2]", offsets) + "}", 8).code(),
              ErrorCode::bad_data)
        << offsets;
  }
}

// CVE-2026-7482: sizes beyond the file let other memory be read.
TEST(SafetensorsHostileTest, SizesBeyondTheFileAreFoundBeforeItIsRead) {
  EXPECT_THAT(error_of_entries(entry("w", "F32", "[1000000]", "[0,4000000]")),
              IsBad("", {"8"}, {"4000000"}));
}

}  // namespace
}  // namespace headwise::testing_support
