// Every layout is found, and holds a layer there and back.
#include "headwise/interop/layouts.h"

#include <cstdint>
#include <string>
#include <string_view>

#include "interop/laid_out.h"
#include "interop/layout_tensors.h"
#include "support/matchers.h"

namespace headwise::testing_support {
namespace {

class EveryLayoutTest : public testing::TestWithParam<Layout> {};

INSTANTIATE_TEST_SUITE_P(All, EveryLayoutTest, testing::ValuesIn(layouts()),
                         layout_test_name);

TEST_P(EveryLayoutTest, IsFoundAndThereAndBackIsTheSameBitForBit) {
  const bool numbered =
      GetParam().rows[0].name.find("{N}") != std::string_view::npos;
  const std::size_t number = numbered ? 5 : 0;
  for (const DType dtype : {DType::int32, DType::float16, DType::bfloat16,
                            DType::float64, DType::int8}) {
    const LayerParams layer = layer_of(dtype);
    const auto tensors = lay_out(layer, number, GetParam()).value();
    const auto match = find_layout(shapes_of(tensors), {"test"}).value();
    EXPECT_EQ(match.layout->name, GetParam().name);
    EXPECT_THAT(match.layers, ElementsAre(number));
    const auto again = take(tensors, number).value();
    expect_equal(again.params, layer.params);
    const bool says_heads = again.num_heads.has_value();
    EXPECT_EQ(says_heads, again.num_kv_heads.has_value());
    EXPECT_EQ(again.num_heads.value_or(3), 3u);
    LayerParams with_heads = again;
    with_heads.num_heads = 3;
    expect_equal(lay_out(with_heads, number, GetParam()).value(), tensors);
  }
}

TEST(LayoutsTest, AnAddedKeyAndItsValueAreFeatures) {
  LayerParams layer = layer_of();
  layer.params.emplace("bias_k", counted({6}, 7));
  layer.params.emplace("bias_v", counted({6}, 8));
  const auto tensors = lay_out(layer, 0, layout("torch-mha")).value();
  EXPECT_THAT(tensors.at("bias_k").shape, ElementsAre(1, 1, 6));
  const auto again = take(tensors).value();
  expect_equal(again.params, layer.params);
}

TEST(LayoutsTest, PackedProjectionsAreRowsOfQueryKeyAndValue) {
  const auto layer = take({{"in_proj_weight", counted({12, 4}, 0)},
                           {"in_proj_bias", counted({12}, 100)},
                           {"out_proj.weight", counted({4, 4}, 200)},
                           {"out_proj.bias", counted({4}, 300)}})
                         .value();
  expect_equal(layer.params, {{"w_q.weight", counted({4, 4}, 0)},
                              {"w_k.weight", counted({4, 4}, 16)},
                              {"w_v.weight", counted({4, 4}, 32)},
                              {"w_o.weight", counted({4, 4}, 200)},
                              {"w_q.bias", counted({4}, 100)},
                              {"w_k.bias", counted({4}, 104)},
                              {"w_v.bias", counted({4}, 108)},
                              {"w_o.bias", counted({4}, 300)}});
  EXPECT_FALSE(layer.num_heads);
}

TEST(LayoutsTest, DenseKernelsAreTransposed) {
  const auto layer = take({{"W_q/kernel", counted({2, 3}, 0)},
                           {"W_k/kernel", counted({4, 3}, 0)},
                           {"W_v/kernel", counted({5, 3}, 0)},
                           {"W_o/kernel", counted({3, 3}, 0)}})
                         .value();
  const Array& w_k = layer.params.at("w_k.weight");
  ASSERT_THAT(w_k.shape, ElementsAre(3, 4));
  for (std::size_t out = 0; out < 3; ++out) {
    for (std::size_t in = 0; in < 4; ++in) {
      EXPECT_EQ(at(w_k, out * 4 + in), static_cast<int>(in * 3 + out));
    }
  }
}

TEST(LayoutsTest, KernelsOfHeadsBecomeRowsOfHeads) {
  const auto layer = take(grouped_keras()).value();
  EXPECT_EQ(layer.num_heads, 4u);
  EXPECT_EQ(layer.num_kv_heads, 2u);
  const Array& w_v = layer.params.at("w_v.weight");
  ASSERT_THAT(w_v.shape, ElementsAre(6, 5));
  for (std::size_t head = 0; head < 2; ++head) {
    for (std::size_t d = 0; d < 3; ++d) {
      for (std::size_t in = 0; in < 5; ++in) {
        EXPECT_EQ(at(w_v, (head * 3 + d) * 5 + in),
                  static_cast<int>(400 + (in * 2 + head) * 3 + d));
      }
    }
  }
  const Array& w_o = layer.params.at("w_o.weight");
  ASSERT_THAT(w_o.shape, ElementsAre(7, 12));
  for (std::size_t out = 0; out < 7; ++out) {
    for (std::size_t in = 0; in < 12; ++in) {
      EXPECT_EQ(at(w_o, out * 12 + in), static_cast<int>(600 + in * 7 + out));
    }
  }
  EXPECT_THAT(layer.params.at("w_q.bias").shape, ElementsAre(8));
  expect_equal(lay_out(layer, 0, layout("keras")).value(), grouped_keras());
}

TEST(LayoutsTest, ShapesAloneSayTheSizesAndTheHeads) {
  const ShapesByName shapes = shapes_of(grouped_keras());
  const auto match = find_layout(shapes, {"test", "file"}).value();
  const auto layer = layer_shapes(match, shapes, 0).value();
  EXPECT_EQ(layer.num_heads, 4u);
  EXPECT_EQ(layer.num_kv_heads, 2u);
  EXPECT_EQ(layer.params, shapes_of(take(grouped_keras()).value().params));
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
    const auto match = find_layout(shapes_of(tensors), {"test"}).value();
    EXPECT_EQ(match.layout->name, GetParam().name);
    EXPECT_EQ(match.prefix, prefix);
    expect_equal(take(tensors).value().params, layer_of().params);
  }
}

TEST(LayoutsTest, HeadwiseHoldsAdditiveScoringToo) {
  NamedArrays tensors = lay_out(layer_of(), 0, layout("headwise")).value();
  tensors.emplace("w_score.weight", counted({3, 2}, 0));
  const auto layer = take(tensors).value();
  expect_equal(layer.params, tensors);
  expect_equal(lay_out(layer, 0, layout("headwise")).value(), tensors);
}

TEST(LayoutsTest, NormsOfQueriesAndKeysGoThereAndBack) {
  LayerParams layer = layer_of();
  layer.params.emplace("q_norm.weight", counted({2}, 7));
  layer.params.emplace("k_norm.weight", counted({2}, 9));
  for (const char* name : {"headwise", "flax"}) {
    const auto taken = take(lay_out(layer, 0, layout(name)).value()).value();
    expect_equal(taken.params, layer.params);
    const bool says = std::string_view(name) == "flax";
    EXPECT_EQ(taken.qk_norm.has_value(), says);
    EXPECT_TRUE(!says || taken.qk_norm->kind == NormKind::layer);
  }
  EXPECT_FALSE(lay_out(layer, 0, layout("torch-mha")));
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
    const auto match = find_layout(shapes_of(tensors), {"test"}).value();
    EXPECT_EQ(match.layout->name, name);
    EXPECT_EQ(match.prefix, prefix);
    expect_equal(take(tensors).value().params, layer_of().params);
  }
}

