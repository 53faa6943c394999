// Layers are written, read back and run: their outputs are those of forward().
#include "headwise/onnx/write_layer.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headwise/interop/array.h"
#include "headwise/module/multi_head_attention.h"
#include "headwise/onnx/model.h"
#include "headwise/steps/mask.h"
#include "interop/files.h"
#include "support/errors.h"
#include "support/matchers.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

constexpr std::size_t kBatch = 2;
constexpr std::size_t kQueries = 5;
constexpr std::size_t kKeys = 7;

// Random numbers in every parameter, those of the norms, too.
MultiHeadAttention random_layer(const MultiHeadAttentionConfig& config) {
  auto layer = MultiHeadAttention::create(config, Seed{11}).value();
  std::uint32_t stream = 100;
  layer
      .update([&](std::string_view /*name*/, std::span<float> values) {
        RandomStream(Seed{7}, stream++).fill_uniform(values, -0.5, 0.5);
        return ok();
      })
      .value();
  return layer;
}

template <class T, std::size_t Rank>
Array array_of(const Tensor<T, Rank>& tensor) {
  Array array{.dtype = DTypeOf<T>::value,
              .shape = {tensor.extents().begin(), tensor.extents().end()},
              .data = {}};
  array.data.resize(tensor.size() * sizeof(T));
  std::memcpy(array.data.data(), tensor.data(), array.data.size());
  return array;
}

Array row_numbers(std::size_t length) {
  Array array{.dtype = DType::int64, .shape = {kBatch, length}, .data = {}};
  array.data.resize(kBatch * length * sizeof(std::int64_t));
  auto* numbers = reinterpret_cast<std::int64_t*>(array.data.data());
  for (std::size_t row = 0; row < kBatch * length; ++row) {
    numbers[row] = static_cast<std::int64_t>(row % length);
  }
  return array;
}

std::vector<std::string> input_names(const OnnxModel& model) {
  std::vector<std::string> names;
  for (const OnnxPort& port : model.inputs()) {
    names.push_back(port.name);
  }
  return names;
}

OnnxModel written(const MultiHeadAttention& layer,
                  const OnnxLayerOptions& options = {}) {
  const TempFolder folder;
  const std::string path = folder / "layer.onnx";
  EXPECT_TRUE(write_onnx_layer(path, layer, options));
  return OnnxModel::read(path).value();
}

// A call of a layer and of its model.
class Call {
 public:
  Call(const MultiHeadAttention& layer, const OnnxLayerOptions& options)
      : layer_(layer),
        options_(options),
        query_(uniform<3>({kBatch, kQueries, *layer.config().query_dim}, 1)),
        key_(uniform<3>({kBatch, kKeys, *layer.config().kdim}, 2)),
        value_(uniform<3>({kBatch, kKeys, *layer.config().vdim}, 3)) {}

  // The mask or the bias of the call.
  void set_mask(Array mask) { mask_ = std::move(mask); }

  void expect_same(AttentionOptions ours = {}) const {
    const OnnxModel model = written(layer_, options_);
    const auto names = input_names(model);
    const bool self = std::ranges::find(names, "key") == names.end();
    const auto outputs = model.run(inputs_for(names)).value();
    if (options_.causal) {
      ours.mask = std::move(ours.mask) & causal();
    }
    ours.scale = options_.scale;
    ours.softcap = options_.softcap;
    const auto expected =
        layer_
            .forward(query_, self ? query_ : key_, self ? query_ : value_, ours)
            .value();
    const auto output = to_float<3>(outputs.front(), "test", "output").value();
    ASSERT_EQ(output.extents(), expected.output.extents());
    for (std::size_t i = 0; i < output.size(); ++i) {
      ASSERT_NEAR(output.data()[i], expected.output.data()[i], 1e-5) << i;
    }
  }

 private:
  std::vector<Array> inputs_for(const std::vector<std::string>& names) const {
    std::vector<Array> inputs;
    for (const std::string& name : names) {
      inputs.push_back(name == "query"              ? array_of(query_)
                       : name == "key"              ? array_of(key_)
                       : name == "value"            ? array_of(value_)
                       : name == "attn_mask"        ? *mask_
                       : name == "key_position_ids" ? row_numbers(kKeys)
                                                    : row_numbers(kQueries));
    }
    return inputs;
  }

  const MultiHeadAttention& layer_;
  OnnxLayerOptions options_;
  Tensor<float, 3> query_;
  Tensor<float, 3> key_;
  Tensor<float, 3> value_;
  std::optional<Array> mask_;
};

struct NamedConfig {
  std::string_view name;
  MultiHeadAttentionConfig config;
};

QkNorm norm_of(NormKind kind, NormOver over) {
  return {.kind = kind, .eps = 1e-3, .over = over};
}

