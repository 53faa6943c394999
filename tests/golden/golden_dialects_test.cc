// Every dialect against the numbers of its library: masks go in as the library
// takes them, and what comes out is what the library gave.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <utility>

#include "golden/fixtures.h"
#include "golden/golden_case.h"
#include "golden/golden_run.h"
#include "golden/onnx_call.h"
#include "golden/torch_axes.h"
#include "headwise/attention/forward.h"
#include "headwise/interop/dialects.h"
#include "headwise/interop/load_attention.h"
#include "headwise/interop/npy.h"
#include "headwise/steps/embedding.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

namespace fs = std::filesystem;

Array array_of(const GoldenCase& golden, const fs::path& folder,
               const std::string& tensor) {
  const std::string file = golden.json().at("tensors").at(tensor).at("file");
  return read_npy((folder / file).string()).value();
}

Tensor<float, 3> batch_of(const GoldenCase& golden, const std::string& name) {
  if (golden.rank(name) == 3) {
    return golden.floats<3>(name);
  }
  auto one = golden.floats<2>(name);
  const Extents<3> extents{1, one.extent(0), one.extent(1)};
  return std::move(one).with_extents(extents);
}

// The masks of one call, and its options by a dialect.
class DialectOptions {
 public:
  DialectOptions(const char* dialect, const GoldenCase& golden,
                 const fs::path& folder, const MaskSizes& sizes)
      : dialect_(*find_dialect(dialect)),
        golden_(golden),
        folder_(folder),
        sizes_(sizes) {}

  void add_mask(const std::string& tensor) {
    if (golden_.has(tensor)) {
      mask_ = read_mask(dialect_, array_of(golden_, folder_, tensor), sizes_)
                  .value();
    }
  }
  void add_key_padding(const std::string& tensor) {
    if (golden_.has(tensor)) {
      padding_ =
          read_key_padding(dialect_, array_of(golden_, folder_, tensor), sizes_)
              .value();
    }
  }
  AttentionOptions options(const DialectCall& call) const {
    AttentionOptions options{.mask = mask_.mask() & padding_.mask(),
                             .bias = mask_.bias()};
    apply_dialect(dialect_, call, options);
    return options;
  }

 private:
  const Dialect& dialect_;
  const GoldenCase& golden_;
  fs::path folder_;
  MaskSizes sizes_;
  DialectMask mask_;
  DialectMask padding_;
};

constexpr DialectCall kWithWeights = {.returns_weights = true};

void expect_layer(const GoldenCase& golden, const MultiHeadAttention& layer,
                  const std::array<TensorView<const float, 3>, 3>& in,
                  const AttentionOptions& options, const std::string& output,
                  const std::string& weights) {
  const auto result = layer.forward(in[0], in[1], in[2], options).value();
  const bool seq_first = !golden.options().value("batch_first", true);
  EXPECT_TRUE(golden.matches(
      output, got_of(seq_first ? as_in_case(golden, result.output)
                               : clone(result.output))));
  if (!weights.empty()) {
    EXPECT_TRUE(golden.matches(weights, got_of(result.attn_weights)));
  }
}

class DialectGoldenTest : public FixturesTest {
 protected:
  // Runs `test` on every case of the kind; returns their number.
  template <class Test>
  std::size_t for_each(const std::string& kind, const Test& test) {
    std::size_t cases = 0;
    for (const auto& entry : fs::directory_iterator(fixtures())) {
      if (!fs::exists(entry.path() / "case.json")) {
        continue;
      }
      const GoldenCase golden(entry.path());
      if (golden.kind() == kind) {
        SCOPED_TRACE(golden.name());
        test(golden, entry.path());
        ++cases;
      }
    }
    return cases;
  }
};

TEST_F(DialectGoldenTest, TorchMha) {
  EXPECT_EQ(
      for_each(
          "torch_mha",
          [](const GoldenCase& golden, const fs::path& folder) {
            const auto layer =
                load_attention(
                    (folder / "state_dict.safetensors").string(),
                    {.num_heads = golden.options().at("num_heads"),
                     .add_zero_attn = golden.options().at("add_zero_attn")})
                    .value();
            const auto query = batch_of(golden, "query");
            const auto key = batch_of(golden, "key");
            const auto value = batch_of(golden, "value");
            const std::array in = {batch_first(golden, query),
                                   batch_first(golden, key),
                                   batch_first(golden, value)};
            DialectOptions dialect("torch-mha", golden, folder,
                                   {.B = in[0].extent(0),
                                    .Hq = layer.config().num_heads,
                                    .Lq = in[0].extent(1),
                                    .Lkv = in[1].extent(1),
                                    .batched = golden.options().at("batched")});
            dialect.add_mask("attn_mask");
            dialect.add_key_padding("key_padding_mask");
            AttentionOptions options = dialect.options(kWithWeights);
            EXPECT_EQ(options.attn_weights, AttnWeights::mean);
            if (!golden.options().at("average_attn_weights").get<bool>()) {
              options.attn_weights = AttnWeights::per_head;
            }
            expect_layer(golden, layer, in, options, "output", "weights");
            if (golden.has("output_no_weights")) {
              expect_layer(golden, layer, in, dialect.options({}),
                           "output_no_weights", "");
            }
          }),
      15U);
}

