// From a file to a layer, in every layout that there is.
#include "headwise/interop/load_attention.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "headwise/base/any_view.h"
#include "headwise/interop/layouts.h"
#include "headwise/interop/npz.h"
#include "headwise/interop/params.h"
#include "interop/files.h"
#include "interop/laid_out.h"
#include "support/errors.h"
#include "support/matchers.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

constexpr std::size_t kHeads = 3;
constexpr std::size_t kEmbed = 6;

MultiHeadAttention original(const MultiHeadAttentionConfig& config = {
                                .embed_dim = kEmbed, .num_heads = kHeads}) {
  return MultiHeadAttention::create(config, Seed{11}).value();
}

// The parameters by headwise's names.
std::map<std::string, AnyView> views_of(const MultiHeadAttention& layer) {
  std::map<std::string, AnyView> views;
  const MultiHeadAttentionParams& params = *layer.params();
  const auto add = [&](const std::string& name, const Linear& linear) {
    views.emplace(name + ".weight", linear.weight());
    if (linear.has_bias()) {
      views.emplace(name + ".bias", linear.bias());
    }
  };
  add("w_q", params.w_q);
  add("w_k", params.w_k);
  if (params.w_v) {
    add("w_v", *params.w_v);
  }
  if (params.w_o) {
    add("w_o", *params.w_o);
  }
  if (params.w_score) {
    views.emplace("w_score.weight", params.w_score->view());
  }
  for (const auto& [name, norm] :
       {std::pair(std::string("q_norm"), &params.q_norm),
        {"k_norm", &params.k_norm}}) {
    if (*norm) {
      views.emplace(name + ".weight", (*norm)->weight);
    }
    if (*norm && (*norm)->bias.size() != 0) {
      views.emplace(name + ".bias", (*norm)->bias);
    }
  }
  return views;
}

std::string put_npz(const TempFolder& folder,
                    const std::map<std::string, AnyView>& views,
                    std::string_view name = "layer.npz") {
  std::string path = folder / name;
  EXPECT_TRUE(write_npz(path, views));
  return path;
}

// Layer `number` of a file in `layout`.
void add_laid_out(const MultiHeadAttention& layer, const Layout& layout,
                  std::size_t number, NamedArrays& arrays) {
  LayerParams params;
  params.num_heads = params.num_kv_heads = kHeads;
  const TempFolder folder;
  params.params = read_npz(put_npz(folder, views_of(layer))).value();
  auto laid_out = lay_out(params, number, layout).value();
  arrays.merge(laid_out);
}

std::string put_arrays(const TempFolder& folder, const NamedArrays& arrays) {
  std::map<std::string, AnyView> views;
  std::string path = folder / "model.npz";
  for (const auto& [name, array] : arrays) {
    views.emplace(name, array.view());
  }
  EXPECT_TRUE(write_npz(path, views));
  return path;
}

void expect_same_layer(const MultiHeadAttention& got,
                       const MultiHeadAttention& want) {
  const auto x = uniform<3>({2, 4, kEmbed}, 1);
  EXPECT_TRUE(
      same_bits(got.forward(x.view(), x.view(), x.view()).value().output,
                want.forward(x.view(), x.view(), x.view()).value().output));
}

class LoadAttentionTest : public testing::TestWithParam<Layout> {};

TEST_P(LoadAttentionTest, ALayerOfTheLayoutGivesItsOutput) {
  const MultiHeadAttention layer = original();
  NamedArrays arrays;
  add_laid_out(layer, GetParam(), 0, arrays);
  const TempFolder folder;
  const std::string path = put_arrays(folder, arrays);
  const auto loaded = load_attention(path, {.num_heads = kHeads}).value();
  expect_same_layer(loaded, layer);
  const auto chosen =
      load_attention(path, {.layer = 0,
                            .layout = std::string(GetParam().name),
                            .num_heads = kHeads})
          .value();
  expect_same_layer(chosen, layer);
}

