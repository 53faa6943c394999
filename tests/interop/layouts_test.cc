#include "headwise/interop/layouts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>

namespace headwise {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

// Elements that all differ, `first` and up.
Array counted(std::vector<std::size_t> shape, std::uint32_t first,
              DType dtype = DType::int32) {
  Array array{dtype, std::move(shape), {}};
  std::size_t count = 1;
  for (const std::size_t extent : array.shape) {
    count *= extent;
  }
  const std::size_t item = size_of(dtype);
  array.data.resize(count * item);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t value = first + i;
    std::memcpy(array.data.data() + i * item, &value, item);
  }
  return array;
}

std::int32_t at(const Array& array, std::size_t index) {
  std::int32_t value = 0;
  std::memcpy(&value, array.data.data() + index * sizeof value, sizeof value);
  return value;
}

// 3 heads of 2 features, 6 of input.
LayerParams layer_of(DType dtype = DType::int32, bool with_biases = true) {
  LayerParams layer;
  layer.num_heads = layer.num_kv_heads = 3;
  std::uint32_t first = 0;
  for (const char* name : {"w_q", "w_k", "w_v", "w_o"}) {
    layer.params.emplace(std::string(name) + ".weight",
                         counted({6, 6}, first += 100, dtype));
    if (with_biases) {
      layer.params.emplace(std::string(name) + ".bias",
                           counted({6}, first += 100, dtype));
    }
  }
  return layer;
}

const Layout& layout(std::string_view name) {
  const auto found = std::ranges::find(layouts(), name, &Layout::name);
  EXPECT_NE(found, layouts().end()) << name;
  return *found;
}

ShapesByName shapes_of(const NamedArrays& tensors) {
  ShapesByName shapes;
  for (const auto& [name, array] : tensors) {
    shapes.emplace(name, array.shape);
  }
  return shapes;
}

Result<LayerParams> take(const NamedArrays& tensors, std::size_t number = 0,
                         std::string_view wanted = "") {
  const ShapesByName shapes = shapes_of(tensors);
  const auto match = find_layout(shapes, {"test", "file"}, wanted);
  if (!match) {
    return match.error();
  }
  return take_layer(*match, shapes, number,
                    [&](const std::string& name) -> Result<Array> {
                      return tensors.at(name);
                    });
}

void expect_equal(const NamedArrays& got, const NamedArrays& want) {
  ASSERT_EQ(got.size(), want.size());
  for (const auto& [name, array] : want) {
    ASSERT_TRUE(got.contains(name)) << name;
    EXPECT_EQ(got.at(name).dtype, array.dtype) << name;
    EXPECT_EQ(got.at(name).shape, array.shape) << name;
    EXPECT_EQ(got.at(name).data, array.data) << name;
  }
}

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

class EveryLayoutTest : public testing::TestWithParam<Layout> {};

