// What is wrong with tensors or a layer is said.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "headwise/interop/layouts.h"
#include "interop/layout_tensors.h"

namespace headwise {
namespace {

using testing::HasSubstr;
using testing_support::counted;
using testing_support::expect_equal;
using testing_support::grouped_keras;
using testing_support::layer_of;
using testing_support::layout;
using testing_support::shapes_of;
using testing_support::take;

// What finding says behind the subject.
std::string said_of(const ShapesByName& shapes, std::string_view wanted = "") {
  const auto match = find_layout(shapes, {"test", "file"}, wanted);
  if (match) {
    ADD_FAILURE() << "fits " << match->layout->name;
    return "";
  }
  EXPECT_THAT(match.error().message(), testing::StartsWith("test: file"));
  return match.error().message().substr(10);
}

class EveryLayoutErrorsTest : public testing::TestWithParam<Layout> {};

INSTANTIATE_TEST_SUITE_P(All, EveryLayoutErrorsTest,
                         testing::ValuesIn(layouts()),
                         testing_support::layout_test_name);

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
    EXPECT_THAT(tensors.error().message(), HasSubstr("lack w_q.bias"));
  }
}

TEST_P(EveryLayoutErrorsTest, LackOfATensorIsSaid) {
  const auto tensors = lay_out(layer_of(), 0, GetParam()).value();
  for (const LayoutRow& row : GetParam().rows) {
    std::string name(row.name);
    if (const std::size_t place = name.find("{N}"); place != name.npos) {
      name.replace(place, 3, "0");
    }
    name.insert(0, GetParam().prefixes[0]);
    if (row.param == "w_score.weight") {
      continue;  // of no layer that every layout holds
    }
    ShapesByName shapes = shapes_of(tensors);
    ASSERT_EQ(shapes.erase(name), 1u) << name;
    if (row.required) {
      EXPECT_EQ(said_of(shapes, GetParam().name),
                " does not fit the layout " + std::string(GetParam().name) +
                    ": there is no " + name);
    } else {
      EXPECT_TRUE(find_layout(shapes, {"test"}, GetParam().name)) << name;
    }
  }
}

TEST_P(EveryLayoutErrorsTest, WrongNumberOfAxesIsSaid) {
  const auto tensors = lay_out(layer_of(), 0, GetParam()).value();
  for (const auto& [name, array] : tensors) {
    ShapesByName shapes = shapes_of(tensors);
    shapes.at(name).insert(shapes.at(name).begin(), 1);
    EXPECT_THAT(said_of(shapes, GetParam().name),
                HasSubstr(": " + name + " has shape (1, "));
  }
}

TEST_P(EveryLayoutErrorsTest, BiasOfAnotherLengthIsSaid) {
  const auto tensors = lay_out(layer_of(), 0, GetParam()).value();
  for (const auto& [name, array] : tensors) {
    if (name.find("bias") == std::string::npos) {
      continue;
    }
    ShapesByName shapes = shapes_of(tensors);
    shapes.at(name).back() += 3;
    EXPECT_THAT(said_of(shapes, GetParam().name),
                HasSubstr(name + " has shape"));
    EXPECT_THAT(said_of(shapes, GetParam().name),
                HasSubstr("expected one element for each of the"));
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
  const auto missing = take(bert_layers(), 1);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code(), ErrorCode::out_of_range);
  EXPECT_EQ(missing.error().message(),
            "test: file has no layer 1, expected one of 0 2 11");
  const ShapesByName shapes = shapes_of(grouped_keras());
  const auto match = find_layout(shapes, {"test", "file"}).value();
  const auto no_shapes = layer_shapes(match, shapes, 1);
  ASSERT_FALSE(no_shapes);
  EXPECT_EQ(no_shapes.error().message(),
            "test: file has no layer 1, expected one of 0");
}

TEST(LayoutErrorsTest, LayersThatAreNotWholeAreNamed) {
  NamedArrays tensors = bert_layers();
  tensors.erase("encoder.layer.2.attention.self.key.bias");
  tensors.erase("encoder.layer.11.attention.output.dense.weight");
  EXPECT_EQ(said_of(shapes_of(tensors)),
            " does not fit the layout bert: there is no "
            "encoder.layer.2.attention.self.key.bias; there is no "
            "encoder.layer.11.attention.output.dense.weight");
}

TEST(LayoutErrorsTest, HeadsThatDisagreeAreAnError) {
  NamedArrays tensors = grouped_keras();
  tensors["attention_output/kernel"] = counted({2, 6, 7}, 0);
  const auto layer = take(tensors);
  ASSERT_FALSE(layer);
  EXPECT_EQ(layer.error().message(),
            "test: file: attention_output/kernel has 2 heads, expected 4 as "
            "those before it");
}

TEST(LayoutErrorsTest, TensorsThatChangeTheLayerAreRefused) {
  NamedArrays torch = lay_out(layer_of(), 0, layout("torch-mha")).value();
  torch.emplace("bias_k", counted({1, 1, 6}, 0));
  const auto with_key = find_layout(shapes_of(torch), {"test"});
  ASSERT_FALSE(with_key);
  EXPECT_EQ(with_key.error().code(), ErrorCode::unsupported);
  EXPECT_EQ(with_key.error().message(),
            "test: bias_k is one more key of all sequences (add_bias_kv), "
            "which has no counterpart here");
  NamedArrays flax = lay_out(layer_of(), 0, layout("flax")).value();
  flax.emplace("params/query_ln/scale", counted({2}, 0));
  EXPECT_THAT(said_of(shapes_of(flax)), HasSubstr("normalize_qk"));
}

