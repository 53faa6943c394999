// Parameters as the libraries themselves saved them: the layer of each layout
// gives the library's own output, and is written as it was read.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "golden/fixtures.h"
#include "golden/golden_case.h"
#include "golden/golden_run.h"
#include "golden/torch_axes.h"
#include "headwise/interop/layouts.h"
#include "headwise/interop/load_attention.h"
#include "headwise/interop/safetensors.h"
#include "headwise/module/multi_head_attention.h"
#include "interop/laid_out.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

NamedArrays arrays_of(const std::filesystem::path& path) {
  if (path.extension() == ".npz") {
    return read_npz(path.string()).value();
  }
  const auto file = open_safetensors(path.string()).value();
  NamedArrays arrays;
  for (const auto& [name, entry] : file.tensors()) {
    arrays.emplace(name, file.array(name).value());
  }
  return arrays;
}

ShapesByName shapes_of(const NamedArrays& arrays) {
  ShapesByName shapes;
  for (const auto& [name, array] : arrays) {
    shapes.emplace(name, array.shape);
  }
  return shapes;
}

// A layer of `arrays`, in whatever layout they are found to be.
LayerParams take(const NamedArrays& arrays, const LayoutMatch& match,
                 std::size_t number) {
  return take_layer(match, shapes_of(arrays), number,
                    [&](const std::string& name) -> Result<Array> {
                      return arrays.at(name);
                    })
      .value();
}

Linear linear_of(const NamedArrays& params, const std::string& name) {
  const auto bias = params.find(name + ".bias");
  return Linear::from_params(
             to_float<2>(params.at(name + ".weight"), "test", name).value(),
             bias == params.end()
                 ? Tensor<float, 1>()
                 : to_float<1>(bias->second, "test", name).value())
      .value();
}

MultiHeadAttention layer_of(const LayerParams& layer, bool out_proj,
                            std::size_t num_heads,
                            std::optional<std::size_t> num_kv_heads) {
  const NamedArrays& params = layer.params;
  MultiHeadAttentionParams made{linear_of(params, "w_q"),
                                linear_of(params, "w_k"),
                                linear_of(params, "w_v")};
  if (out_proj) {
    made.w_o = linear_of(params, "w_o");
  }
  std::optional<QkNorm> qk_norm;
  if (params.contains("q_norm.weight")) {
    const auto norm = [&](const char* name) {
      return HeadNormParams{to_float<1>(params.at(name), "test", name).value()};
    };
    qk_norm = layer.qk_norm;
    made.q_norm = norm("q_norm.weight");
    made.k_norm = norm("k_norm.weight");
  }
  if (params.contains("bias_k")) {
    made.bias_k = to_float<1>(params.at("bias_k"), "test", "bias_k").value();
    made.bias_v = to_float<1>(params.at("bias_v"), "test", "bias_v").value();
  }
  return MultiHeadAttention::from_params(std::move(made),
                                         {.num_heads = num_heads,
                                          .num_kv_heads = num_kv_heads,
                                          .qk_norm = qk_norm})
      .value();
}

// As found, then written in its layout and every element compared.
void expect_written_as_read(const NamedArrays& arrays, const LayoutMatch& match,
                            LayerParams layer, std::size_t number,
                            std::size_t num_heads) {
  layer.num_heads = num_heads;
  const auto again = lay_out(layer, number, *match.layout).value();
  ASSERT_EQ(again.size(), arrays.size());
  for (const auto& [name, array] : again) {
    const std::string there =
        match.prefix + name.substr(match.layout->prefixes[0].size());
    ASSERT_TRUE(arrays.contains(there)) << there;
    EXPECT_EQ(arrays.at(there).shape, array.shape) << there;
    EXPECT_EQ(arrays.at(there).data, array.data) << there;
  }
}

// The tensors of a case and what is computed of them.
struct LayoutCase {
  const char* folder;
  const char* file;
  const char* layout;
  const char* query = "query";
  const char* key = "key";
  const char* value = "value";
  const char* output = "output";
  const char* lengths = nullptr;  // of the keys
  std::size_t number = 0;
  const char* mask = nullptr;  // of the keys; without an output projection
};

class LayoutGoldenTest : public FixturesTest,
                         public testing::WithParamInterface<LayoutCase> {};

