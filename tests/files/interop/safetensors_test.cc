#include "headwise/interop/safetensors.h"

#include <sys/stat.h>

#include <limits>
#include <thread>

#include "interop/safetensors_bytes.h"
#include "support/errors.h"
#include "support/matchers.h"

namespace headwise::testing_support {
namespace {

using testing::Pair;
using testing::UnorderedElementsAre;

// The numbers that the tensor `name` of `file` widens to.
std::vector<float> floats_of(const SafetensorsFile& file,
                             std::string_view name) {
  const auto array = file.array(name);
  if (!array) {
    ADD_FAILURE() << array.error().message();
    return {};
  }
  const auto tensor = to_float<1>(*array, "test", name);
  if (!tensor) {
    ADD_FAILURE() << tensor.error().message();
    return {};
  }
  return {tensor->elements().begin(), tensor->elements().end()};
}

std::span<const std::byte> view_bytes(const AnyView& view) {
  std::size_t count = size_of(view.dtype());
  for (const std::size_t extent : view.extents()) {
    count *= extent;
  }
  return {static_cast<const std::byte*>(view.data()), count};
}

TEST(SafetensorsTest, EveryTypeThatTheFormatsOwnLibraryWroteIsRead) {
  for (const FileAccess access : {FileAccess::read, FileAccess::mapped}) {
    const auto file =
        open_safetensors(data_path("every_type.safetensors"), access).value();
    EXPECT_EQ(file.tensors().size(), 16u);
    for (const char* name :
         {"f64", "f32", "f16", "bf16", "i64", "i32", "i16", "i8"}) {
      EXPECT_THAT(floats_of(file, name), ElementsAre(-1, 0, 3)) << name;
    }
    for (const char* name : {"u64", "u32", "u16", "u8"}) {
      EXPECT_THAT(floats_of(file, name), ElementsAre(1, 0, 3)) << name;
    }
    const auto flags =
        to_bool<1>(file.array("bool").value(), "test", "bool").value();
    EXPECT_THAT(flags.elements(), ElementsAre(false, true, true));
    EXPECT_EQ(to_float<0>(file.array("scalar").value(), "test", "scalar")
                  .value()
                  .elements()[0],
              2.5f);
    EXPECT_THAT(file.tensors().at("empty").shape, ElementsAre(2, 0, 3));
    EXPECT_TRUE(file.array("empty").value().data.empty());
    EXPECT_TRUE(file.tensors().contains("encoder.layer.0/\xc3\xa9\"\\"));
    EXPECT_THAT(file.metadata(), ElementsAre(Pair("format", "pt"),
                                             Pair("note", "line\n\xc3\xa9")));
  }
}

TEST(SafetensorsTest, SixteenBitNumbersAreWidenedExactly) {
  Bytes data;
  // 2^-24, the largest float16, infinity, 2^-14.
  for (const std::size_t bits : {0x0001u, 0x7bffu, 0x7c00u, 0x0400u}) {
    append_number(data, bits, 2);
  }
  // 2^-133, the largest bfloat16, -infinity.
  for (const std::size_t bits : {0x0001u, 0x7f7fu, 0xff80u}) {
    append_number(data, bits, 2);
  }
  const auto bytes =
      safetensors_file("{" + entry("h", "F16", "[4]", "[0,8]") + "," +
                           entry("b", "BF16", "[3]", "[8,14]") + "}",
                       data);
  const auto file = parse_safetensors(bytes, "x").value();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_THAT(floats_of(file, "h"),
              ElementsAre(0x1p-24f, 65504.0f, kInfinity, 0x1p-14f));
  EXPECT_THAT(floats_of(file, "b"),
              ElementsAre(0x1p-133f, 0x1.fep127f, -kInfinity));
}

TEST(SafetensorsTest, TensorIsReadInPlaceWhereItsBytesCanBeUsedAsTheyAre) {
  Bytes data;
  append_number(data, 0x3f800000, 4);
  append_number(data, 0x40000000, 4);
  for (const int blanks : {0, 1, 2, 3, 4, 5, 6, 7}) {
    std::string header = "{" + entry("a", "F32", "[2]", "[0,8]") + "}";
    header.resize((header.size() + 7) / 8 * 8, ' ');
    header.append(static_cast<std::size_t>(blanks), ' ');
    const Bytes bytes = safetensors_file(header, data);
    const auto file = parse_safetensors(bytes, "x").value();
    const auto tensor = file.tensor("a").value();
    EXPECT_EQ(tensor.in_place, blanks % 4 == 0);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor.view.data()) % 4, 0u);
    EXPECT_THAT(elements_of<float>(view_bytes(tensor.view)), ElementsAre(1, 2));
    if (tensor.in_place) {
      EXPECT_EQ(tensor.view.data(), bytes.data() + bytes.size() - 8);
    }
  }
}