INSTANTIATE_TEST_SUITE_P(All, EveryLayoutTest, testing::ValuesIn(layouts()),
                         [](const auto& test) {
                           std::string name(test.param.name);
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST_P(EveryLayoutTest, IsFoundAndThereAndBackIsTheSameBitForBit) {
  const bool numbered =
      GetParam().rows[0].name.find("{N}") != std::string_view::npos;
  const std::size_t number = numbered ? 5 : 0;
  for (const DType dtype : {DType::int32, DType::float16, DType::bfloat16,
                            DType::float64, DType::int8}) {
    const LayerParams layer = layer_of(dtype);
    const auto tensors = lay_out(layer, number, GetParam());
    ASSERT_TRUE(tensors) << tensors.error().message();
    const auto match = find_layout(shapes_of(*tensors), {"test"});
    ASSERT_TRUE(match) << match.error().message();
    EXPECT_EQ(match->layout->name, GetParam().name);
    EXPECT_THAT(match->layers, ElementsAre(number));
    const auto again = take(*tensors, number);
    ASSERT_TRUE(again) << again.error().message();
    expect_equal(again->params, layer.params);
    const bool says_heads = again->num_heads.has_value();
    EXPECT_EQ(says_heads, again->num_kv_heads.has_value());
    EXPECT_EQ(again->num_heads.value_or(3), 3u);
    LayerParams with_heads = *again;
    with_heads.num_heads = 3;
    expect_equal(lay_out(with_heads, number, GetParam()).value(), *tensors);
  }
}

TEST_P(EveryLayoutTest, GoesWithoutBiasesWhereTheyAreOptional) {
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

TEST_P(EveryLayoutTest, LackOfATensorIsSaid) {
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

TEST_P(EveryLayoutTest, WrongNumberOfAxesIsSaid) {
  const auto tensors = lay_out(layer_of(), 0, GetParam()).value();
  for (const auto& [name, array] : tensors) {
    ShapesByName shapes = shapes_of(tensors);
    shapes.at(name).insert(shapes.at(name).begin(), 1);
    EXPECT_THAT(said_of(shapes, GetParam().name),
                HasSubstr(": " + name + " has shape (1, "));
  }
}

TEST_P(EveryLayoutTest, BiasOfAnotherLengthIsSaid) {
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

TEST(LayoutsTest, PackedProjectionsAreRowsOfQueryKeyAndValue) {
  const auto layer = take({{"in_proj_weight", counted({12, 4}, 0)},
                           {"in_proj_bias", counted({12}, 100)},
                           {"out_proj.weight", counted({4, 4}, 200)},
                           {"out_proj.bias", counted({4}, 300)}});
  ASSERT_TRUE(layer) << layer.error().message();
  expect_equal(layer->params, {{"w_q.weight", counted({4, 4}, 0)},
                               {"w_k.weight", counted({4, 4}, 16)},
                               {"w_v.weight", counted({4, 4}, 32)},
                               {"w_o.weight", counted({4, 4}, 200)},
                               {"w_q.bias", counted({4}, 100)},
                               {"w_k.bias", counted({4}, 104)},
                               {"w_v.bias", counted({4}, 108)},
                               {"w_o.bias", counted({4}, 300)}});
  EXPECT_FALSE(layer->num_heads);
}

TEST(LayoutsTest, DenseKernelsAreTransposed) {
  const auto layer = take({{"W_q/kernel", counted({2, 3}, 0)},
                           {"W_k/kernel", counted({4, 3}, 0)},
                           {"W_v/kernel", counted({5, 3}, 0)},
                           {"W_o/kernel", counted({3, 3}, 0)}});
  ASSERT_TRUE(layer) << layer.error().message();
  const Array& w_k = layer->params.at("w_k.weight");
  ASSERT_THAT(w_k.shape, ElementsAre(3, 4));
  for (std::size_t out = 0; out < 3; ++out) {
    for (std::size_t in = 0; in < 4; ++in) {
      EXPECT_EQ(at(w_k, out * 4 + in), static_cast<int>(in * 3 + out));
    }
  }
}

// Kernels (in, H, d) and (H, d, out) of different numbers of heads.
NamedArrays grouped_keras() {
  return {{"query/kernel", counted({5, 4, 2}, 0)},
          {"query/bias", counted({4, 2}, 100)},
          {"key/kernel", counted({5, 2, 2}, 200)},
          {"key/bias", counted({2, 2}, 300)},
          {"value/kernel", counted({5, 2, 3}, 400)},
          {"value/bias", counted({2, 3}, 500)},
          {"attention_output/kernel", counted({4, 3, 7}, 600)},
          {"attention_output/bias", counted({7}, 700)}};
}

TEST(LayoutsTest, KernelsOfHeadsBecomeRowsOfHeads) {
  const auto layer = take(grouped_keras());
  ASSERT_TRUE(layer) << layer.error().message();
  EXPECT_EQ(layer->num_heads, 4u);
  EXPECT_EQ(layer->num_kv_heads, 2u);
  const Array& w_v = layer->params.at("w_v.weight");
  ASSERT_THAT(w_v.shape, ElementsAre(6, 5));
  for (std::size_t head = 0; head < 2; ++head) {
    for (std::size_t d = 0; d < 3; ++d) {
      for (std::size_t in = 0; in < 5; ++in) {
        EXPECT_EQ(at(w_v, (head * 3 + d) * 5 + in),
                  static_cast<int>(400 + (in * 2 + head) * 3 + d));
      }
    }
  }
  const Array& w_o = layer->params.at("w_o.weight");
  ASSERT_THAT(w_o.shape, ElementsAre(7, 12));
  for (std::size_t out = 0; out < 7; ++out) {
    for (std::size_t in = 0; in < 12; ++in) {
      EXPECT_EQ(at(w_o, out * 12 + in), static_cast<int>(600 + in * 7 + out));
    }
  }
  EXPECT_THAT(layer->params.at("w_q.bias").shape, ElementsAre(8));
  expect_equal(lay_out(*layer, 0, layout("keras")).value(), grouped_keras());
}

TEST(LayoutsTest, ShapesAloneSayTheSizesAndTheHeads) {
  const ShapesByName shapes = shapes_of(grouped_keras());
  const auto match = find_layout(shapes, {"test", "file"}).value();
  const auto layer = layer_shapes(match, shapes, 0);
  ASSERT_TRUE(layer) << layer.error().message();
  EXPECT_EQ(layer->num_heads, 4u);
  EXPECT_EQ(layer->num_kv_heads, 2u);
  EXPECT_EQ(layer->params, shapes_of(take(grouped_keras()).value().params));
  const auto missing = layer_shapes(match, shapes, 1);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().message(),
            "test: file has no layer 1, expected one of 0");
}

TEST_P(EveryLayoutTest, ShapesAloneAreThoseOfTheParameters) {
  const LayerParams layer = layer_of();
  const ShapesByName shapes = shapes_of(lay_out(layer, 0, GetParam()).value());
  const auto match = find_layout(shapes, {"test"}).value();
  EXPECT_EQ(layer_shapes(match, shapes, 0).value().params,
            shapes_of(layer.params));
}

TEST_P(EveryLayoutTest, IsWrittenBehindEachOfItsPrefixes) {
  for (const std::string_view prefix : GetParam().prefixes) {
    const auto tensors = lay_out(layer_of(), 0, GetParam(), prefix).value();
    const auto match = find_layout(shapes_of(tensors), {"test"});
    ASSERT_TRUE(match) << match.error().message();
    EXPECT_EQ(match->layout->name, GetParam().name);
    EXPECT_EQ(match->prefix, prefix);
    expect_equal(take(tensors).value().params, layer_of().params);
  }
}

TEST(LayoutsTest, HeadwiseHoldsAdditiveScoringToo) {
  NamedArrays tensors = lay_out(layer_of(), 0, layout("headwise")).value();
  tensors.emplace("w_score.weight", counted({3, 2}, 0));
  const auto layer = take(tensors);
  ASSERT_TRUE(layer) << layer.error().message();
  expect_equal(layer->params, tensors);
  expect_equal(lay_out(*layer, 0, layout("headwise")).value(), tensors);
}

TEST(LayoutsTest, HeadsThatDisagreeAreAnError) {
  NamedArrays tensors = grouped_keras();
  tensors["attention_output/kernel"] = counted({2, 6, 7}, 0);
  const auto layer = take(tensors);
  ASSERT_FALSE(layer);
  EXPECT_EQ(layer.error().message(),
            "test: file: attention_output/kernel has 2 heads, expected 4 as "
            "those before it");
}

TEST(LayoutsTest, NamesMayHaveAPrefix) {
  for (const auto& [name, prefix] : {std::pair{"bert", "bert."},
                                     {"distilbert", "distilbert."},
                                     {"flax", ""},
                                     {"d2l-dense", ""},
                                     {"flax", "params/"}}) {
    const auto plain = lay_out(layer_of(), 0, layout(name)).value();
    NamedArrays tensors;
    const std::string_view written = layout(name).prefixes[0];
    for (const auto& [tensor, array] : plain) {
      tensors.emplace(prefix + tensor.substr(written.size()), array);
    }
    const auto match = find_layout(shapes_of(tensors), {"test"});
    ASSERT_TRUE(match) << match.error().message();
    EXPECT_EQ(match->layout->name, name);
    EXPECT_EQ(match->prefix, prefix);
    expect_equal(take(tensors).value().params, layer_of().params);
  }
}

TEST(LayoutsTest, EachLayerIsTakenByItsNumber) {
  NamedArrays tensors = {
      {"embeddings.word_embeddings.weight", counted({1}, 0)}};
  for (const std::size_t number : {0u, 2u, 11u}) {
    LayerParams layer = layer_of();
    layer.params["w_q.bias"] =
        counted({6}, static_cast<std::uint32_t>(number) * 1000);
    tensors.merge(lay_out(layer, number, layout("bert")).value());
  }
  // Numbers are written in one way only.
  tensors.emplace("encoder.layer.07.attention.self.query.weight",
                  counted({6, 6}, 0));
  tensors.emplace("encoder.layer..attention.self.query.weight",
                  counted({6, 6}, 0));
  tensors.emplace("encoder.layer.-1.attention.self.query.weight",
                  counted({6, 6}, 0));
  const auto match = find_layout(shapes_of(tensors), {"test", "file"});
  ASSERT_TRUE(match) << match.error().message();
  EXPECT_THAT(match->layers, ElementsAre(0, 2, 11));
  for (const std::size_t number : {0u, 2u, 11u}) {
    EXPECT_EQ(at(take(tensors, number).value().params.at("w_q.bias"), 0),
              static_cast<int>(number) * 1000);
  }
  const auto missing = take(tensors, 1);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code(), ErrorCode::out_of_range);
  EXPECT_EQ(missing.error().message(),
            "test: file has no layer 1, expected one of 0 2 11");
  // One layer that is not whole is said, too.
  tensors.erase("encoder.layer.2.attention.self.key.bias");
  tensors.erase("encoder.layer.11.attention.output.dense.weight");
  EXPECT_EQ(said_of(shapes_of(tensors)),
            " does not fit the layout bert: there is no "
            "encoder.layer.2.attention.self.key.bias; there is no "
            "encoder.layer.11.attention.output.dense.weight");
}

TEST(LayoutsTest, TensorsThatChangeTheLayerAreRefused) {
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

TEST(LayoutsTest, TheWantedLayoutDecidesBetweenTwo) {
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

TEST(LayoutsTest, WhatFitsNothingIsSaid) {
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

TEST(LayoutsTest, ManyFaultsAreNotAllTold) {
  ShapesByName shapes;
  for (std::size_t number = 0; number < 100; ++number) {
    shapes.emplace("encoder.layer." + std::to_string(number) +
                       ".attention.self.query.weight",
                   std::vector<std::size_t>{2, 2});
  }
  EXPECT_THAT(said_of(shapes), testing::EndsWith("; and more"));
  EXPECT_LT(said_of(shapes).size(), 800u);
}

TEST(LayoutsTest, WhatALayoutHasNoPlaceForIsNotLaidOut) {
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

TEST(LayoutsTest, FileThatChangedMeanwhileIsAnError) {
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