std::vector<NamedConfig> configs() {
  const MultiHeadAttentionConfig plain{.embed_dim = 24, .num_heads = 6};
  std::vector<NamedConfig> list;
  const auto add = [&](std::string_view name, auto change) {
    MultiHeadAttentionConfig config = plain;
    change(config);
    list.push_back({name, config});
  };
  add("plain", [](auto&) {});
  add("no biases", [](auto& c) { c.bias = false; });
  add("grouped", [](auto& c) { c.num_kv_heads = 2; });
  add("multi-query", [](auto& c) { c.num_kv_heads = 1; });
  add("uneven groups", [](auto& c) { c.kv_group_sizes = {3, 1, 2}; });
  add("head sizes", [](auto& c) { c.head_dim = 6, c.v_head_dim = 5; });
  add("input sizes",
      [](auto& c) { c.query_dim = 9, c.kdim = 11, c.vdim = 13; });
  add("no output projection", [](auto& c) { c.out_proj = false; });
  for (const NormKind kind : {NormKind::rms, NormKind::layer}) {
    for (const NormOver over :
         {NormOver::head, NormOver::each_head, NormOver::projection}) {
      add(kind == NormKind::rms ? "rms norm" : "layer norm", [&](auto& c) {
        c.qk_norm = norm_of(kind, over);
        c.qk_norm->plus_one = over != NormOver::projection;
        c.qk_norm->bias = kind == NormKind::layer;
        c.kv_group_sizes = {3, 1, 2};
      });
    }
  }
  add("rotary positions", [](auto& c) {
    c.head_dim = 8;
    c.num_kv_heads = 3;
    c.rotary = Rotary::create({.rotary_dim = 8}).value();
  });
  add("rotary positions of neighbours", [](auto& c) {
    c.head_dim = 8;
    c.rotary =
        Rotary::create(
            {.rotary_dim = 4, .base = 500, .layout = RotaryLayout::interleaved})
            .value();
  });
  return list;
}

TEST(WriteLayerTest, ModelOutputMatchesLayer) {
  for (const auto& [name, config] : configs()) {
    const MultiHeadAttention layer = random_layer(config);
    for (const bool cross : {false, true}) {
      for (const bool causal : {false, true}) {
        SCOPED_TRACE(std::string(name) + (cross ? ", cross" : "") +
                     (causal ? ", causal" : ""));
        Call(layer, {.cross_attention = cross, .causal = causal}).expect_same();
      }
    }
  }
}

TEST(WriteLayerTest, MasksAreTakenAsInputs) {
  const auto layer = random_layer({.embed_dim = 24, .num_heads = 6});
  const auto allowed = coin_tosses<4>({kBatch, 1, kQueries, kKeys}, 5, 0.7);
  Call with_mask(layer, {.cross_attention = true, .mask = OnnxMask::boolean});
  with_mask.set_mask(array_of(allowed));
  with_mask.expect_same(
      {.mask =
           dense(view_of(allowed), {Axis::B, Axis::one, Axis::Lq, Axis::Lkv})});
  const auto bias = uniform<4>({1, 6, kQueries, kKeys}, 6, -3, 3);
  Call with_bias(layer, {.cross_attention = true, .mask = OnnxMask::added});
  with_bias.set_mask(array_of(bias));
  with_bias.expect_same({.bias = dense(view_of(bias), {Axis::one, Axis::H,
                                                       Axis::Lq, Axis::Lkv})});
}

TEST(WriteLayerTest, ScaleAndSoftcap) {
  const auto layer = random_layer({.embed_dim = 24, .num_heads = 6});
  Call(layer, {.scale = 3.5}).expect_same();
  Call(layer, {.scale = 9, .softcap = 0.5}).expect_same();
}

// Every head pruned: the bias of the output projection.
TEST(WriteLayerTest, LayerWithoutHeads) {
  for (const bool bias : {true, false}) {
    const auto linear = [&](std::size_t out, std::size_t in) {
      return Linear::from_params(
                 uniform<2>({out, in}, 1),
                 bias ? uniform<1>({out}, 2) : Tensor<float, 1>())
          .value();
    };
    const auto layer =
        MultiHeadAttention::from_params(
            {linear(0, 8), linear(0, 8), linear(0, 8), linear(8, 0)}, 0)
            .value();
    Call(layer, {}).expect_same();
    Call(layer, {.cross_attention = true}).expect_same();
  }
}

