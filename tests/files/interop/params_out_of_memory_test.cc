// Each allocation fails once of what reads, converts and lays out parameters.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "headwise/interop/convert_params.h"
#include "headwise/interop/layouts.h"
#include "headwise/interop/load_attention.h"
#include "headwise/interop/param_inspection.h"
#include "headwise/interop/params.h"
#include "interop/bert_file.h"
#include "interop/files.h"
#include "interop/laid_out.h"
#include "interop/layout_tensors.h"
#include "support/failures.h"

namespace headwise::testing_support {
namespace {

TEST(ParamsOutOfMemoryTest, EveryAllocationOfAPackedLayerMayFail) {
  const std::vector<float> zeros(12 * 4);
  const TensorView<const float, 2> packed(zeros.data(), {12, 4});
  const TensorView<const float, 2> square(zeros.data(), {4, 4});
  const TensorView<const float, 1> bias(zeros.data(), {12});
  const TempFolder folder;
  const std::string path = folder / "x.safetensors";
  ASSERT_TRUE(write_safetensors(path, {{"in_proj_weight", packed},
                                       {"in_proj_bias", bias},
                                       {"out_proj.weight", square}}));
  const ParamNames names = {.required = {"w_q.weight"}};
  EXPECT_GT(failures_of([&] { return read_layer_params(path, names); }), 100);
  LayerParams layer = read_layer_params(path, names).value();
  layer.num_heads = 2;
  const Layout& keras = layout("keras");
  EXPECT_GT(failures_of([&] { return lay_out(layer, 0, keras); }), 10);
}

TEST(ParamsOutOfMemoryTest, EveryAllocationOfALayoutMayFail) {
  const NamedArrays tensors = lay_out(layer_of(), 0, layout("keras")).value();
  const ShapesByName shapes = shapes_of(tensors);
  const FileSubject subject = {"test", "file"};
  const auto find = [&] { return find_layout(shapes, subject); };
  EXPECT_GT(failures_of(find, 3), 10);
  const LayoutMatch match = find().value();
  EXPECT_GT(failures_of([&] { return layer_shapes(match, shapes, 0); }), 3);
  const auto read = [&](const std::string& name) -> Result<Array> {
    return tensors.at(name);
  };
  EXPECT_GT(failures_of([&] { return take_layer(match, shapes, 0, read); }),
            10);
  const LayerParams empty;
  expect_failures_of_errors(
      {{"find_layout", [&] { return find_layout(shapes, subject, "bert"); }},
       {"layer_shapes", [&] { return layer_shapes(match, shapes, 1); }},
       {"take_layer", [&] { return take_layer(match, shapes, 1, read); }},
       {"lay_out", [&] { return lay_out(empty, 0, layout("keras")); }}});
}

TEST(ParamsOutOfMemoryTest, EveryAllocationOfAConversionMayFail) {
  const BertFile file;
  const std::string from = file.path();
  const std::string to = file / "keras.npz";
  const ConvertOptions options = {.to = "keras", .layer = 1, .num_heads = 2};
  const auto convert = [&] { return convert_params(from, options); };
  constexpr long kStep = 11;
  EXPECT_GT(failures_of(convert, kStep), 100);
  const ConvertedParams converted = convert().value();
  EXPECT_GT(failures_of([&] { return write_params(to, converted); }, kStep),
            100);
  EXPECT_GT(failures_of([&] { return convert_params(from, to, options); }, 53),
            100);
  expect_failures_of_errors(
      {{"convert_params", [&] { return convert_params(from, {.to = "none"}); }},
       {"write_params", [&] { return write_params("x", converted); }}});
}

TEST(ParamsOutOfMemoryTest, EveryAllocationOfAnInspectionMayFail) {
  const BertFile file;
  const std::string path = file.path();
  EXPECT_GT(failures_of([&] { return inspect_params(path); }, 11), 100);
}

TEST(ParamsOutOfMemoryTest, EveryAllocationOfLoadingALayerMayFail) {
  const BertFile file;
  const std::string path = file.path();
  const LoadAttentionOptions options = {.layer = 1, .num_heads = 2};
  EXPECT_GT(failures_of([&] { return load_attention(path, options); }, 11),
            100);
  NamedArrays tensors =
      lay_out(layer_of(DType::float32), 0, layout("headwise")).value();
  tensors.emplace("embedding.weight", counted({9, 6}, 0, DType::float32));
  std::map<std::string, AnyView> views;
  for (const auto& [name, array] : tensors) {
    views.emplace(name, array.view());
  }
  const std::string embedded = file / "embedded.npz";
  ASSERT_TRUE(write_npz(embedded, views));
  EXPECT_GT(
      failures_of(
          [&] { return load_embedded_attention(embedded, {.num_heads = 3}); },
          11),
      100);
}

}  // namespace
}  // namespace headwise::testing_support