TEST_P(LayoutGoldenTest, GivesTheLibrarysOutputAndIsWrittenAsItWasRead) {
  const LayoutCase& test = GetParam();
  const GoldenCase golden(fixtures() / test.folder);
  const NamedArrays arrays = arrays_of(fixtures() / test.folder / test.file);
  const auto match = find_layout(shapes_of(arrays), {"", test.file}).value();
  EXPECT_EQ(match.layout->name, test.layout);
  const LayerParams params = take(arrays, match, test.number);
  const std::size_t num_heads = golden.options().at("num_heads");
  const std::size_t num_kv_heads =
      golden.options().value("num_kv_heads", num_heads);
  EXPECT_EQ(params.num_heads.value_or(num_heads), num_heads);
  EXPECT_EQ(params.num_kv_heads.value_or(num_kv_heads), num_kv_heads);
  expect_written_as_read(arrays, match, params, test.number, num_heads);

  const MultiHeadAttention layer =
      layer_of(params, test.mask == nullptr, num_heads, num_kv_heads);
  const auto query = golden.floats<3>(test.query);
  const auto key = golden.floats<3>(test.key);
  const auto value = golden.floats<3>(test.value);
  AttentionOptions options;
  Tensor<std::int64_t, 1> lengths;
  if (test.lengths != nullptr) {
    lengths = golden.ints<1>(test.lengths);
    options.mask = key_lengths(lengths.view());
  }
  Tensor<bool, 2> mask;
  if (test.mask != nullptr) {
    mask = golden.bools<2>(test.mask);
    options.mask = key_padding(mask.view());
  }
  const auto result =
      layer.forward(query.view(), key.view(), value.view(), options).value();
  EXPECT_TRUE(golden.matches(test.output, got_of(result.output)));
}

LayoutCase torch_mha(const char* folder, const char* layout) {
  return {folder, "state_dict.safetensors", layout};
}
// A layer that is called with query and value: the value is the key.
LayoutCase keras(const char* folder, const char* key) {
  return {.folder = folder, .file = "keras.npz", .layout = "keras", .key = key};
}
LayoutCase flax(const char* folder) {
  return {folder, "flax.npz", "flax", "inputs_q", "inputs_k", "inputs_v"};
}
LayoutCase flax_self(const char* folder) {
  return {folder, "flax.npz", "flax", "inputs_q", "inputs_q", "inputs_q"};
}
LayoutCase d2l(const char* folder, const char* file, const char* layout,
               const char* output, const char* lengths = nullptr) {
  return {folder, file, layout, "queries", "keys", "values", output, lengths};
}
LayoutCase minilm(const char* file, const char* input, const char* context,
                  std::size_t number) {
  return {.folder = "minilm",
          .file = file,
          .layout = "bert",
          .query = input,
          .key = input,
          .value = input,
          .output = context,
          .number = number,
          .mask = "attention_mask"};
}

INSTANTIATE_TEST_SUITE_P(
    Layouts, LayoutGoldenTest,
    testing::Values(
        torch_mha("torch_mha_self", "torch-mha"),
        torch_mha("torch_mha_cross", "torch-mha"),
        torch_mha("torch_mha_no_bias", "torch-mha"),
        torch_mha("torch_mha_kdim_vdim", "torch-mha-split"),
        torch_mha("torch_mha_bias_kv", "torch-mha"),
        keras("keras_mha_plain", "value"), keras("keras_mha_no_bias", "value"),
        keras("keras_mha_value_dim", "value"),
        keras("keras_mha_key_value", "key"), keras("keras_gqa", "value"),
        flax_self("flax_linen_self"), flax("flax_linen_cross"),
        flax("flax_linen_no_bias"), flax_self("flax_nnx_self"),
        flax("flax_nnx_cross"), flax("flax_nnx_no_bias"),
        flax("flax_linen_normalize_qk"), flax("flax_nnx_normalize_qk"),
        d2l("d2l_h100", "torch.safetensors", "d2l", "output_none_torch"),
        d2l("d2l_h100", "jax_flax.npz", "d2l-dense", "output_none_jax"),
        d2l("d2l_sizes", "keras.npz", "d2l-dense", "output_valid1d_tensorflow",
            "valid_lens_valid1d"),
        d2l("d2l_sizes", "mxnet.npz", "d2l", "output_valid1d_mxnet",
            "valid_lens_valid1d"),
        d2l("d2l_sizes_bias", "torch.safetensors", "d2l", "output_none_torch"),
        d2l("d2l_sizes_bias", "jax_flax.npz", "d2l-dense", "output_none_jax"),
        minilm("layer0.safetensors", "layer0_hidden_in", "layer0_context", 0),
        minilm("layer5.safetensors", "layer5_hidden_in", "layer5_context", 5)),
    [](const auto& test) {
      std::string name = std::string(test.param.folder) + "_" + test.param.file;
      std::ranges::replace_if(
          name, [](char c) { return std::isalnum(c) == 0; }, '_');
      return name;
    });

// ---- PyTorch's added keys. ----

template <std::size_t Rank>
Tensor<bool, Rank> negated(Tensor<bool, Rank> ignored) {
  for (std::size_t n = 0; n < ignored.size(); ++n) {
    ignored.data()[n] = !ignored.data()[n];
  }
  return ignored;
}

class AddedKeysGoldenTest : public FixturesTest,
                            public testing::WithParamInterface<const char*> {};

