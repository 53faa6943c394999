#include "onnx/layer_graph.h"

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "headwise/steps/norm_heads.h"
#include "headwise/steps/rotary.h"
#include "onnx/graph_builder.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

// The heads of the queries, or of the keys and values.
struct Heads {
  std::size_t count = 0;
  std::size_t size = 0;
};

// ONNX multiplies by (in, out), a layer's weight is (out, in).
Array transposed(TensorView<const float, 2> weight) {
  const auto [out, in] = weight.extents();
  Array array = float_array({in, out});
  const std::span<float> elements = floats_of(array);
  for (std::size_t o = 0; o < out; ++o) {
    for (std::size_t i = 0; i < in; ++i) {
      elements[i * out + o] = weight(o, i);
    }
  }
  return array;
}

Array constants(std::size_t size, float value) {
  Array array = float_array({size});
  std::ranges::fill(floats_of(array), value);
  return array;
}

class LayerGraph {
 public:
  LayerGraph(const MultiHeadAttention& layer, const OnnxLayerOptions& options)
      : config_(layer.config()),
        params_(*layer.params()),
        options_(options),
        self_attention_(!options.cross_attention &&
                        config_.kdim == config_.query_dim &&
                        config_.vdim == config_.query_dim) {}

  Result<WrittenGraph> build() && {
    add_ports();
    if (config_.num_heads == 0) {
      add_constant_output();
    } else {
      add_queries();
      add_keys();
      if (config_.rotary) {
        HEADWISE_TRY(rotate());
      }
      add_values();
      share_keys();
      attend();
    }
    return std::move(graph_).finish();
  }

 private:
  std::string key_length() const {
    return self_attention_ ? "length" : "key_length";
  }

  void add_ports() {
    graph_.add_input("query", DType::float32,
                     {"batch", "length", *config_.query_dim});
    if (!self_attention_) {
      graph_.add_input("key", DType::float32,
                       {"batch", "key_length", *config_.kdim});
      graph_.add_input("value", DType::float32,
                       {"batch", "key_length", *config_.vdim});
    }
    if (options_.mask != OnnxMask::none) {
      graph_.add_input(
          "attn_mask",
          options_.mask == OnnxMask::boolean ? DType::boolean : DType::float32,
          {"mask_batch", "mask_heads", "length", key_length()});
    }
    if (config_.rotary) {
      graph_.add_input("position_ids", DType::int64, {"batch", "length"});
      if (!self_attention_) {
        graph_.add_input("key_position_ids", DType::int64,
                         {"batch", "key_length"});
      }
    }
    graph_.add_output("output", DType::float32,
                      {"batch", "length", config_.embed_dim});
  }

  // A layer whose heads were all pruned: the bias of its output projection in
  // every row.
  void add_constant_output() {
    const Linear& w_o = *params_.w_o;
    Array bias = w_o.has_bias() ? float_array(w_o.bias())
                                : constants(config_.embed_dim, 0);
    graph_.add_node("Shape", {"query"}, "rows", {{"end", std::int64_t{2}}});
    const auto size = static_cast<std::int64_t>(config_.embed_dim);
    graph_.add_node("Concat", {"rows", graph_.integers("embed_dim", {size})},
                    "output_shape", {{"axis", std::int64_t{0}}});
    graph_.add_node(
        "Expand",
        {graph_.add_tensor("w_o.bias", std::move(bias)), "output_shape"},
        "output");
  }

  void project(const std::string& x, const std::string& name,
               const Linear& linear, const std::string& y) {
    const std::string weight =
        graph_.add_tensor(name + ".weight.T", transposed(linear.weight()));
    if (!linear.has_bias()) {
      graph_.add_node("MatMul", {x, weight}, y);
      return;
    }
    graph_.add_node("MatMul", {x, weight}, y + "_product");
    const std::string bias =
        graph_.add_tensor(name + ".bias", float_array(linear.bias()));
    graph_.add_node("Add", {y + "_product", bias}, y);
  }