TEST_F(DialectGoldenTest, Keras) {
  EXPECT_EQ(
      for_each("keras_mha",
               [](const GoldenCase& golden, const fs::path& folder) {
                 const auto& given = golden.options();
                 const auto layer =
                     load_attention((folder / "keras.npz").string(),
                                    {.num_heads = given.at("num_heads")})
                         .value();
                 const auto query = batch_of(golden, "query");
                 const auto value = batch_of(golden, "value");
                 const auto key =
                     batch_of(golden, golden.has("key") ? "key" : "value");
                 const std::array in = {query.view(), key.view(), value.view()};
                 DialectOptions dialect("keras", golden, folder,
                                        {.B = query.extent(0),
                                         .Hq = layer.config().num_heads,
                                         .Lq = query.extent(1),
                                         .Lkv = key.extent(1)});
                 dialect.add_mask("attention_mask");
                 dialect.add_key_padding("value_mask");
                 Tensor<bool, 2> queries;  // the mask that the query carries
                 const auto with_flags = [&](AttentionOptions options) {
                   if (given.at("use_causal_mask").get<bool>()) {
                     options.mask = options.mask & causal();
                   }
                   if (!given.at("sliding_window").is_null()) {
                     const auto width =
                         given.at("sliding_window").get<std::int64_t>();
                     options.mask = options.mask & window(width - 1, width - 1);
                   }
                   if (golden.has("query_mask")) {
                     queries = golden.bools<2>("query_mask");
                     options.mask = options.mask & dense(view_of(queries),
                                                         {Axis::B, Axis::Lq});
                   }
                   return options;
                 };
                 expect_layer(golden, layer, in,
                              with_flags(dialect.options(kWithWeights)),
                              "output", "weights");
                 if (golden.has("output_no_weights")) {
                   expect_layer(golden, layer, in,
                                with_flags(dialect.options({})),
                                "output_no_weights", "");
                 }
               }),
      10U);
}

TEST_F(DialectGoldenTest, Flax) {
  EXPECT_EQ(
      for_each(
          "flax_mha",
          [](const GoldenCase& golden, const fs::path& folder) {
            const auto layer =
                load_attention((folder / "flax.npz").string(),
                               {.num_heads = golden.options().at("num_heads")})
                    .value();
            const bool self = !golden.has("inputs_k");
            const auto query = batch_of(golden, "inputs_q");
            const auto key = batch_of(golden, self ? "inputs_q" : "inputs_k");
            const auto value = batch_of(golden, self ? "inputs_q" : "inputs_v");
            DialectOptions dialect("flax", golden, folder,
                                   {.B = query.extent(0),
                                    .Hq = layer.config().num_heads,
                                    .Lq = query.extent(1),
                                    .Lkv = key.extent(1)});
            dialect.add_mask("mask");
            expect_layer(golden, layer,
                         {query.view(), key.view(), value.view()},
                         dialect.options(kWithWeights), "output", "weights");
          }),
      11U);
}

TEST_F(DialectGoldenTest, D2l) {
  EXPECT_EQ(for_each("d2l_mha",
                     [](const GoldenCase& golden, const fs::path& folder) {
                       const auto layer = layer_of(golden, "W_", "o");
                       for (const auto& run : golden.json().at("runs")) {
                         const auto query = golden.floats<3>(run.at("queries"));
                         const auto key = golden.floats<3>(run.at("keys"));
                         const auto value = golden.floats<3>(run.at("values"));
                         DialectOptions dialect("d2l", golden, folder,
                                                {.B = query.extent(0),
                                                 .Hq = layer.config().num_heads,
                                                 .Lq = query.extent(1),
                                                 .Lkv = key.extent(1)});
                         if (!run.at("valid_lens").is_null()) {
                           dialect.add_mask(run.at("valid_lens"));
                         }
                         expect_layer(golden, layer,
                                      {query.view(), key.view(), value.view()},
                                      dialect.options(kWithWeights),
                                      run.at("output"), run.at("weights"));
                       }
                     }),
            4U);
}