TEST(SafetensorsTest, TensorOutlivesItsFile) {
  SafetensorsTensor read;
  SafetensorsTensor mapped;
  SafetensorsTensor copied;
  const TempFolder folder;
  {
    const std::string path = data_path("every_type.safetensors");
    const auto first = open_safetensors(path, FileAccess::read);
    const auto second = open_safetensors(path, FileAccess::mapped);
    ASSERT_TRUE(first && second);
    read = first->tensor("f32").value();
    mapped = second->tensor("f32").value();
    put_file(folder / "odd.safetensors",
             safetensors_file("{" + entry("b", "BOOL", "[2]", "[0,2]") + "}",
                              bytes_of("\x02\x01")));
    copied = open_safetensors(folder / "odd.safetensors", FileAccess::mapped)
                 .value()
                 .tensor("b")
                 .value();
  }
  EXPECT_TRUE(read.in_place && mapped.in_place);
  EXPECT_THAT(elements_of<float>(view_bytes(read.view)), ElementsAre(-1, 0, 3));
  EXPECT_THAT(elements_of<float>(view_bytes(mapped.view)),
              ElementsAre(-1, 0, 3));
  EXPECT_FALSE(copied.in_place);
  EXPECT_THAT(elements_of<char>(view_bytes(copied.view)), ElementsAre(1, 1));
}

TEST(SafetensorsTest, AnyByteButZeroIsTrue) {
  const Bytes bytes =
      safetensors_file("{" + entry("b", "BOOL", "[4]", "[0,4]") + "}",
                       bytes_of({"\x00\x01\x02\xff", 4}));
  const auto file = parse_safetensors(bytes, "x").value();
  const auto array = file.array("b").value();
  EXPECT_THAT(elements_of<char>(array.data), ElementsAre(0, 1, 1, 1));
}

TEST(SafetensorsTest, FileThatWasReadDoesNotChangeWithItsFile) {
  const TempFolder folder;
  const std::string path = folder / "a.safetensors";
  put_file(path, file_bytes(data_path("one.safetensors")));
  const auto file = open_safetensors(path, FileAccess::read).value();
  const auto tensor = file.tensor("a").value();
  put_file(path, {});  // the same file, of no bytes now
  EXPECT_THAT(elements_of<float>(view_bytes(tensor.view)), ElementsAre(1, 2));
}

TEST(SafetensorsTest, FileComesThroughAPipe) {
  const TempFolder folder;
  const std::string pipe = folder / "pipe.safetensors";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const Bytes whole = file_bytes(data_path("every_type.safetensors"));
  for (const FileAccess access : {FileAccess::read, FileAccess::mapped}) {
    std::thread writer([&] { put_file(pipe, whole); });
    const auto file = open_safetensors(pipe, access);
    writer.join();
    ASSERT_TRUE(file) << file.error().message();
    EXPECT_EQ(file->tensors().size(), 16u);
  }
  const auto read_through_pipe = [&](const Bytes& bytes) {
    std::thread writer([&] { put_file(pipe, bytes); });
    auto file = open_safetensors(pipe);
    writer.join();
    return file;
  };
  ErrorParts parts = {.code = ErrorCode::bad_data,
                      .operation = "open_safetensors",
                      .file = pipe};
  for (const std::uint16_t size : {std::uint16_t{500}, std::uint16_t{3}}) {
    parts.byte = size;
    EXPECT_THAT(read_through_pipe({whole.begin(), whole.begin() + size}),
                HasError(parts));
  }
  parts.byte = {};
  parts.expected = {"153"};
  parts.given = {"152"};
  EXPECT_THAT(read_through_pipe({whole.begin(), whole.end() - 1}),
              HasError(parts));
  parts.given = {"too many"};
  Bytes longer = whole;
  longer.push_back(std::byte{0});
  EXPECT_THAT(read_through_pipe(longer), HasError(parts));
}

TEST(SafetensorsTest, WhatIsWrittenIsReadAgainInEveryType) {
  const auto file =
      open_safetensors(data_path("every_type.safetensors")).value();
  std::map<std::string, SafetensorsTensor> tensors;
  std::map<std::string, AnyView> views;
  for (const auto& [name, entry] : file.tensors()) {
    tensors[name] = file.tensor(name).value();
    views.emplace(name, tensors[name].view);
  }
  const TempFolder folder;
  const std::string path = folder / "again.safetensors";
  const Status written = write_safetensors(path, views, file.metadata());
  ASSERT_TRUE(written) << written.error().message();
  EXPECT_EQ(file_bytes(path),
            format_safetensors(views, file.metadata()).value());
  const auto again = open_safetensors(path, FileAccess::mapped).value();
  EXPECT_EQ(again.metadata(), file.metadata());
  ASSERT_EQ(again.tensors().size(), views.size());
  for (const auto& [name, view] : views) {
    const auto tensor = again.tensor(name).value();
    EXPECT_TRUE(tensor.in_place) << name;
    EXPECT_EQ(tensor.view.dtype(), view.dtype()) << name;
    EXPECT_TRUE(std::ranges::equal(tensor.view.extents(), view.extents()));
    EXPECT_TRUE(std::ranges::equal(view_bytes(tensor.view), view_bytes(view)))
        << name;
  }
}