INSTANTIATE_TEST_SUITE_P(All, LoadAttentionTest, testing::ValuesIn(layouts()),
                         [](const auto& test) {
                           std::string name(test.param.name);
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

const Layout& bert() {
  return *std::ranges::find(layouts(), "bert", &Layout::name);
}

TEST(LoadAttentionFileTest, OneOfSeveralLayersMustBeChosen) {
  const MultiHeadAttention first = original();
  const MultiHeadAttention second =
      MultiHeadAttention::create({.embed_dim = kEmbed, .num_heads = kHeads},
                                 Seed{12})
          .value();
  NamedArrays arrays;
  add_laid_out(first, bert(), 0, arrays);
  add_laid_out(second, bert(), 1, arrays);
  const TempFolder folder;
  const std::string path = put_arrays(folder, arrays);
  const auto unclear = load_attention(path, {.num_heads = kHeads});
  ASSERT_FALSE(unclear);
  EXPECT_EQ(unclear.error().code(), ErrorCode::invalid_argument);
  EXPECT_EQ(unclear.error().details().argument, "layer");
  expect_same_layer(
      load_attention(path, {.layer = 1, .num_heads = kHeads}).value(), second);
  EXPECT_EQ(
      load_attention(path, {.layer = 2, .num_heads = kHeads}).error().code(),
      ErrorCode::out_of_range);
}

TEST(LoadAttentionFileTest, TheHeadsComeFromTheFirstThatSaysThem) {
  const MultiHeadAttention layer = original();
  const TempFolder folder;
  const std::string path = put_npz(folder, views_of(layer));
  EXPECT_THAT(load_attention(path),
              HasError({.code = ErrorCode::invalid_argument,
                        .operation = "load_attention",
                        .argument = "num_heads",
                        .file = path}));
  expect_same_layer(load_attention(path, {.default_num_heads = kHeads}).value(),
                    layer);
  expect_same_layer(load_attention(path, {.num_heads = kHeads}).value(), layer);

  put_file(folder / "config.json", bytes_of(R"({"n_heads": 3})"));
  expect_same_layer(load_attention(path).value(), layer);
  EXPECT_EQ(load_attention(path, {.num_heads = 2}).value().config().num_heads,
            2u);

  auto views = views_of(layer);
  const std::int64_t num_heads = 3;
  views.emplace("num_heads",
                TensorView<const std::int64_t, 1>(&num_heads, {1}));
  const std::string says = put_npz(folder, views, "says.npz");
  expect_same_layer(load_attention(says).value(), layer);
  const auto other = load_attention(says, {.num_heads = 2});
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code(), ErrorCode::shape_mismatch);
  EXPECT_EQ(other.error().details().argument, "num_heads");
}

TEST(LoadAttentionFileTest, WhatTheFileLacksTheLayerIsWithout) {
  const MultiHeadAttention layer = original({.embed_dim = kEmbed,
                                             .num_heads = kHeads,
                                             .bias = false,
                                             .out_proj = false,
                                             .value_proj = false,
                                             .scoring = Scoring::additive});
  const TempFolder folder;
  const std::string path = put_npz(folder, views_of(layer));
  expect_same_layer(
      load_attention(path, {.num_heads = kHeads, .vdim = kEmbed}).value(),
      layer);
}

TEST(LoadAttentionFileTest, ParametersThatMakeNoLayerAreBadData) {
  const MultiHeadAttention layer = original();
  const TempFolder folder;
  auto views = views_of(layer);
  views.erase("w_o.weight");
  EXPECT_EQ(load_attention(put_npz(folder, views), {.num_heads = kHeads})
                .error()
                .code(),
            ErrorCode::bad_data);
  views.erase("w_o.bias");
  views.erase("w_v.weight");
  const std::string path = put_npz(folder, views);
  EXPECT_THAT(load_attention(path, {.num_heads = kHeads}),
              HasError({.code = ErrorCode::bad_data,
                        .file = path,
                        .given = {"w_v.weight"}}));
  const auto five =
      load_attention(put_npz(folder, views_of(layer)), {.num_heads = 5});
  ASSERT_FALSE(five);
  EXPECT_EQ(five.error().code(), ErrorCode::bad_data);
}

TEST(LoadAttentionFileTest, AnAddedKeyHasAValue) {
  const MultiHeadAttention layer = original();
  const auto added = uniform<1>({kEmbed}, 5);
  const TempFolder folder;
  for (const char* name : {"bias_k", "bias_v"}) {
    auto views = views_of(layer);
    views.emplace(name, added.view());
    const std::string path = put_npz(folder, views);
    EXPECT_THAT(load_attention(path, {.num_heads = kHeads}),
                HasError({.code = ErrorCode::bad_data,
                          .file = path,
                          .given = {"bias_k", "bias_v"},
                          .expected = {"both or neither"}}));
  }
}

TEST(LoadAttentionFileTest, ANormIsOfTheKindThatTheOptionsSay) {
  const TempFolder folder;
  for (const QkNorm& norm :
       {QkNorm{.eps = 1e-3, .over = NormOver::projection, .plus_one = true},
        QkNorm{.kind = NormKind::layer,
        .over = NormOver::each_head,
        .bias = true}}) {
    const auto layer =
        original({.embed_dim = kEmbed, .num_heads = kHeads, .qk_norm = norm});
    auto views = views_of(layer);
    const std::string path = put_npz(folder, views, "normed.npz");
    QkNorm said = norm;
    said.bias = false;  // the file says it
    const auto loaded =
        load_attention(path, {.num_heads = kHeads, .qk_norm = said}).value();
    EXPECT_EQ(loaded.config().qk_norm->bias, norm.bias);
    EXPECT_EQ(loaded.config().qk_norm->eps, norm.eps);
    const auto x = uniform<3>({1, 4, kEmbed}, 230);
    EXPECT_TRUE(same_bits(loaded.forward(x, x, x).value().output,
                          layer.forward(x, x, x).value().output));
    EXPECT_THAT(load_attention(path, {.num_heads = kHeads}),
                HasError({.code = ErrorCode::invalid_argument,
                          .operation = "load_attention",
                          .argument = "qk_norm",
                          .file = path,
                          .expected = {"a kind", "q_norm.weight"}}));
    // Some models keep (H, D).
    const std::vector<std::size_t> by_head = {
        views.at("q_norm.weight").extents()[0] / 2, 2};
    views.at("q_norm.weight") =
        AnyView(views.at("q_norm.weight").data(), DType::float32, by_head);
    EXPECT_TRUE(load_attention(put_npz(folder, views, "by_head.npz"),
                               {.num_heads = kHeads, .qk_norm = said}));
    views.erase("q_norm.weight");
    const std::string half = put_npz(folder, views, "half.npz");
    EXPECT_THAT(load_attention(half, {.num_heads = kHeads, .qk_norm = said}),
                HasError({.code = ErrorCode::bad_data,
                          .operation = "load_attention",
                          .file = half,
                          .given = {"k_norm.weight", "no q_norm.weight"}}));
  }
  const auto plain = original();
  const std::string path = put_npz(folder, views_of(plain), "plain.npz");
  EXPECT_THAT(load_attention(path, {.num_heads = kHeads, .qk_norm = QkNorm{}}),
              HasError({.code = ErrorCode::bad_data,
                        .operation = "load_attention",
                        .file = path,
                        .given = {"no q_norm.weight"}}));
}

TEST(LoadAttentionFileTest, AnEmbeddingComesWithTheLayer) {
  const MultiHeadAttention layer = original();
  const TempFolder folder;
  auto views = views_of(layer);
  const auto table = uniform<2>({9, kEmbed}, 2);
  views.emplace("embedding.weight", table.view());
  const std::string path = put_npz(folder, views);
  const auto loaded =
      load_embedded_attention(path, {.num_heads = kHeads}).value();
  expect_same_layer(loaded.layer, layer);
  EXPECT_EQ(loaded.embedding.vocab_size(), 9u);
  expect_same_layer(load_attention(path, {.num_heads = kHeads}).value(), layer);
  EXPECT_EQ(
      load_embedded_attention(put_npz(folder, views_of(layer), "without.npz"),
                              {.num_heads = kHeads})
          .error()
          .code(),
      ErrorCode::bad_data);
}

}  // namespace
}  // namespace headwise::testing_support
