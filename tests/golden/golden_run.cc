#include "golden/golden_run.h"

#include <stdexcept>
#include <utility>

#include "golden/golden_additive.h"
#include "golden/golden_gradients.h"
#include "headwise/attention/forward.h"
#include "headwise/attention/reference.h"
#include "headwise/attention/stepwise.h"
#include "headwise/module/multi_head_attention.h"
#include "headwise/steps/embedding.h"
#include "headwise/steps/rotary.h"
#include "support/recorded_trace.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

// ---- Options of a case. ----

EmptyRow empty_rows_of(const GoldenCase& golden) {
  const auto& rule = golden.options().at("fully_masked_row");
  if (rule.is_null() || rule == "zero") {
    return EmptyRow::zero;
  }
  if (rule.get<std::string>().starts_with("uniform")) {
    return EmptyRow::uniform;
  }
  throw std::runtime_error("unknown rule for empty rows: " + rule.dump());
}

// The default scale must be that of the case, unless it has one of its own.
std::optional<double> scale_of(const GoldenCase& golden, std::size_t D) {
  const double scale = golden.options().at("scale");
  const double usual = 1 / std::sqrt(static_cast<double>(D));
  if (std::abs(scale - usual) < 1e-12) {
    return std::nullopt;
  }
  return scale;
}

// The axes of a mask or a bias are `names`, or 1.
template <class T, std::size_t Rank>
auto dense_of(const Tensor<T, Rank>& tensor,
              const std::array<Axis, Rank>& names) {
  std::array<Axis, Rank> axes = names;
  for (std::size_t a = 0; a < Rank; ++a) {
    if (tensor.extent(a) == 1) {
      axes[a] = Axis::one;
    }
  }
  return dense(view_of(tensor), axes);
}

// ---- The layer. ----

Linear linear_of(const GoldenCase& golden, const std::string& name) {
  Tensor<float, 1> bias;
  if (golden.has(name + ".bias")) {
    bias = golden.floats<1>(name + ".bias");
  }
  return Linear::from_params(golden.floats<2>(name + ".weight"),
                             std::move(bias))
      .value();
}

}  // namespace

MultiHeadAttention layer_of(const GoldenCase& golden, const std::string& prefix,
                            const std::string& out) {
  MultiHeadAttentionParams params{linear_of(golden, prefix + "q"),
                                  linear_of(golden, prefix + "k"),
                                  linear_of(golden, prefix + "v"),
                                  {}};
  if (golden.has(prefix + out + ".weight")) {
    params.w_o = linear_of(golden, prefix + out);
  }
  return MultiHeadAttention::from_params(std::move(params),
                                         golden.options().at("num_heads"))
      .value();
}