TEST_F(DialectGoldenTest, Seeds) {
  EXPECT_EQ(
      for_each(
          "token_mha",
          [](const GoldenCase& golden, const fs::path& folder) {
            const auto embedding =
                Embedding::from_weight(golden.floats<2>("embedding.weight"))
                    .value();
            const bool cross = golden.options().at("cross");
            const auto tokens = golden.ints<2>("tokens");
            const auto kv_tokens =
                golden.ints<2>(cross ? "kv_tokens" : "tokens");
            const auto query = embedding.forward(tokens.view()).value();
            const auto key = embedding.forward(kv_tokens.view()).value();
            const auto layer = layer_of(golden, "w_", "0");
            DialectOptions dialect("fill-1e12", golden, folder,
                                   {.B = query.extent(0),
                                    .Hq = layer.config().num_heads,
                                    .Lq = query.extent(1),
                                    .Lkv = key.extent(1)});
            dialect.add_mask("mask");
            expect_layer(golden, layer, {query.view(), key.view(), key.view()},
                         dialect.options(kWithWeights), "output", "weights");
          }),
      9U);
  EXPECT_EQ(for_each("step_mha",
                     [](const GoldenCase& golden, const fs::path& folder) {
                       const auto layer = layer_of(golden, "fc_", "o");
                       const auto query = batch_of(golden, "query");
                       const auto key = batch_of(golden, "key");
                       const auto value = batch_of(golden, "value");
                       DialectOptions dialect("fill-1e10", golden, folder,
                                              {.B = query.extent(0),
                                               .Hq = layer.config().num_heads,
                                               .Lq = query.extent(1),
                                               .Lkv = key.extent(1)});
                       dialect.add_mask("mask");
                       const bool drops = golden.has("dropout_keep");
                       AttentionOptions options = dialect.options(
                           {.returns_weights = true, .dropout = drops});
                       Tensor<bool, 4> keep;
                       if (drops) {
                         keep = golden.bools<4>("dropout_keep");
                         options.dropout = {
                             .p = golden.options().at("dropout").get<double>(),
                             .training = true,
                             .keep_mask = keep.view()};
                       }
                       expect_layer(golden, layer,
                                    {query.view(), key.view(), value.view()},
                                    options, "x", "attention");
                     }),
            7U);
}

// ---- The operation. ----

// (B, H, L, D), or with `heads_first` false (B, L, H, D).
void expect_operation(const GoldenCase& golden, bool heads_first,
                      const std::array<TensorView<const float, 4>, 3>& in,
                      AttentionOptions options, const std::string& name,
                      std::span<const std::int64_t> query_lengths = {}) {
  const auto [B, Lq, Hq, D] = in[0].extents();
  auto output = Tensor<float, 4>::create({B, Lq, Hq, in[2].extent(3)}).value();
  auto weights = Tensor<float, 4>::create({B, Hq, Lq, in[1].extent(1)}).value();
  const bool all = golden.has("weights");
  options.attn_weights = all ? AttnWeights::per_head : AttnWeights::none;
  const Status status =
      attention(in[0], in[1], in[2],
                AttentionOutputs{.output = output.view(),
                                 .attn_weights = all ? weights.view()
                                                     : TensorView<float, 4>()},
                options);
  ASSERT_TRUE(status) << status.error().message();
  for (std::size_t b = 0; b < query_lengths.size(); ++b) {
    for (auto i = static_cast<std::size_t>(query_lengths[b]); i < Lq; ++i) {
      std::fill_n(&output(b, i, 0, 0), Hq * in[2].extent(3), 0.0F);
    }
  }
  EXPECT_TRUE(
      golden.matches(name, got_of(copy_of(heads_first ? as_bhld(view_of(output))
                                                      : view_of(output)))));
  if (all) {
    EXPECT_TRUE(golden.matches("weights", got_of(weights)));
  }
}

MaskSizes sizes_of(const TensorView<const float, 4>& query,
                   const TensorView<const float, 4>& key) {
  return {.B = query.extent(0),
          .Hq = query.extent(2),
          .Lq = query.extent(1),
          .Lkv = key.extent(1)};
}