TEST_P(AddedKeysGoldenTest, GivePyTorchsOutputWeightsAndGradients) {
  const std::filesystem::path folder = fixtures() / GetParam();
  const GoldenCase golden(folder);
  const auto layer =
      load_attention((folder / "state_dict.safetensors").string(),
                     {.num_heads = golden.options().at("num_heads"),
                      .add_zero_attn = golden.options().at("add_zero_attn")})
          .value();
  EXPECT_EQ(layer.config().add_bias_kv, golden.options().at("add_bias_kv"));
  const auto query = golden.floats<3>("query");
  const auto key = golden.floats<3>("key");
  const auto value = golden.floats<3>("value");
  AttentionOptions options = {.attn_weights = AttnWeights::per_head};
  Tensor<bool, 2> padding;
  Tensor<bool, 2> pairs;
  if (golden.has("key_padding_mask")) {
    padding = negated(golden.bools<2>("key_padding_mask"));
    options.mask = options.mask & key_padding(padding.view());
  }
  if (golden.has("attn_mask")) {
    pairs = negated(golden.bools<2>("attn_mask"));
    options.mask = options.mask & dense(view_of(pairs), {Axis::Lq, Axis::Lkv});
  }
  auto saved = layer
                   .forward_for_backward(batch_first(golden, query),
                                         batch_first(golden, key),
                                         batch_first(golden, value), options)
                   .value();
  const auto matches = [&](const char* name, const Got& got) {
    EXPECT_TRUE(golden.matches(name, got));
  };
  matches("output", got_of(as_in_case(golden, saved.result().output)));
  matches("weights", got_of(saved.result().attn_weights));
  const auto d_output = golden.floats<3>("grad_output");
  const auto gradients =
      layer.backward(saved, batch_first(golden, d_output)).value();
  matches("grad_query", got_of(as_in_case(golden, gradients.query)));
  matches("grad_key", got_of(as_in_case(golden, gradients.key)));
  matches("grad_value", got_of(as_in_case(golden, gradients.value)));
  matches("grad_out_proj.weight", got_of(gradients.w_o->weight));
  if (layer.config().add_bias_kv) {
    matches("grad_bias_k", got_of(gradients.bias_k));
    matches("grad_bias_v", got_of(gradients.bias_v));
  }
}

INSTANTIATE_TEST_SUITE_P(AddedKeys, AddedKeysGoldenTest,
                         testing::Values("torch_mha_bias_kv",
                                         "torch_mha_zero_attn",
                                         "torch_mha_all_options"),
                         [](const auto& test) { return test.param; });

// ---- Norms of queries and keys, there and back. ----

Array flat(Array array) {
  array.shape = {array.data.size() / sizeof(float)};
  return array;
}

class NormalizedQkTest : public FixturesTest,
                         public testing::WithParamInterface<const char*> {};

TEST_P(NormalizedQkTest, GradientsAreThoseOfTheLibrary) {
  const auto folder = fixtures() / GetParam();
  const GoldenCase golden(folder);
  const NamedArrays arrays = arrays_of(folder / "flax.npz");
  const auto match = find_layout(shapes_of(arrays), {"", "flax.npz"}).value();
  const LayerParams params = take(arrays, match, 0);
  const auto layer = layer_of(params, true, 3, 3);
  const auto query = golden.floats<3>("inputs_q");
  const auto key = golden.floats<3>("inputs_k");
  const auto value = golden.floats<3>("inputs_v");
  auto saved =
      layer
          .forward_for_backward(query, key, value,
                                {.attn_weights = AttnWeights::per_head})
          .value();
  const auto d_output = golden.floats<3>("grad_output");
  const auto gradients = layer.backward(saved, d_output).value();
  EXPECT_TRUE(golden.matches("weights", got_of(saved.result().attn_weights)));
  EXPECT_TRUE(golden.matches("grad_inputs_q", got_of(gradients.query)));
  EXPECT_TRUE(golden.matches("grad_inputs_k", got_of(gradients.key)));
  EXPECT_TRUE(golden.matches("grad_inputs_v", got_of(gradients.value)));
  // Laid out as the library lays out the parameters.
  LayerParams by_name;
  by_name.num_heads = 3;
  gradients.for_each([&](std::string_view name, std::span<const float> from) {
    Array array{DType::float32, params.params.at(std::string(name)).shape, {}};
    array.data.resize(from.size_bytes());
    std::memcpy(array.data.data(), from.data(), from.size_bytes());
    by_name.params.emplace(name, std::move(array));
  });
  const auto as_saved = lay_out(by_name, 0, *match.layout, "").value();
  EXPECT_EQ(as_saved.size(), 10u);
  for (const auto& [name, array] : as_saved) {
    std::string tensor = "grad_" + name;
    std::ranges::replace(tensor, '/', '.');
    const auto elements = to_float<1>(flat(array), "test", name).value();
    EXPECT_TRUE(golden.matches(
        tensor,
        {array.shape, {elements.data(), elements.data() + elements.size()}}))
        << tensor;
  }
}

INSTANTIATE_TEST_SUITE_P(Flax, NormalizedQkTest,
                         testing::Values("flax_linen_normalize_qk",
                                         "flax_nnx_normalize_qk"),
                         [](const auto& test) {
                           return std::string(test.param);
                         });

}  // namespace
}  // namespace headwise::testing_support