// The tensors of a layer behind a prefix.
NamedArrays behind(const std::string& prefix, const char* name) {
  NamedArrays tensors;
  const std::string_view written = layout(name).prefixes[0];
  const auto plain = lay_out(layer_of(), 0, layout(name)).value();
  for (const auto& [tensor, array] : plain) {
    tensors.emplace(prefix + tensor.substr(written.size()), array);
  }
  return tensors;
}

TEST(LayoutsTest, AnyPrefixOfACompleteLayerIsFound) {
  for (const auto& [prefix, found, name] :
       {std::tuple{"attn.", "attn.", "torch-mha"},
        {"encoder.layers.3.self_attn.", "encoder.layers.{N}.self_attn.",
         "torch-mha"},
        {"0.blocks.3.attn.", "0.blocks.{N}.attn.", "headwise"},
        {"layer1.attn.", "layer1.attn.", "d2l"},
        {"params/encoderblock_3/attn/", "params/encoderblock_{N}/attn/",
         "flax"},
        {"0.auto_model.", "0.auto_model.", "bert"},
        {"module.bert.", "module.bert.", "bert"}}) {
    NamedArrays tensors = behind(prefix, name);
    tensors.emplace("head.weight", counted({2}, 0));
    const auto match = find_layout(shapes_of(tensors), {"test"}).value();
    EXPECT_EQ(match.layout->name, name);
    EXPECT_EQ(match.prefix, found);
    const bool numbered = match.prefix.find("{N}") != std::string::npos;
    EXPECT_THAT(match.layers, ElementsAre(numbered ? 3 : 0));
    expect_equal(take(tensors, match.layers[0]).value().params,
                 layer_of().params);
  }
}

TEST(LayoutsTest, OfSeveralPrefixesOneIsChosen) {
  NamedArrays tensors = behind("encoder.layers.0.self_attn.", "torch-mha");
  tensors.merge(behind("encoder.layers.1.self_attn.", "torch-mha"));
  tensors.merge(behind("decoder.layers.0.self_attn.", "torch-mha"));
  const ShapesByName shapes = shapes_of(tensors);
  const std::string several = find_layout(shapes, {"test"}).error().message();
  for (const char* prefix :
       {"encoder.layers.{N}.self_attn.", "decoder.layers.{N}.self_attn."}) {
    EXPECT_NE(several.find(prefix), std::string::npos) << several;
  }
  EXPECT_THAT(find_layout(shapes, {"test"}, "", "encoder")->layers,
              ElementsAre(0, 1));
  EXPECT_EQ(find_layout(shapes, {"test"}, "", "decoder.layers.{N}.self_attn.")
                ->prefix,
            "decoder.layers.{N}.self_attn.");
  EXPECT_EQ(
      find_layout(shapes, {"test"}, "", "encoder.layers.1.self_attn.")->prefix,
      "encoder.layers.1.self_attn.");
  EXPECT_NE(find_layout(shapes, {"test"}, "", "x.")
                .error()
                .message()
                .find("decoder.layers.{N}.self_attn."),
            std::string::npos);
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
  const auto match = find_layout(shapes_of(tensors), {"test", "file"}).value();
  EXPECT_THAT(match.layers, ElementsAre(0, 2, 11));
  for (const std::size_t number : {0u, 2u, 11u}) {
    EXPECT_EQ(at(take(tensors, number).value().params.at("w_q.bias"), 0),
              static_cast<int>(number) * 1000);
  }
}

}  // namespace
}  // namespace headwise::testing_support