TEST(WriteLayerTest, InputsHaveTheNamesAndSizesOfTheLayer) {
  const auto layer =
      random_layer({.embed_dim = 24,
                    .num_heads = 6,
                    .rotary = Rotary::create({.rotary_dim = 4}).value()});
  EXPECT_THAT(input_names(written(layer)),
              ElementsAre("query", "position_ids"));
  const OnnxModel model =
      written(layer, {.cross_attention = true, .mask = OnnxMask::boolean});
  EXPECT_THAT(input_names(model),
              ElementsAre("query", "key", "value", "attn_mask", "position_ids",
                          "key_position_ids"));
  EXPECT_THAT(*model.inputs()[0].shape,
              ElementsAre(std::nullopt, std::nullopt, 24));
  EXPECT_EQ(model.inputs()[3].dtype, DType::boolean);
  EXPECT_THAT(*model.outputs()[0].shape,
              ElementsAre(std::nullopt, std::nullopt, 24));
}

TEST(WriteLayerTest, UnsupportedLayersAreErrors) {
  const TempFolder folder;
  const auto refused = [&](const MultiHeadAttentionConfig& config) {
    const auto layer = MultiHeadAttention::create(config, Seed{1}).value();
    return write_onnx_layer(folder / "layer.onnx", layer);
  };
  MultiHeadAttentionConfig config{.embed_dim = 8, .num_heads = 2};
  config.scoring = Scoring::additive;
  EXPECT_THAT(refused(config), HasError({.code = ErrorCode::unsupported,
                                         .argument = "layer",
                                         .given = {"uses additive scoring"}}));
  config.scoring = Scoring::dot;
  config.add_bias_kv = true;
  EXPECT_THAT(refused(config), HasError({.code = ErrorCode::unsupported,
                                         .argument = "layer",
                                         .given = {"bias_k"}}));
  config.add_bias_kv = false;
  config.add_zero_attn = true;
  EXPECT_THAT(refused(config), HasError({.code = ErrorCode::unsupported,
                                         .argument = "layer",
                                         .given = {"an extra zero key"}}));
  config.add_zero_attn = false;
  config.query_dim = kOpenSize;
  EXPECT_THAT(refused(config), IsError(ErrorCode::invalid_argument, "layer"));
  EXPECT_EQ(folder.count(), 0U);
}

TEST(WriteLayerTest, ALayerInBf16GivesTheFileOfItsFloat32Parameters) {
  const TempFolder folder;
  auto layer = random_layer({.embed_dim = 8, .num_heads = 2});
  ASSERT_TRUE(write_onnx_layer(folder / "exact.onnx", layer));
  ASSERT_TRUE(layer.set_arithmetic(Arithmetic::bf16));
  ASSERT_TRUE(write_onnx_layer(folder / "bf16.onnx", layer));
  EXPECT_EQ(file_bytes(folder / "bf16.onnx"),
            file_bytes(folder / "exact.onnx"));
}

TEST(WriteLayerTest, PackedLayersAndWrongNumbersAreRefused) {
  const TempFolder folder;
  const std::string path = folder / "layer.onnx";
  const auto packed = [](std::uint32_t stream) {
    return Linear::from_params(uniform<2>({8, 8}, stream))
        .value()
        .for_inference();
  };
  const auto layer = MultiHeadAttention::from_params(
                         {packed(1), packed(2), packed(3), packed(4)}, 2)
                         .value();
  EXPECT_THAT(write_onnx_layer(path, layer),
              IsError(ErrorCode::invalid_argument, "layer"));
  const auto whole = random_layer({.embed_dim = 8, .num_heads = 2});
  EXPECT_THAT(write_onnx_layer(path, whole, {.scale = 1e300}),
              IsError(ErrorCode::invalid_argument, "scale"));
  // onnx-run and ONNX Runtime refuse these.
  for (const double scale : {0.0, -0.7}) {
    EXPECT_THAT(write_onnx_layer(path, whole, {.scale = scale}),
                IsError(ErrorCode::invalid_argument, "scale"));
  }
  EXPECT_THAT(write_onnx_layer(path, whole, {.softcap = 1e-40}),
              HasError({.code = ErrorCode::invalid_argument,
                        .argument = "softcap",
                        .given = {"is 1e-40"}}));
  EXPECT_THAT(write_onnx_layer(path, whole, {.positions = 0}),
              IsError(ErrorCode::invalid_argument, "positions"));
  EXPECT_THAT(write_onnx_layer(path, whole, {.softcap = 0}),
              IsError(ErrorCode::invalid_argument, "softcap"));
  const auto rotated =
      random_layer({.embed_dim = 8,
                    .num_heads = 2,
                    .rotary = Rotary::create({.rotary_dim = 4}).value()});
  EXPECT_THAT(
      write_onnx_layer(path, rotated, {.positions = std::size_t{1} << 30}),
      IsError(ErrorCode::unsupported, "layer"));
  EXPECT_EQ(folder.count(), 0U);
}

}  // namespace
}  // namespace headwise::testing_support
