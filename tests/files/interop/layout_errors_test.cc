// What is wrong with tensors or a layer is named.

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headwise/interop/layouts.h"
#include "interop/laid_out.h"
#include "interop/layout_tensors.h"
#include "support/errors.h"
#include "support/matchers.h"

namespace headwise::testing_support {
namespace {

Result<LayoutMatch> found(const ShapesByName& shapes,
                          std::string_view wanted = "") {
  return find_layout(shapes, {"test", "file"}, wanted);
}

// The file's tensors do not fit: the error names these values.
auto DoesNotFit(std::vector<std::string> given,
                std::vector<std::string> expected = {}) {
  return HasError({.code = ErrorCode::bad_data,
                   .operation = "test",
                   .file = "file",
                   .given = std::move(given),
                   .expected = std::move(expected)});
}

class EveryLayoutErrorsTest : public testing::TestWithParam<Layout> {
 protected:
  std::string name() const { return std::string(GetParam().name); }
};

INSTANTIATE_TEST_SUITE_P(All, EveryLayoutErrorsTest,
                         testing::ValuesIn(layouts()), layout_test_name);

TEST_P(EveryLayoutErrorsTest, GoesWithoutBiasesWhereTheyAreOptional) {
  const LayerParams layer = layer_of(DType::float32, false);
  const auto tensors = lay_out(layer, 0, GetParam());
  const bool optional =
      std::ranges::none_of(GetParam().rows, [](const LayoutRow& row) {
        return row.required && row.param.ends_with(".bias");
      });
  ASSERT_EQ(static_cast<bool>(tensors), optional);
  if (optional) {
    expect_equal(take(*tensors).value().params, layer.params);
  } else {
    EXPECT_THAT(tensors, HasError({.code = ErrorCode::invalid_argument,
                                   .operation = "lay_out",
                                   .argument = "layer.params",
                                   .given = {"w_q.bias", name()}}));
  }
}

TEST_P(EveryLayoutErrorsTest, LackOfATensorIsSaid) {
  const auto tensors = lay_out(layer_of(), 0, GetParam()).value();
  for (const LayoutRow& row : GetParam().rows) {
    std::string lacking(row.name);
    if (const std::size_t place = lacking.find("{N}"); place != lacking.npos) {
      lacking.replace(place, 3, "0");
    }
    lacking.insert(0, GetParam().prefixes[0]);
    if (row.param == "w_score.weight" || row.param == "bias_k" ||
        row.param == "bias_v" || row.param.find("_norm.") != row.param.npos) {
      continue;  // of no layer that every layout holds
    }
    ShapesByName shapes = shapes_of(tensors);
    ASSERT_EQ(shapes.erase(lacking), 1u) << lacking;
    if (row.required) {
      EXPECT_THAT(found(shapes, name()), DoesNotFit({name(), lacking}));
    } else {
      EXPECT_TRUE(found(shapes, name())) << lacking;
    }
  }
}

TEST_P(EveryLayoutErrorsTest, WrongNumberOfAxesIsSaid) {
  const auto tensors = lay_out(layer_of(), 0, GetParam()).value();
  for (const auto& [tensor, array] : tensors) {
    ShapesByName shapes = shapes_of(tensors);
    const std::size_t axes = shapes.at(tensor).size();
    shapes.at(tensor).insert(shapes.at(tensor).begin(), 1);
    EXPECT_THAT(found(shapes, name()),
                DoesNotFit({tensor, "(1, ", std::to_string(axes)}));
  }
}

TEST_P(EveryLayoutErrorsTest, BiasOfAnotherLengthIsSaid) {
  const auto tensors = lay_out(layer_of(), 0, GetParam()).value();
  for (const auto& [tensor, array] : tensors) {
    if (tensor.find("bias") == std::string::npos) {
      continue;
    }
    ShapesByName shapes = shapes_of(tensors);
    std::size_t features = 1;
    for (const std::size_t extent : shapes.at(tensor)) {
      features *= extent;
    }
    shapes.at(tensor).back() += 3;
    EXPECT_THAT(found(shapes, name()),
                DoesNotFit({tensor, std::to_string(features)}));
  }
}

// Layers 0, 2 and 11 of a file.
NamedArrays bert_layers() {
  NamedArrays tensors;
  for (const std::size_t number : {0u, 2u, 11u}) {
    tensors.merge(lay_out(layer_of(), number, layout("bert")).value());
  }
  return tensors;
}

TEST(LayoutErrorsTest, ALayerThatIsNotThereIsNamed) {
  EXPECT_THAT(take(bert_layers(), 1), HasError({.code = ErrorCode::out_of_range,
                                                .operation = "test",
                                                .file = "file",
                                                .given = {"1"},
                                                .expected = {"0 2 11"}}));
  const ShapesByName shapes = shapes_of(grouped_keras());
  EXPECT_THAT(layer_shapes(found(shapes).value(), shapes, 1),
              HasError({.code = ErrorCode::out_of_range,
                        .operation = "test",
                        .file = "file",
                        .given = {"1"},
                        .expected = {"0"}}));
}

TEST(LayoutErrorsTest, LayersThatAreNotWholeAreNamed) {
  NamedArrays tensors = bert_layers();
  tensors.erase("encoder.layer.2.attention.self.key.bias");
  tensors.erase("encoder.layer.11.attention.output.dense.weight");
  EXPECT_THAT(found(shapes_of(tensors)),
              DoesNotFit({"bert", "encoder.layer.2.attention.self.key.bias",
                          "encoder.layer.11.attention.output.dense.weight"}));
}

TEST(LayoutErrorsTest, HeadsThatDisagreeAreAnError) {
  NamedArrays tensors = grouped_keras();
  tensors["attention_output/kernel"] = counted({2, 6, 7}, 0);
  EXPECT_THAT(take(tensors), HasError({.code = ErrorCode::bad_data,
                                       .operation = "test",
                                       .file = "file",
                                       .entry = "attention_output/kernel",
                                       .given = {"2"},
                                       .expected = {"4"}}));
}

TEST(LayoutErrorsTest, TheWantedLayoutDecidesBetweenTwo) {
  NamedArrays both = lay_out(layer_of(), 0, layout("headwise")).value();
  both.merge(lay_out(layer_of(), 0, layout("d2l")).value());
  EXPECT_THAT(found(shapes_of(both)), DoesNotFit({"headwise", "d2l"}));
  EXPECT_TRUE(take(both, 0, "d2l"));
  EXPECT_THAT(
      found(shapes_of(both), "bert"),
      DoesNotFit({"bert", "encoder.layer.0.attention.self.query.weight"}));
}

TEST(LayoutErrorsTest, WhatFitsNothingIsSaid) {
  const std::string names =
      "headwise headwise-causal torch-mha torch-mha-split bert distilbert d2l "
      "d2l-dense keras flax";
  EXPECT_THAT(found({}), DoesNotFit({}, {names}));
  EXPECT_THAT(found({{"weight", {2, 2}}}), DoesNotFit({}, {names}));
  EXPECT_THAT(found({}, "gpt\n"), HasError({.code = ErrorCode::invalid_argument,
                                            .operation = "test",
                                            .argument = "layout",
                                            .given = {"gpt\\x0a"},
                                            .expected = {names}}));
  EXPECT_THAT(found({{"in_proj_weight", {8, 4}}, {"out_proj.weight", {4, 4}}}),
              DoesNotFit({"in_proj_weight", "(8, 4)", "3"}));
  // Products that overflow.
  const std::size_t huge = std::size_t{1} << 62;
  EXPECT_THAT(found({{"query/kernel", {huge, huge, 4}},
                     {"key/kernel", {4, 2, 2}},
                     {"value/kernel", {4, 2, 2}},
                     {"attention_output/kernel", {2, 2, 4}}}),
              DoesNotFit({"query/kernel", std::to_string(huge)}));
}

TEST(LayoutErrorsTest, ManyFaultsAreNotAllTold) {
  ShapesByName shapes;
  for (std::size_t number = 0; number < 100; ++number) {
    shapes.emplace("encoder.layer." + std::to_string(number) +
                       ".attention.self.query.weight",
                   std::vector<std::size_t>{2, 2});
  }
  const auto match = found(shapes);
  ASSERT_FALSE(match);
  const std::string& given = match.error().details().given.text();
  EXPECT_TRUE(testing_support::names(given, "encoder.layer.0"));
  EXPECT_FALSE(testing_support::names(given, "encoder.layer.99"));
  EXPECT_LT(given.size(), 800u);
}

TEST(LayoutErrorsTest, WhatALayoutHasNoPlaceForIsNotLaidOut) {
  const auto refuses = [](std::string argument, std::vector<std::string> given,
                          std::vector<std::string> expected = {}) {
    return HasError({.code = ErrorCode::invalid_argument,
                     .operation = "lay_out",
                     .argument = std::move(argument),
                     .given = std::move(given),
                     .expected = std::move(expected)});
  };
  const auto laid_out = [](const LayerParams& layer, std::string_view name) {
    return lay_out(layer, 0, layout(name));
  };
  LayerParams layer = layer_of();
  layer.params.emplace("w_score.weight", counted({3, 2}, 0));
  EXPECT_THAT(laid_out(layer, "bert"),
              refuses("layer.params.w_score.weight", {"bert"}));
  layer = layer_of();
  layer.params.erase("w_k.bias");
  EXPECT_THAT(laid_out(layer, "torch-mha"),
              refuses("layer.params", {"in_proj_bias", "torch-mha"}));
  layer = layer_of();
  layer.params["w_k.weight"] = counted({6, 5}, 0);
  EXPECT_THAT(
      laid_out(layer, "torch-mha"),
      refuses("layer.params.w_k.weight", {"(6, 5)", "(6, 6)", "int32"}));
  layer.params["w_k.weight"] = counted({3, 6}, 0);
  EXPECT_THAT(laid_out(layer, "torch-mha"),
              refuses("layer.params.w_k.weight", {"(3, 6)", "(6, 6)"}));
  layer.params["w_k.weight"] = counted({6, 6}, 0, DType::float16);
  EXPECT_THAT(laid_out(layer, "torch-mha"),
              refuses("layer.params.w_k.weight", {"float16", "int32"}));
  layer.params["w_k.weight"] = counted({36}, 0);
  EXPECT_THAT(laid_out(layer, "bert"),
              refuses("layer.params.w_k.weight", {"(36)"}, {"2"}));
  layer.params["w_k.weight"] = Array{DType::int32, {6, 6}, {}};
  EXPECT_THAT(laid_out(layer, "keras"),
              refuses("layer.params.w_k.weight", {"0"}, {"(6, 6)"}));
  for (const std::size_t heads : {0u, 4u}) {
    layer = layer_of();
    layer.num_kv_heads = {};
    layer.num_heads = heads;
    EXPECT_THAT(laid_out(layer, "flax"),
                refuses("layer.num_heads", {std::to_string(heads)},
                        {"6", "w_q.weight", "flax"}));
  }
  layer.num_heads = {};
  EXPECT_THAT(laid_out(layer, "keras"),
              refuses("layer.num_heads", {}, {"6", "w_q.weight", "keras"}));
}

TEST(LayoutErrorsTest, FileThatChangedMeanwhileIsAnError) {
  const NamedArrays tensors = lay_out(layer_of(), 0, layout("d2l")).value();
  const ShapesByName shapes = shapes_of(tensors);
  const auto match = found(shapes).value();
  for (const auto& [other, given] : {std::pair(counted({6, 5}, 0), "(6, 5)"),
                                     {Array{DType::int32, {6, 6}, {}}, "0"}}) {
    const auto layer =
        take_layer(match, shapes, 0,
                   [&other = other](const std::string&) -> Result<Array> {
                     return other;
                   });
    EXPECT_THAT(layer, HasError({.code = ErrorCode::bad_data,
                                 .operation = "test",
                                 .file = "file",
                                 .entry = "W_q.weight",
                                 .given = {given},
                                 .expected = {"(6, 6)"}}));
  }
  const auto failed =
      take_layer(match, shapes, 0, [&](const std::string&) -> Result<Array> {
        return Error{ErrorCode::io_error, {.given = "gone"}};
      });
  EXPECT_THAT(failed,
              HasError({.code = ErrorCode::io_error, .given = {"gone"}}));
}

}  // namespace
}  // namespace headwise::testing_support