namespace {

// Their name of a step -> ours.
const std::map<std::string, std::string> kStepNames = {
    {"q", "q"},
    {"k", "k"},
    {"v", "v"},
    {"q_heads", "q_heads"},
    {"k_heads", "k_heads"},
    {"v_heads", "v_heads"},
    {"scores", "scores"},
    {"masked_scores", "masked_scores"},
    {"weights", "attn_weights"},
    {"attention", "attn_weights"},
    {"context", "context"},
    {"concat", "merged"},
    {"output", "output"},
    {"x", "output"}};

struct LayerInputs {
  TensorView<const float, 3> query;
  TensorView<const float, 3> key;
  TensorView<const float, 3> value;
};

// The layer in one call, and once more with every step told.
std::vector<Computed> compute_layer(const MultiHeadAttention& layer,
                                    const LayerInputs& in,
                                    AttentionOptions options,
                                    const std::string& way) {
  options.attn_weights = AttnWeights::per_head;
  const auto& [query, key, value] = in;
  const auto plain = layer.forward(query, key, value, options).value();
  Computed in_one_call{way + "plain", {}};
  for (const char* name : {"output", "x"}) {
    in_one_call.tensors[name] = got_of(plain.output);
  }
  for (const char* name : {"weights", "attention"}) {
    in_one_call.tensors[name] = got_of(plain.attn_weights);
  }
  RecordedTrace trace;
  const auto traced =
      layer.forward(query, key, value, options, {}, &trace).value();
  Computed stepwise{way + "stepwise", {}};
  for (const auto& [theirs, ours] : kStepNames) {
    if (const RecordedStep* step = trace.find(ours); step != nullptr) {
      stepwise.tensors[theirs] = got_of(*step);
    }
  }
  return {std::move(in_one_call), std::move(stepwise)};
}

void append(std::vector<Computed>& all, std::vector<Computed> more) {
  std::ranges::move(more, std::back_inserter(all));
}

// ---- token_mha: from token ids to the output. ----

Tensor<bool, 2> not_padding(const Tensor<std::int64_t, 2>& tokens,
                            std::int64_t pad_id) {
  auto mask = Tensor<bool, 2>::create(tokens.extents()).value();
  for (std::size_t i = 0; i < mask.size(); ++i) {
    mask.data()[i] = tokens.data()[i] != pad_id;
  }
  return mask;
}

// The mask that the case describes, made by headwise.
Mask own_mask(const std::string& kind, const Tensor<bool, 2>& padding) {
  Mask mask;
  if (kind.find("padding") != std::string::npos) {
    mask = mask & key_padding(padding.view());
  }
  if (kind.find("causal") != std::string::npos) {
    mask = mask & causal();
  }
  return mask;
}

// Both ways through the embedding.
void add_token_gradients(const GoldenCase& golden, const Embedding& embedding,
                         const MultiHeadAttention& layer,
                         const Tensor<std::int64_t, 2>& tokens,
                         const Tensor<std::int64_t, 2>& kv_tokens,
                         const LayerInputs& in, const AttentionOptions& options,
                         Computed& to) {
  if (!golden.has("grad_output")) {
    return;
  }
  const auto gradients =
      add_layer_gradients(golden, layer, in.query, in.key, in.value, options,
                          {"w_", "0", "query", "key", "value"}, to);
  auto sum = embedding.backward(tokens.view(), gradients.query.view()).value();
  for (const auto* gradient : {&gradients.key, &gradients.value}) {
    const auto more =
        embedding.backward(kv_tokens.view(), gradient->view()).value();
    for (std::size_t n = 0; n < sum.size(); ++n) {
      sum.data()[n] += more.data()[n];
    }
  }
  to.tensors["grad_embedding.weight"] = got_of(sum);
}

std::vector<Computed> compute_tokens(const GoldenCase& golden) {
  const auto embedding =
      Embedding::from_weight(golden.floats<2>("embedding.weight")).value();
  const bool cross = golden.options().at("cross");
  const auto tokens = golden.ints<2>("tokens");
  const auto kv_tokens = golden.ints<2>(cross ? "kv_tokens" : "tokens");
  const auto embedded = embedding.forward(tokens.view()).value();
  const auto embedded_kv = embedding.forward(kv_tokens.view()).value();
  const auto layer = layer_of(golden, "w_", "0");
  const LayerInputs in{embedded.view(), embedded_kv.view(), embedded_kv.view()};

  AttentionOptions options{.scale = scale_of(golden, *layer.config().head_dim),
                           .empty_rows = empty_rows_of(golden)};
  Tensor<bool, 3> mask;
  if (golden.has("mask")) {
    mask = golden.bools<3>("mask");
    options.mask = dense_of(mask, {Axis::B, Axis::Lq, Axis::Lkv});
  }
  std::vector<Computed> all = compute_layer(layer, in, options, "");
  all.back().tensors["embedded"] = got_of(embedded);
  all.back().tensors["embedded_kv"] = got_of(embedded_kv);

  const std::string kind = golden.options().at("mask_kind");
  if (kind != "none") {
    const auto padding = not_padding(kv_tokens, golden.options().at("pad_id"));
    options.mask = own_mask(kind, padding);
    append(all, compute_layer(layer, in, options, "own mask, "));
    add_token_gradients(golden, embedding, layer, tokens, kv_tokens, in,
                        options, all.back());
  } else {
    add_token_gradients(golden, embedding, layer, tokens, kv_tokens, in,
                        options, all.front());
  }
  return all;
}

// ---- step_mha: the tutorial's steps. ----

template <std::size_t Rank>
Tensor<float, 3> as_batch(Tensor<float, Rank> tensor) {
  if constexpr (Rank == 3) {
    return tensor;
  } else {
    const Extents<3> extents{1, tensor.extent(0), tensor.extent(1)};
    return std::move(tensor).with_extents(extents);
  }
}

Tensor<float, 3> batch_of(const GoldenCase& golden, const std::string& name) {
  return golden.rank(name) == 3 ? golden.floats<3>(name)
                                : as_batch(golden.floats<2>(name));
}

std::vector<Computed> compute_steps(const GoldenCase& golden) {
  const auto query = batch_of(golden, "query");
  const auto key = batch_of(golden, "key");
  const auto value = batch_of(golden, "value");
  const auto layer = layer_of(golden, "fc_", "o");
  AttentionOptions options{.scale = scale_of(golden, *layer.config().head_dim),
                           .empty_rows = empty_rows_of(golden)};
  Tensor<bool, 4> mask;
  if (golden.has("mask")) {
    mask = golden.bools<4>("mask");
    options.mask = dense_of(mask, {Axis::B, Axis::H, Axis::Lq, Axis::Lkv});
  }
  Tensor<bool, 4> keep;
  if (golden.has("dropout_keep")) {
    keep = golden.bools<4>("dropout_keep");
    options.dropout = {.p = golden.options().at("dropout").get<double>(),
                       .training = true,
                       .keep_mask = keep.view()};
  }
  auto all = compute_layer(layer, {query.view(), key.view(), value.view()},
                           options, "");
  if (golden.has("grad_output")) {
    add_layer_gradients(golden, layer, query.view(), key.view(), value.view(),
                        options, {"fc_", "o", "query", "key", "value"},
                        all.front());
  }
  return all;
}

// ---- d2l_mha: the chapter's layer in four frameworks. ----

void add_run(const GoldenCase& golden, const MultiHeadAttention& layer,
             const nlohmann::json& run, std::vector<Computed>& all) {
  const auto query = golden.floats<3>(run.at("queries"));
  const auto key = golden.floats<3>(run.at("keys"));
  const auto value = golden.floats<3>(run.at("values"));
  AttentionOptions options{.scale = scale_of(golden, *layer.config().head_dim),
                           .empty_rows = empty_rows_of(golden)};
  Tensor<std::int64_t, 1> lengths;
  Tensor<std::int64_t, 2> row_lengths;
  if (const auto& name = run.at("valid_lens"); !name.is_null()) {
    if (golden.rank(name) == 1) {
      lengths = golden.ints<1>(name);
      options.mask = key_lengths(lengths.view());
    } else {
      row_lengths = golden.ints<2>(name);
      options.mask = key_lengths(row_lengths.view());
    }
  }
  for (Computed& way :
       compute_layer(layer, {query.view(), key.view(), value.view()}, options,
                     run.at("name").get<std::string>() + ", ")) {
    Computed named{way.way, {}};
    for (const auto& [theirs, tensor] :
         {std::pair(run.at("output"), way.tensors.at("output")),
          std::pair(run.at("weights"), way.tensors.at("weights"))}) {
      const std::string name = theirs;
      named.tensors[name] = tensor;
      for (const std::string framework : run.at("frameworks")) {
        named.tensors[name + "_" + framework] = tensor;
      }
    }
    all.push_back(std::move(named));
  }
  if (run.contains("grad_output") && golden.has("grad_output")) {
    add_layer_gradients(golden, layer, query.view(), key.view(), value.view(),
                        options, {"W_", "o", "queries", "keys", "values"},
                        all.back());
  }
}

std::vector<Computed> compute_d2l(const GoldenCase& golden) {
  const auto layer = layer_of(golden, "W_", "o");
  std::vector<Computed> all;
  for (const auto& run : golden.json().at("runs")) {
    add_run(golden, layer, run, all);
  }
  return all;
}

// ---- The operation, alone. ----

// The tensors of a call, (B, L, H, D) each.
struct OperationInputs {
  TensorView<const float, 4> query;
  TensorView<const float, 4> key;
  TensorView<const float, 4> value;
};

// The output is (B, H, L, D) where `heads_first`, else (B, L, H, D).
std::vector<Computed> compute_operation(const OperationInputs& in,
                                        AttentionOptions options,
                                        bool heads_first) {
  const auto& [query, key, value] = in;
  const auto [B, Lq, Hq, D] = query.extents();
  options.attn_weights = AttnWeights::per_head;
  auto output = Tensor<float, 4>::create({B, Lq, Hq, value.extent(3)}).value();
  auto weights = Tensor<float, 4>::create({B, Hq, Lq, key.extent(1)}).value();
  auto lse = Tensor<float, 3>::create({B, Hq, Lq}).value();
  const auto laid_out = [&](const Tensor<float, 4>& blhd) {
    return got_of(
        copy_of(heads_first ? as_bhld(view_of(blhd)) : view_of(blhd)));
  };
  const auto computed = [&](const std::string& way) {
    return Computed{way,
                    {{"output", laid_out(output)},
                     {"weights", got_of(weights)},
                     {"lse", got_of(lse)}}};
  };
  const AttentionOutputs outputs{output.view(), weights.view(), lse.view()};
  std::vector<Computed> all;
  attention(query, key, value, outputs, options).value();
  all.push_back(computed("plain"));
  reference_attention<float>(query, key, value, outputs, options).value();
  all.push_back(computed("reference"));
  const auto steps = stepwise_attention(query, key, value, options).value();
  all.push_back({"stepwise",
                 {{"output", laid_out(steps.context)},
                  {"weights", got_of(steps.attn_weights)},
                  {"lse", got_of(steps.lse)}}});
  return all;
}

// [left, right] or null.
Mask window_of(const nlohmann::json& sides) {
  return sides.is_null() ? Mask()
                         : window(sides.at(0).get<std::int64_t>(),
                                  sides.at(1).get<std::int64_t>());
}

// ---- sdpa: (B, H, L, D). ----

// The cases' slopes are those of the paper.
void expect_usual_slopes(const Tensor<float, 1>& slopes) {
  const auto usual = alibi_slopes(slopes.size()).value();
  EXPECT_TRUE(same_bits(slopes, usual));
}

std::vector<Computed> compute_sdpa(const GoldenCase& golden) {
  const auto q = golden.floats<4>("q");  // (B, H, L, D)
  const auto k = golden.floats<4>("k");
  const auto v = golden.floats<4>("v");
  AttentionOptions options{.mask = window_of(golden.options().at("window")),
                           .scale = scale_of(golden, q.extent(3)),
                           .empty_rows = empty_rows_of(golden)};
  const auto& corner = golden.options().at("causal");
  if (!corner.is_null()) {
    options.mask = options.mask & causal();
  }
  // A window counts from the bottom right corner.
  if (corner == "bottom_right" || !golden.options().at("window").is_null()) {
    options.query_start = QueryStart::bottom_right();
  }
  Tensor<std::int64_t, 1> lengths;
  if (golden.options().at("valid_lens").get<bool>()) {
    lengths = golden.ints<1>("valid_lens");
    options.mask = options.mask & key_lengths(lengths.view());
  }
  Tensor<bool, 4> mask;
  if (golden.options().at("bool_mask").get<bool>()) {
    mask = golden.bools<4>("bool_mask");
    options.mask =
        options.mask & dense_of(mask, {Axis::B, Axis::H, Axis::Lq, Axis::Lkv});
  }
  if (const auto& softcap = golden.options().at("softcap");
      !softcap.is_null()) {
    options.softcap = softcap.get<double>();
  }
  Tensor<float, 4> bias;
  if (golden.options().at("bias").get<bool>()) {
    bias = golden.floats<4>("bias");
    options.bias = dense_of(bias, {Axis::B, Axis::H, Axis::Lq, Axis::Lkv});
  }
  Tensor<float, 1> slopes;
  if (golden.options().at("alibi").get<bool>()) {
    slopes = golden.floats<1>("alibi_slopes");
    expect_usual_slopes(slopes);
    options.alibi = view_of(slopes);
    // Their distance is |i + Lkv - Lq - j|.
    options.query_start = QueryStart::bottom_right();
  }
  auto all = compute_operation(
      {as_blhd(view_of(q)), as_blhd(view_of(k)), as_blhd(view_of(v))}, options,
      true);
  if (golden.has("grad_output")) {
    add_operation_gradients(golden, as_blhd(view_of(q)), as_blhd(view_of(k)),
                            as_blhd(view_of(v)), options, true, all.front());
  }
  return all;
}

// ---- jax_dpa: (B, L, H, D). ----

std::vector<Computed> compute_jax(const GoldenCase& golden) {
  const auto q = golden.floats<4>("q");
  const auto k = golden.floats<4>("k");
  const auto v = golden.floats<4>("v");
  AttentionOptions options{
      .mask = window_of(golden.options().at("local_window_size")),
      .scale = scale_of(golden, q.extent(3)),
      .empty_rows = empty_rows_of(golden)};
  if (golden.options().at("is_causal").get<bool>()) {
    options.mask = options.mask & causal();
  }
  // Rows past query_seq_lengths are zero: they see no key.
  Tensor<std::int64_t, 2> lengths;
  if (golden.options().at("query_seq_lengths").get<bool>()) {
    const auto query_lengths = golden.ints<1>("query_seq_lengths");
    const auto key_lengths_of = golden.ints<1>("key_value_seq_lengths");
    lengths =
        Tensor<std::int64_t, 2>::create({q.extent(0), q.extent(1)}).value();
    for (std::size_t b = 0; b < q.extent(0); ++b) {
      for (std::size_t i = 0; i < q.extent(1); ++i) {
        lengths(b, i) = static_cast<std::int64_t>(i) < query_lengths(b)
                            ? key_lengths_of(b)
                            : 0;
      }
    }
    options.mask = options.mask & key_lengths(lengths.view());
    options.empty_rows = EmptyRow::zero;
  }
  Tensor<bool, 4> mask;
  if (golden.has("mask")) {
    mask = golden.bools<4>("mask");
    options.mask =
        options.mask & dense_of(mask, {Axis::B, Axis::H, Axis::Lq, Axis::Lkv});
  }
  Tensor<float, 4> bias;
  if (golden.has("bias")) {
    bias = golden.floats<4>("bias");
    options.bias = dense_of(bias, {Axis::B, Axis::H, Axis::Lq, Axis::Lkv});
  }
  auto all = compute_operation({q.view(), k.view(), v.view()}, options, false);
  add_operation_gradients(golden, q.view(), k.view(), v.view(), options, false,
                          all.front());
  return all;
}

// ---- rope: (B, H, L, D), rotated by position. ----

std::vector<Computed> compute_rope(const GoldenCase& golden) {
  const auto& options = golden.options();
  const Rotary rotary =
      Rotary::create({.rotary_dim = options.at("rotary_dim").get<std::size_t>(),
                      .base = options.at("theta").get<double>(),
                      .layout = options.at("style") == "interleaved"
                                    ? RotaryLayout::interleaved
                                    : RotaryLayout::halves})
          .value();
  auto q = golden.floats<4>("q");  // (B, H, L, D)
  auto k = golden.floats<4>("k");
  const auto v = golden.floats<4>("v");
  const auto positions = golden.ints<2>("positions");
  const RotaryPositions at{.positions = positions};
  rotary.rotate(as_blhd(q), as_blhd(q), at).value();
  rotary.rotate(as_blhd(k), as_blhd(k), at).value();
  AttentionOptions call{.scale = scale_of(golden, q.extent(3))};
  if (!options.at("causal").is_null()) {
    call.mask = causal();
  }
  auto all = compute_operation(
      {as_blhd(view_of(q)), as_blhd(view_of(k)), as_blhd(view_of(v))}, call,
      true);
  add_operation_gradients(golden, as_blhd(view_of(q)), as_blhd(view_of(k)),
                          as_blhd(view_of(v)), call, true, all.front());
  for (const auto& [name, extents] :
       {std::pair("grad_q", q.extents()), {"grad_k", k.extents()}}) {
    Got& got = all.front().tensors.at(name);
    const TensorView<float, 4> gradient(got.elements.data(), extents);
    rotary.rotate_back(as_blhd(gradient), as_blhd(gradient), at).value();
  }
  const auto [B, L] = positions.extents();
  auto cos = Tensor<float, 3>::create({B, L, rotary.rotary_dim() / 2}).value();
  auto sin = Tensor<float, 3>::create(cos.extents()).value();
  for (std::size_t n = 0; n < B * L; ++n) {
    const std::size_t pairs = cos.extent(2);
    rotary
        .angles(positions.data()[n], {cos.data() + n * pairs, pairs},
                {sin.data() + n * pairs, pairs})
        .value();
  }
  all.push_back({"rotation",
                 {{"q_rotated", got_of(q)},
                  {"k_rotated", got_of(k)},
                  {"cos", got_of(cos)},
                  {"sin", got_of(sin)}}});
  return all;
}

}  // namespace

std::vector<Computed> compute(const GoldenCase& golden) {
  const std::string kind = golden.kind();
  if (kind == "token_mha") {
    return compute_tokens(golden);
  }
  if (kind == "step_mha") {
    return compute_steps(golden);
  }
  if (kind == "d2l_mha") {
    return compute_d2l(golden);
  }
  if (kind == "sdpa") {
    return compute_sdpa(golden);
  }
  if (kind == "jax_dpa") {
    return compute_jax(golden);
  }
  if (kind == "rope") {
    return compute_rope(golden);
  }
  if (kind == "additive") {
    return compute_additive(golden);
  }
  throw std::runtime_error("no way to compute a case of kind " + kind);
}

}  // namespace headwise::testing_support
