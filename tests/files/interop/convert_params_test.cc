// What a program reads of a file's layers and writes in another layout; the
// command's tests (inspect_test.py, convert_test.py) have every layout.
#include "headwise/interop/convert_params.h"

#include <string>

#include "headwise/interop/param_inspection.h"
#include "interop/bert_file.h"
#include "interop/files.h"
#include "support/matchers.h"

namespace headwise::testing_support {
namespace {

TEST(ConvertParamsTest, ThereAndBackHasTheSameBytes) {
  const BertFile file;
  ASSERT_TRUE(convert_params(file.path(), file / "there.safetensors",
                             {.to = "distilbert"}));
  ASSERT_TRUE(convert_params(file / "there.safetensors",
                             file / "back.safetensors", {.to = "bert"}));
  EXPECT_EQ(file_bytes(file / "back.safetensors"), file_bytes(file.path()));
}

TEST(ConvertParamsTest, SaysWhatItConverted) {
  const BertFile file;
  const auto converted =
      convert_params(file.path(), {.to = "keras", .layer = 1, .num_heads = 2})
          .value();
  EXPECT_EQ(converted.from.layout->name, "bert");
  EXPECT_THAT(converted.layers, ElementsAre(1));
  EXPECT_THAT(converted.other_names, ElementsAre("pooler.dense.weight"));
  EXPECT_EQ(converted.others.size(), 1u);
  EXPECT_EQ(converted.metadata.at("format"), "pt");
  EXPECT_THAT(converted.tensors.at("query/kernel").shape, ElementsAre(4, 2, 2));
}

// Which argument the error of these options is about.
std::string argument_of(const BertFile& file, const ConvertOptions& options,
                        ErrorCode code) {
  const auto converted = convert_params(file.path(), options);
  EXPECT_FALSE(converted);
  EXPECT_EQ(converted.error().code(), code) << converted.error().message();
  EXPECT_EQ(converted.error().details().operation, "convert");
  return converted.error().details().argument;
}

TEST(ConvertParamsTest, ErrorsNameTheOption) {
  const BertFile file;
  const auto invalid = ErrorCode::invalid_argument;
  EXPECT_EQ(argument_of(file, {.to = "brt"}, invalid), "to");
  EXPECT_EQ(argument_of(file, {.to = "bert", .prefix = "x."}, invalid),
            "prefix");
  EXPECT_EQ(argument_of(file, {.to = "d2l"}, invalid), "layer");
  EXPECT_EQ(
      argument_of(file, {.to = "d2l", .layer = 2}, ErrorCode::out_of_range),
      "layer");
  EXPECT_EQ(argument_of(file, {.to = "bert", .as_layer = 3}, invalid),
            "as_layer");
  EXPECT_EQ(argument_of(file, {.to = "keras", .layer = 0}, invalid),
            "num_heads");
  EXPECT_EQ(argument_of(file, {.to = "keras", .layer = 0, .num_heads = 3},
                        ErrorCode::shape_mismatch),
            "num_heads");
  const Status written = write_params(
      file / "x.pt", convert_params(file.path(), {.to = "bert"}).value());
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().details().argument, "path");
}

TEST(InspectParamsTest, FindsLayoutLayersAndSizes) {
  const BertFile file;
  const auto found = inspect_params(file.path()).value();
  EXPECT_EQ(found.tensors.size(), 17u);
  EXPECT_EQ(found.layout->layout->name, "bert");
  ASSERT_EQ(found.layers.size(), 2u);
  EXPECT_FALSE(found.layers[0].shapes.num_heads);
  EXPECT_EQ(found.layers[0].why_no_heads->message(),
            "its folder has no config.json");
  EXPECT_EQ(found.attention_parameters, 2u * 4 * (16 + 4));
  EXPECT_EQ(found.parameters, found.attention_parameters + 16);
  EXPECT_EQ(found.files.front().sha256.size(), 64u);
}

TEST(InspectParamsTest, TensorsThatFitNoLayoutAreNoError) {
  const BertFile file;
  const auto found = inspect_params(file.path(), "keras").value();
  EXPECT_FALSE(found.layout);
  EXPECT_THAT(found.layers, IsEmpty());
  EXPECT_NE(found.why_no_layout->message().find("keras"), std::string::npos);
}

TEST(InspectParamsTest, AMissingFileIsAnError) {
  const auto found = inspect_params("/nonexistent/model.safetensors");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code(), ErrorCode::io_error);
}

}  // namespace
}  // namespace headwise::testing_support