TEST_F(DialectGoldenTest, TorchSdpa) {
  std::size_t compared = 0;
  for_each("sdpa", [&](const GoldenCase& golden, const fs::path& folder) {
    const auto& given = golden.options();
    // What the function does not have.
    if (!given.at("window").is_null() || !given.at("softcap").is_null() ||
        given.at("alibi").get<bool>() || given.at("valid_lens").get<bool>() ||
        given.at("causal") == "bottom_right") {
      return;
    }
    ++compared;
    const auto q = golden.floats<4>("q");
    const auto k = golden.floats<4>("k");
    const auto v = golden.floats<4>("v");
    const std::array in = {as_blhd(view_of(q)), as_blhd(view_of(k)),
                           as_blhd(view_of(v))};
    DialectOptions dialect("torch-sdpa", golden, folder,
                           sizes_of(in[0], in[1]));
    dialect.add_mask("bool_mask");
    dialect.add_mask("bias");
    AttentionOptions options = dialect.options(kWithWeights);
    options.scale = given.at("scale").get<double>();
    if (!given.at("causal").is_null()) {
      options.mask = options.mask & causal();
    }
    expect_operation(golden, true, in, options, "output");
  });
  EXPECT_EQ(compared, 13U);
}

TEST_F(DialectGoldenTest, Jax) {
  EXPECT_EQ(
      for_each(
          "jax_dpa",
          [](const GoldenCase& golden, const fs::path& folder) {
            const auto& given = golden.options();
            const auto q = golden.floats<4>("q");
            const auto k = golden.floats<4>("k");
            const auto v = golden.floats<4>("v");
            const std::array in = {view_of(q), view_of(k), view_of(v)};
            DialectOptions dialect("jax", golden, folder,
                                   sizes_of(in[0], in[1]));
            dialect.add_mask("mask");
            AttentionOptions options = dialect.options({});
            Tensor<float, 4> bias;
            if (golden.has("bias")) {
              bias = golden.floats<4>("bias");
              options.bias =
                  dense(view_of(bias), {Axis::B, Axis::H, Axis::Lq, Axis::Lkv});
            }
            if (given.at("is_causal").get<bool>()) {
              options.mask = options.mask & causal();
            }
            if (!given.at("local_window_size").is_null()) {
              options.mask =
                  options.mask &
                  window(
                      given.at("local_window_size").at(0).get<std::int64_t>(),
                      given.at("local_window_size").at(1).get<std::int64_t>());
            }
            Tensor<std::int64_t, 1> lengths;
            if (golden.has("key_value_seq_lengths")) {
              lengths = golden.ints<1>("key_value_seq_lengths");
              options.mask = options.mask & key_lengths(lengths.view());
            }
            // The library zeroes the rows past query_seq_lengths.
            Tensor<std::int64_t, 1> queries;
            if (golden.has("query_seq_lengths")) {
              queries = golden.ints<1>("query_seq_lengths");
            }
            expect_operation(golden, false, in, options, "output",
                             queries.elements());
          }),
      5U);
}

TEST_F(DialectGoldenTest, Onnx) {
  std::size_t masked = 0;
  for (const auto& entry : fs::directory_iterator(fixtures() / "onnx")) {
    const GoldenCase golden(entry.path());
    if (!golden.has("attn_mask") || golden.rank("Y") != 4) {
      continue;
    }
    SCOPED_TRACE(golden.name());
    const OnnxCall call(golden);
    const auto& attributes = golden.json().at("attributes");
    const std::array in = {view_of(call.query()), view_of(call.key()),
                           view_of(call.value())};
    DialectOptions dialect("onnx-1.23", golden, entry.path(),
                           sizes_of(in[0], in[1]));
    dialect.add_mask("attn_mask");
    const AttentionOptions as_case = call.options();
    AttentionOptions options = dialect.options(
        {.past_length = golden.has("past_key") ? golden.json()
                                                     .at("tensors")
                                                     .at("past_key")
                                                     .at("shape")
                                                     .at(2)
                                                     .get<std::size_t>()
                                               : 0});
    options.scale = as_case.scale;
    options.softcap = as_case.softcap;
    Tensor<std::int64_t, 1> lengths;
    if (golden.has("nonpad_kv_seqlen")) {
      lengths = golden.ints<1>("nonpad_kv_seqlen");
      options.mask = options.mask & key_lengths(lengths.view());
      options.query_start = as_case.query_start;
    }
    if (attributes.value("is_causal", 0) != 0) {
      options.mask = options.mask & causal();
    }
    if (attributes.contains("left_window_size") ||
        attributes.contains("right_window_size")) {
      continue;
    }
    expect_operation(golden, true, in, options, "Y");
    ++masked;
  }
  EXPECT_GT(masked, 20U);
}

}  // namespace
}  // namespace headwise::testing_support