TEST(LayoutErrorsTest, TheWantedLayoutDecidesBetweenTwo) {
  NamedArrays both = lay_out(layer_of(), 0, layout("headwise")).value();
  both.merge(lay_out(layer_of(), 0, layout("d2l")).value());
  EXPECT_EQ(said_of(shapes_of(both)),
            " fits the layouts headwise and d2l, expected one of them to be "
            "named");
  EXPECT_TRUE(take(both, 0, "d2l"));
  EXPECT_THAT(said_of(shapes_of(both), "bert"),
              HasSubstr("does not fit the layout bert: there is no "
                        "encoder.layer.0.attention.self.query.weight"));
}

TEST(LayoutErrorsTest, WhatFitsNothingIsSaid) {
  const std::string names =
      "expected one of headwise torch-mha torch-mha-split bert distilbert d2l "
      "d2l-dense keras flax";
  EXPECT_EQ(said_of({}), " fits no layout, " + names);
  EXPECT_EQ(said_of({{"weight", {2, 2}}}), " fits no layout, " + names);
  const auto unknown = find_layout({}, {"test", "file"}, "gpt\n");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code(), ErrorCode::invalid_argument);
  EXPECT_EQ(unknown.error().message(), "test: layout is gpt\\x0a, " + names);
  EXPECT_THAT(
      said_of({{"in_proj_weight", {8, 4}}, {"out_proj.weight", {4, 4}}}),
      HasSubstr("in_proj_weight has shape (8, 4), expected a multiple "
                "of 3 output features"));
  // Products that overflow.
  const std::size_t huge = std::size_t{1} << 62;
  EXPECT_THAT(said_of({{"query/kernel", {huge, huge, 4}},
                       {"key/kernel", {4, 2, 2}},
                       {"value/kernel", {4, 2, 2}},
                       {"attention_output/kernel", {2, 2, 4}}}),
              HasSubstr("query/kernel has shape"));
}

TEST(LayoutErrorsTest, ManyFaultsAreNotAllTold) {
  ShapesByName shapes;
  for (std::size_t number = 0; number < 100; ++number) {
    shapes.emplace("encoder.layer." + std::to_string(number) +
                       ".attention.self.query.weight",
                   std::vector<std::size_t>{2, 2});
  }
  EXPECT_THAT(said_of(shapes), testing::EndsWith("; and more"));
  EXPECT_LT(said_of(shapes).size(), 800u);
}

TEST(LayoutErrorsTest, WhatALayoutHasNoPlaceForIsNotLaidOut) {
  const auto said = [](const LayerParams& layer, std::string_view name) {
    const auto tensors = lay_out(layer, 0, layout(name));
    EXPECT_FALSE(tensors);
    EXPECT_EQ(tensors.error().code(), ErrorCode::invalid_argument);
    return tensors.error().message();
  };
  LayerParams layer = layer_of();
  layer.params.emplace("w_score.weight", counted({3, 2}, 0));
  EXPECT_EQ(said(layer, "bert"),
            "lay_out: layer.params.w_score.weight is not in the layout bert");
  layer = layer_of();
  layer.params.erase("w_k.bias");
  EXPECT_EQ(
      said(layer, "torch-mha"),
      "lay_out: layer.params lack a part of in_proj_bias, which the layout "
      "torch-mha has");
  layer = layer_of();
  layer.params["w_k.weight"] = counted({6, 5}, 0);
  EXPECT_EQ(
      said(layer, "torch-mha"),
      "lay_out: layer.params.w_k.weight has shape (6, 5) and type int32, which "
      "does not go into one tensor with those before it, of shape (6, 6) and "
      "type "
      "int32");
  layer.params["w_k.weight"] = counted({3, 6}, 0);
  EXPECT_THAT(said(layer, "torch-mha"), HasSubstr("does not go into one"));
  layer.params["w_k.weight"] = counted({6, 6}, 0, DType::float16);
  EXPECT_THAT(said(layer, "torch-mha"), HasSubstr("does not go into one"));
  layer.params["w_k.weight"] = counted({36}, 0);
  EXPECT_EQ(said(layer, "bert"),
            "lay_out: layer.params.w_k.weight has shape (36), expected 2 axes");
  layer.params["w_k.weight"] = Array{DType::int32, {6, 6}, {}};
  EXPECT_EQ(
      said(layer, "keras"),
      "lay_out: layer.params.w_k.weight has 0 bytes of data, expected those "
      "of its shape (6, 6)");
  for (const std::size_t heads : {0u, 4u}) {
    layer = layer_of();
    layer.num_kv_heads = {};
    layer.num_heads = heads;
    EXPECT_EQ(said(layer, "flax"), "lay_out: layer.num_heads is " +
                                       std::to_string(heads) +
                                       ", expected a divisor of 6 features of "
                                       "w_q.weight for the layout flax");
  }
  layer.num_heads = {};
  EXPECT_THAT(said(layer, "keras"), HasSubstr("layer.num_heads is not given"));
}

TEST(LayoutErrorsTest, FileThatChangedMeanwhileIsAnError) {
  const NamedArrays tensors = lay_out(layer_of(), 0, layout("d2l")).value();
  const ShapesByName shapes = shapes_of(tensors);
  const auto match = find_layout(shapes, {"test", "file"}).value();
  for (const Array& other :
       {counted({6, 5}, 0), Array{DType::int32, {6, 6}, {}}}) {
    const auto layer =
        take_layer(match, shapes, 0,
                   [&](const std::string&) -> Result<Array> { return other; });
    ASSERT_FALSE(layer);
    EXPECT_THAT(layer.error().message(),
                testing::StartsWith("test: file: W_q.weight has "));
  }
  const auto failed =
      take_layer(match, shapes, 0, [&](const std::string&) -> Result<Array> {
        return Error{ErrorCode::io_error, {.given = "gone"}};
      });
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().message(), "gone");
}

}  // namespace
}  // namespace headwise