  void add_queries() {
    project("query", "w_q", params_.w_q, "queries");
    queries_ = "queries";
    if (params_.q_norm) {
      normalise("q_norm", *params_.q_norm, query_heads(), queries_);
    }
  }

  void add_keys() {
    project(self_attention_ ? "query" : "key", "w_k", params_.w_k, "keys");
    keys_ = "keys";
    if (params_.k_norm) {
      normalise("k_norm", *params_.k_norm, key_heads(), keys_);
    }
  }

  void add_values() {
    const std::string value = self_attention_ ? "query" : "value";
    if (params_.w_v) {
      project(value, "w_v", *params_.w_v, "values");
    }
    values_ = params_.w_v ? "values" : value;
  }

  Heads query_heads() const { return {config_.num_heads, *config_.head_dim}; }
  Heads key_heads() const { return {*config_.num_kv_heads, *config_.head_dim}; }

  // (batch, length, heads * size) to (batch, length, heads, size).
  std::string split(const std::string& x, const Heads& heads) {
    return reshape(x, x + "_split", {heads.count, heads.size});
  }

  std::string merge(const std::string& x, const Heads& heads) {
    return reshape(x, x + "_merged", {heads.count * heads.size});
  }

  // `axes`: behind batch and length, which stay.
  std::string reshape(const std::string& x, const std::string& y,
                      std::initializer_list<std::size_t> axes) {
    std::vector<std::int64_t> shape{0, 0};
    for (const std::size_t extent : axes) {
      shape.push_back(static_cast<std::int64_t>(extent));
    }
    return graph_.add_node("Reshape", {x, graph_.integers(y + "_shape", shape)},
                           y);
  }

  // ONNX normalises with weights for the last axis alone; those of each head
  // are multiplied afterwards.
  void normalise(const std::string& name, const HeadNormParams& params,
                 const Heads& heads, std::string& x) {
    const QkNorm& norm = *config_.qk_norm;
    const bool per_head = norm.over != NormOver::projection;
    const bool weights_apart = norm.over == NormOver::each_head;
    const std::size_t features =
        per_head ? heads.size : heads.count * heads.size;
    Array weight = float_array(params.weight.view());
    if (norm.plus_one) {
      for (float& each : floats_of(weight)) {
        each = 1 + each;
      }
    }
    const std::string weights =
        graph_.add_tensor(name + ".weight", std::move(weight));
    std::string scale = weights;
    if (weights_apart) {
      scale = graph_.add_tensor(name + ".ones", constants(features, 1));
    }
    std::vector<std::string> inputs{per_head ? split(x, heads) : x, scale};
    std::optional<std::string> bias;
    if (params.bias.size() != 0) {
      bias = graph_.add_tensor(name + ".bias", float_array(params.bias.view()));
    }
    if (bias && !weights_apart) {
      inputs.push_back(*bias);
    }
    const std::string normalised = graph_.add_node(
        norm.kind == NormKind::rms ? "RMSNormalization" : "LayerNormalization",
        inputs, x + "_normalised",
        {{"axis", std::int64_t{-1}},
         {"epsilon", static_cast<float>(norm.eps)}});
    x = per_head ? merge(normalised, heads) : normalised;
    if (weights_apart) {
      x = graph_.add_node("Mul", {x, weights}, x + "_scaled");
    }
    if (bias && weights_apart) {
      x = graph_.add_node("Add", {x, *bias}, x + "_shifted");
    }
  }

  // The layer's cosines or sines, (positions, rotary_dim / 2).
  Status add_angles() {
    const Rotary& rotary = *config_.rotary;
    const std::size_t half = rotary.rotary_dim() / 2;
    const auto positions = static_cast<std::size_t>(
        std::min<std::uint64_t>(options_.positions, rotary.positions()));
    Array cos = float_array({positions, half});
    Array sin = float_array({positions, half});
    for (std::size_t row = 0; row < positions; ++row) {
      HEADWISE_TRY(rotary.angles(static_cast<std::int64_t>(row),
                                 floats_of(cos).subspan(row * half, half),
                                 floats_of(sin).subspan(row * half, half)));
    }
    graph_.add_tensor("cos", std::move(cos));
    graph_.add_tensor("sin", std::move(sin));
    return ok();
  }