TEST(SafetensorsTest, TheBytesThatAreWrittenAreTheFormats) {
  const std::array<float, 2> values = {1, 2};
  const bool flag = true;
  const auto file =
      format_safetensors(
          {{"a", TensorView<const bool, 0>(&flag, {})},
           {"w\n", TensorView<const float, 2>(values.data(), {2, 1})}},
          {{"k", "\"v\""}})
          .value();
  std::string header = R"({"__metadata__":{"k":"\"v\""},)" +
                       entry("a", "BOOL", "[]", "[8,9]") + "," +
                       entry("w\\n", "F32", "[2,1]", "[0,8]") + "}";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  Bytes data;
  append_number(data, 0x3f800000, 4);
  append_number(data, 0x40000000, 4);
  append_number(data, 1, 1);
  EXPECT_EQ(file, safetensors_file(header, data));
  EXPECT_EQ(format_safetensors({}).value(),
            file_bytes(data_path("none.safetensors")));
}

TEST(SafetensorsTest, ViewsWithStridesAreWrittenInCOrder) {
  const std::array<float, 6> values = {0, 1, 2, 3, 4, 5};
  const std::array<std::size_t, 2> extents = {3, 2};
  const std::array<std::ptrdiff_t, 2> strides = {1, 3};  // transposed
  const AnyView view(values.data(), DType::float32, extents, strides);
  const Bytes bytes = format_safetensors({{"t", view}}).value();
  const auto file = parse_safetensors(bytes, "x").value();
  EXPECT_THAT(elements_of<float>(file.array("t").value().data),
              ElementsAre(0, 3, 1, 4, 2, 5));
  const TempFolder folder;
  ASSERT_TRUE(write_safetensors(folder / "t.safetensors", {{"t", view}}));
  EXPECT_EQ(file_bytes(folder / "t.safetensors"), bytes);
}

TEST(SafetensorsTest, WhatCannotBeReadBackIsNotWritten) {
  const float value = 1;
  const AnyView view = TensorView<const float, 0>(&value, {});
  const std::vector<std::size_t> ones(33, 1);
  const AnyView deep(&value, DType::float32, ones,
                     std::vector<std::ptrdiff_t>(33, 0));
  const std::array<std::size_t, 1> huge = {std::size_t{1} << 60};
  const std::array<std::ptrdiff_t, 1> still = {0};
  const AnyView wide(&value, DType::float32, huge, still);
  std::map<std::string, AnyView> wides;
  for (const char* name : {"a", "b", "c", "d"}) {
    wides.emplace(name, wide);
  }
  const TempFolder folder;
  const std::string path = folder / "x.safetensors";
  using Values = std::vector<std::string>;
  for (const auto& [tensors, metadata, given, expected] :
       {std::tuple{std::map<std::string, AnyView>{{"__metadata__", view}},
                   SafetensorsMetadata{}, Values{"__metadata__"}, Values{}},
        {{{"a\xff", view}}, {}, {"a\xff"}, {"UTF-8"}},
        {{{"a", deep}}, {}, {"a"}, {}},
        {wides, {}, {std::to_string(huge[0])}, {}},
        {{}, {{"k\xff", "v"}}, {"metadata", "k\xff"}, {"UTF-8"}},
        {{}, {{"k", "\xed\xa0\x80"}}, {"metadata", "k"}, {"UTF-8"}}}) {
    EXPECT_THAT(write_safetensors(path, tensors, metadata),
                HasError({.code = ErrorCode::invalid_argument,
                          .operation = "write_safetensors",
                          .file = path,
                          .given = given,
                          .expected = expected}));
    EXPECT_FALSE(format_safetensors(tensors, metadata));
  }
  EXPECT_EQ(folder.count(), 0u);
}

TEST(SafetensorsTest, HeaderThatCouldNotBeReadIsNotWritten) {
  const auto file =
      format_safetensors({}, {{"k", std::string(100'000'000, 'x')}});
  EXPECT_THAT(file, HasError({.code = ErrorCode::invalid_argument,
                              .operation = "format_safetensors",
                              .given = {"100000032"},
                              .expected = {"100000000"}}));
}

TEST(SafetensorsTest, TensorThatIsNotThereIsNamed) {
  const auto file = open_safetensors(data_path("one.safetensors")).value();
  const auto is_missing = HasError({.code = ErrorCode::out_of_range,
                                    .operation = "open_safetensors",
                                    .file = data_path("one.safetensors"),
                                    .given = {"b\\x0a"}});
  EXPECT_THAT(file.tensor("b\n"), is_missing);
  EXPECT_THAT(file.array("b\n"), is_missing);
}

TEST(SafetensorsTest, FileThatIsNotThereIsNamedWithTheReason) {
  for (const FileAccess access : {FileAccess::read, FileAccess::mapped}) {
    EXPECT_THAT(open_safetensors(data_path("missing"), access),
                HasError({.code = ErrorCode::io_error,
                          .operation = "open_safetensors",
                          .file = data_path("missing"),
                          .system_error = ENOENT}));
  }
}

}  // namespace
}  // namespace headwise::testing_support
