// safetensors files that are not what they must be: an error each, never a
// crash.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>

#include "headwise/interop/safetensors.h"
#include "interop/hostile_shapes.h"
#include "interop/safetensors_bytes.h"
#include "support/errors.h"

namespace headwise {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

// As the same error of all three ways to a file.
Error error_of(std::span<const std::byte> bytes) {
  const auto file = parse_safetensors(bytes, "x");
  if (file) {
    ADD_FAILURE() << "no error";
    return ErrorCode::device_error;
  }
  const std::string said =
      testing_support::said_of_file(file.error(), "parse_safetensors", "x");
  const TempFolder folder;
  const std::string path = folder / "x";
  put_file(path, bytes);
  for (const FileAccess access : {FileAccess::read, FileAccess::mapped}) {
    const auto opened = open_safetensors(path, access);
    if (opened) {
      ADD_FAILURE() << "no error of the file";
      return ErrorCode::device_error;
    }
    EXPECT_EQ(
        testing_support::said_of_file(opened.error(), "open_safetensors", path),
        said);
    EXPECT_EQ(opened.error().code(), file.error().code());
  }
  return {file.error().code(), {.given = said}};
}

Error error_of(std::string_view header, std::size_t data_bytes) {
  return error_of(safetensors_file(header, Bytes(data_bytes)));
}

// Of `{...}` about 8 bytes of data.
std::string said_of(const std::string& entries) {
  const Error error = error_of("{" + entries + "}", 8);
  EXPECT_EQ(error.code(), ErrorCode::bad_data) << error.message();
  return error.message();
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
  for (const auto& [length, said] :
       {std::pair<std::size_t, std::string>{
            std::numeric_limits<std::uint64_t>::max(),
            "has a header of 18446744073709551615 bytes, expected at most "
            "100000000"},
        {std::numeric_limits<std::uint64_t>::max() - 7,
         "has a header of 18446744073709551608 bytes, expected at most "
         "100000000"},
        {100'000'001, "has a header of 100000001 bytes, expected"},
        {100'000'000,
         "has a header of 100000000 bytes, expected one that fits in the 10 "
         "bytes of the file"},
        {3,
         "has a header of 3 bytes, expected one that fits in the 10 bytes of "
         "the file"},
        {0, "has a malformed header at byte 8, expected '{'"}}) {
    Bytes bytes;
    append_number(bytes, length, 8);
    append(bytes, bytes_of("{}"));
    EXPECT_THAT(error_of(bytes).message(), HasSubstr(said));
  }
}

TEST(SafetensorsHostileTest, HeaderThatIsNoJsonObjectIsAnError) {
  for (const std::string& header :
       {std::string("[]"), std::string(" {}"), std::string("\xef\xbb\xbf{}"),
        std::string("\"a\""), std::string("0")}) {
    EXPECT_EQ(error_of(header, 0).message(),
              "has a malformed header at byte 8, expected '{'");
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
    EXPECT_EQ(error.code(), ErrorCode::bad_data);
    EXPECT_THAT(error.message(), HasSubstr("is not JSON text in UTF-8 at byte"))
        << header;
  }
  EXPECT_EQ(error_of(std::string("{}\0{}", 5), 0).message(),
            "has a NUL character in its JSON text at byte 10");
}

TEST(SafetensorsHostileTest, NestingEndsWhereTheFormatEnds) {
  EXPECT_EQ(said_of("\"w\":" + std::string(1'000'000, '[')),
            "w holds an array, expected an object");
  std::string objects;
  for (int i = 0; i < 100'000; ++i) {
    objects += "{\"a\":";
  }
  EXPECT_EQ(said_of("\"w\":{\"shape\":" + objects),
            "w.shape holds an object, expected an array of "
            "sizes");
  EXPECT_EQ(said_of("\"__metadata__\":{\"a\":" + objects),
            "__metadata__.a holds an object, expected a text");
}

TEST(SafetensorsHostileTest, NoKeyStandsTwice) {
  EXPECT_EQ(said_of(kGood + "," + kGood), "has w twice in its header");
  EXPECT_EQ(said_of(kGood + R"(,"\u0077":{})"), "has w twice in its header");
  EXPECT_EQ(said_of(R"("__metadata__":{},"__metadata__":{})"),
            "has __metadata__ twice in its header");
  EXPECT_EQ(said_of(R"("__metadata__":{"a":"1","a":"1"})"),
            "__metadata__ has a twice");
  for (const char* key : {"dtype", "shape", "data_offsets"}) {
    std::string twice = kGood;
    twice.pop_back();
    const std::size_t at = kGood.find("\"" + std::string(key));
    const std::size_t end = kGood.find(",\"", at);
    twice += "," + kGood.substr(at, std::min(end, kGood.size() - 1) - at) + "}";
    EXPECT_EQ(said_of(twice), "w has " + std::string(key) + " twice");
  }
}

TEST(SafetensorsHostileTest, EntryHasItsThreeKeysAndNoOther) {
  EXPECT_EQ(said_of(R"("w":{})"), "w has no dtype");
  EXPECT_EQ(said_of(R"("w":{"dtype":"F32","data_offsets":[0,8]})"),
            "w has no shape");
  EXPECT_EQ(said_of(R"("w":{"shape":[2],"dtype":"F32"})"),
            "w has no data_offsets");
  EXPECT_EQ(said_of(R"("w":{"dtype":"F32","offsets":[0,8]})"),
            "w has the unknown key offsets, expected dtype, shape and "
            "data_offsets");
  EXPECT_EQ(said_of(R"("a\u001b[31m":{"x":1})"),
            "a\\x1b[31m has the unknown key x, expected dtype, shape "
            "and data_offsets");
}

TEST(SafetensorsHostileTest, ValueOfAnotherKindIsNamedWithItsPlace) {
  for (const auto& [entries, said] :
       {std::pair<std::string, std::string>{"\"w\":null",
                                            "w holds null, expected an object"},
        {"\"w\":[\"F32\",[2],[0,8]]", "w holds an array, expected an object"},
        {"\"__metadata__\":null",
         "__metadata__ holds null, expected an object of texts"},
        {"\"__metadata__\":[]",
         "__metadata__ holds an array, expected an object of texts"},
        {"\"__metadata__\":{\"k\":1}",
         "__metadata__.k holds a number, expected a text"},
        {"\"__metadata__\":{\"k\":false}",
         "__metadata__.k holds a bool, expected a text"},
        {"\"w\":{\"dtype\":32}", "w.dtype holds a number, expected a text"},
        {"\"w\":{\"dtype\":{\"F32\":null}}",
         "w.dtype holds an object, expected a text"},
        {"\"w\":{\"shape\":2}",
         "w.shape holds a number, expected an array of sizes"},
        {"\"w\":{\"shape\":[2.0]}",
         "w.shape holds a number that is no integer of 64 bits, "
         "expected an array of sizes"},
        {"\"w\":{\"shape\":[18446744073709551616]}",
         "w.shape holds a number that is no integer of 64 bits, "
         "expected an array of sizes"},
        {"\"w\":{\"shape\":[-1]}",
         "w.shape holds a negative number, expected an array of "
         "sizes"},
        {"\"w\":{\"shape\":[-0]}",
         "w.shape holds a negative number, expected an array of "
         "sizes"},
        {"\"w\":{\"shape\":[[2]]}",
         "w.shape holds an array, expected an array of sizes"},
        {"\"w\":{\"shape\":[\"2\"]}",
         "w.shape holds a text, expected an array of sizes"},
        {"\"w\":{\"data_offsets\":8}",
         "w.data_offsets holds a number, expected [begin, end]"},
        {"\"w\":{\"data_offsets\":[0,-8]}",
         "w.data_offsets holds a negative number, expected "
         "[begin, end]"}}) {
    EXPECT_EQ(said_of(entries), said);
  }
  for (const char* offsets : {"[]", "[0]", "[0,8,8]"}) {
    EXPECT_EQ(said_of(entry("w", "F32", "[2]", offsets)),
              "w.data_offsets are malformed, expected [begin, "
              "end]");
  }
}

TEST(SafetensorsHostileTest, TypesThatAreNotReadAreRefusedByName) {
  for (const char* type : {"F4", "F6_E2M3", "F6_E3M2", "F8_E4M3", "F8_E5M2",
                           "F8_E8M0", "F8_E4M3FNUZ", "F8_E5M2FNUZ", "C64"}) {
    const Error error =
        error_of("{" + entry("w", type, "[8]", "[0,8]") + "}", 8);
    EXPECT_EQ(error.code(), ErrorCode::unsupported);
    EXPECT_EQ(
        error.message(),
        "w holds elements of type " + std::string(type) +
            ", expected one of F64 F32 F16 BF16 I64 I32 I16 I8 U64 U32 U16 U8 "
            "BOOL");
  }
  EXPECT_EQ(error_of(file_bytes(data_path("float8.safetensors"))).code(),
            ErrorCode::unsupported);
  for (const char* type : {"", "f32", "F32 ", "float32", "\\u0000"}) {
    EXPECT_THAT(said_of(entry("w", type, "[2]", "[0,8]")),
                HasSubstr("w holds elements of type"));
  }
}

TEST(SafetensorsHostileTest, OffsetsFitTheShapeAndTheType) {
  EXPECT_EQ(said_of(entry("w", "F32", "[2]", "[8,0]")),
            "w has the data_offsets [8, 0], which end before they "
            "begin");
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
      EXPECT_EQ(said_of(entry("w", type, "[2]", offsets)),
                "w has shape (2) and type " + std::string(type) +
                    ", which take " + std::to_string(bytes) +
                    " bytes, but has the data_offsets [0, " +
                    std::to_string(wrong) + "]");
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
  const auto said = [](const char* first, const char* second) {
    return said_of(entry("a", "U8", "[4]", first) + "," +
                   entry("b", "U8", "[4]", second));
  };
  EXPECT_EQ(said("[0,4]", "[3,7]"),
            "b has the data_offsets [3, 7], which overlap those of a, [0, 4]");
  EXPECT_EQ(said("[0,4]", "[0,4]"),
            "b has the data_offsets [0, 4], which overlap those of a, [0, 4]");
  EXPECT_EQ(said("[5,9]", "[0,4]"),
            "has data that belongs to no tensor: bytes 4 to 5");
  EXPECT_EQ(said("[1,5]", "[5,9]"),
            "has data that belongs to no tensor: bytes 0 to 1");
  // A tensor without elements has a place too.
  EXPECT_EQ(said_of(kGood + "," + entry("z", "F32", "[0]", "[4,4]")),
            "z has the data_offsets [4, 4], which overlap those of w, [0, 8]");
  EXPECT_EQ(said_of(kGood + "," + entry("z", "F32", "[0]", "[9,9]")),
            "has data that belongs to no tensor: bytes 8 to 9");
}

TEST(SafetensorsHostileTest, DataIsAsLongAsTheTensors) {
  EXPECT_EQ(error_of("{" + kGood + "}", 7).message(),
            "has 7 bytes of data, expected 8 for its tensors");
  EXPECT_EQ(error_of("{" + kGood + "}", 9).message(),
            "has 9 bytes of data, expected 8 for its tensors");
  EXPECT_EQ(error_of("{}", 1).message(),
            "has 1 bytes of data, expected 0 for its tensors");
  EXPECT_EQ(
      error_of("{" +
                   entry("w", "U8", "[9223372036854775807]",
                         "[0,9223372036854775807]") +
                   "}",
               8)
          .message(),
      "has 8 bytes of data, expected 9223372036854775807 for its tensors");
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
  EXPECT_EQ(said_of(entry("w", "F64", shape(33), "[0,8]")),
            "w has more than 32 axes");
}

TEST(SafetensorsHostileTest, PicklesAndArchivesAreNeverRead) {
  for (const std::string& start :
       {std::string("PK\x03\x04\x14\0\0\0", 8),
        std::string("\x80\x02\x8a\x0al\xfc\x9c\x46", 8),
        std::string("\x80\x05\x95\x10\0\0\0\1", 8)}) {
    EXPECT_THAT(error_of(bytes_of(start + "some more bytes")).message(),
                HasSubstr("safetensors.torch.save_file(torch.load(FILE, "
                          "weights_only=True), OUT)"));
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
      EXPECT_THAT(read.error().message(),
                  EndsWith("which take more bytes than there can be"));
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
      const auto file = parse_safetensors(bytes, "x");
      ASSERT_TRUE(file) << file.error().message();
      const auto array = file->array("w");
      ASSERT_TRUE(array);
      EXPECT_TRUE(check_finite(*array, "test", "w"));
      EXPECT_FALSE(to_float<5>(*array, "test", "w"));
      const Bytes again =
          format_safetensors({{"w", file->tensor("w").value().view}}).value();
      EXPECT_EQ(parse_safetensors(again, "y").value().tensors().at("w").shape,
                array->shape);
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
  EXPECT_EQ(
      error_of("{" + entry("w", "F32", "[1000000]", "[0,4000000]") + "}", 8)
          .message(),
      "has 8 bytes of data, expected 4000000 for its tensors");
}

}  // namespace
}  // namespace headwise