  void rotate_heads(const Heads& heads, const std::string& position_ids,
                    std::string& x) {
    const Rotary& rotary = *config_.rotary;
    const bool interleaved = rotary.layout() == RotaryLayout::interleaved;
    x = graph_.add_node("RotaryEmbedding", {x, "cos", "sin", position_ids},
                        x + "_rotated",
                        {{"interleaved", std::int64_t{interleaved ? 1 : 0}},
                         {"num_heads", static_cast<std::int64_t>(heads.count)},
                         {"rotary_embedding_dim",
                          static_cast<std::int64_t>(rotary.rotary_dim())}});
  }

  Status rotate() {
    HEADWISE_TRY(add_angles());
    rotate_heads(query_heads(), "position_ids", queries_);
    rotate_heads(key_heads(),
                 self_attention_ ? "position_ids" : "key_position_ids", keys_);
    return ok();
  }

  // ONNX requires equal groups, so every query head gets its own copy.
  void share_keys() {
    attention_kv_heads_ = *config_.num_kv_heads;
    if (config_.kv_group_sizes.empty()) {
      return;
    }
    std::vector<std::int64_t> key_head_of_query_head;
    for (std::size_t g = 0; g < config_.kv_group_sizes.size(); ++g) {
      key_head_of_query_head.insert(key_head_of_query_head.end(),
                                    config_.kv_group_sizes[g],
                                    static_cast<std::int64_t>(g));
    }
    const std::string indices =
        graph_.integers("key_head_of_query_head", key_head_of_query_head);
    for (auto [x, size] : {std::pair(&keys_, *config_.head_dim),
                           {&values_, *config_.v_head_dim}}) {
      const std::string shared = graph_.add_node(
          "Gather", {split(*x, {*config_.num_kv_heads, size}), indices},
          *x + "_shared", {{"axis", std::int64_t{2}}});
      *x = merge(shared, {config_.num_heads, size});
    }
    attention_kv_heads_ = config_.num_heads;
  }

  void attend() {
    std::vector<std::string> inputs{queries_, keys_, values_};
    if (options_.mask != OnnxMask::none) {
      inputs.emplace_back("attn_mask");
    }
    GraphBuilder::Attributes attributes{
        {"is_causal", std::int64_t{options_.causal ? 1 : 0}},
        {"kv_num_heads", static_cast<std::int64_t>(attention_kv_heads_)},
        {"q_num_heads", static_cast<std::int64_t>(config_.num_heads)}};
    if (options_.scale) {
      attributes.emplace_back("scale", static_cast<float>(*options_.scale));
    }
    if (options_.softcap) {
      attributes.emplace_back("softcap", static_cast<float>(*options_.softcap));
    }
    const std::string context = params_.w_o ? "context" : "output";
    graph_.add_node("Attention", inputs, context, attributes);
    if (params_.w_o) {
      project(context, "w_o", *params_.w_o, "output");
    }
  }

  const MultiHeadAttentionConfig& config_;
  const MultiHeadAttentionParams& params_;
  const OnnxLayerOptions& options_;
  bool self_attention_;
  std::size_t attention_kv_heads_ = 0;
  std::string queries_{};  // the values that the next step takes
  std::string keys_{};
  std::string values_{};
  GraphBuilder graph_{"multi_head_attention", 23};
};

}  // namespace

Result<WrittenGraph> layer_graph(const MultiHeadAttention& layer,
                                 const OnnxLayerOptions& options) {
  return LayerGraph(layer, options).build();
}

}  // namespace headwise::inline HEADWISE_ABI
