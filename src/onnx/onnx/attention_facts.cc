#include "onnx/attention_facts.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "onnx/attention_call.h"
#include "onnx/contrib_operators.h"
#include "onnx/known_shapes.h"
#include "onnx/operators.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

using Count = std::optional<std::size_t>;

Count count(const OnnxNode& node, std::string_view name) {
  const auto given = attribute_or<std::int64_t>(node, name, 0);
  return given < 1 ? Count() : Count(static_cast<std::size_t>(given));
}

bool flag(const OnnxNode& node, std::string_view name, bool otherwise = false) {
  return attribute_or<std::int64_t>(node, name, otherwise ? 1 : 0) != 0;
}

bool has(const OnnxNode& node, std::size_t input) {
  return input < node.inputs.size() && !node.inputs[input].empty();
}

// Features of one head, where both numbers are known.
Count per_head(Count features, Count heads) {
  return features && heads && *heads > 0 && *features % *heads == 0
             ? *features / *heads
             : Count();
}

void add_scale(const OnnxNode& node, OnnxAttentionNode& facts) {
  const auto* given = attribute_as<float>(node, "scale");
  if (given != nullptr && (*given != 0 || node.domain != kContribDomain)) {
    facts.scale = *given;
  } else if (facts.head_size.value_or(0) > 0) {
    facts.scale = 1 / std::sqrt(static_cast<double>(*facts.head_size));
  }
}

void add_standard(const OnnxNode& node, const KnownShapes& shapes,
                  OnnxAttentionNode& facts) {
  using In = AttentionInput;
  const auto& query = node.inputs[In::query];
  const auto& key = node.inputs[In::key];
  const auto& value = node.inputs[In::value];
  const KnownShape* shape = shapes.of(query);
  const bool merged = count(node, "q_num_heads").has_value() &&
                      (shape == nullptr || shape->size() == 3);
  facts.query_heads =
      merged ? count(node, "q_num_heads") : shapes.extent(query, -3);
  facts.key_heads =
      merged ? count(node, "kv_num_heads") : shapes.extent(key, -3);
  const auto size = [&](const std::string& name, Count heads) {
    const Count features = shapes.extent(name, -1);
    return merged ? per_head(features, heads) : features;
  };
  facts.head_size = size(query, facts.query_heads);
  facts.value_size = size(value, facts.key_heads);
  add_scale(node, facts);
  facts.causal = flag(node, "is_causal");
  facts.mask = has(node, In::mask) || has(node, In::lengths);
}

// Features of Q, K or V of MultiHeadAttention: as they are, packed, or with
// heads apart.
Count contrib_size(const KnownShapes& shapes, const std::string& name,
                   Count heads) {
  const KnownShape* shape = shapes.of(name);
  if (shape == nullptr || shape->size() < 3) {
    return {};
  }
  return shape->size() == 3 ? per_head(shape->back(), heads) : shape->back();
}

void add_multi_head(const OnnxNode& node, const KnownShapes& shapes,
                    OnnxAttentionNode& facts) {
  facts.query_heads = facts.key_heads = count(node, "num_heads");
  facts.head_size = contrib_size(shapes, node.inputs[0], facts.query_heads);
  facts.value_size =
      has(node, 2) ? contrib_size(shapes, node.inputs[2], facts.query_heads)
                   : facts.head_size;
  add_scale(node, facts);
  facts.causal = flag(node, "unidirectional");
  facts.mask = has(node, 4) || has(node, 5);
}

// Heads of Q, K and V together, where the sum is a number.
Count packed_heads(Count query, Count key) {
  constexpr std::size_t kMost = std::numeric_limits<std::size_t>::max() / 4;
  return query && key && *query <= kMost && *key <= kMost
             ? Count(*query + 2 * *key)
             : Count();
}

void add_group_query(const OnnxNode& node, const KnownShapes& shapes,
                     OnnxAttentionNode& facts) {
  facts.query_heads = count(node, "num_heads");
  facts.key_heads = count(node, "kv_num_heads");
  const bool packed = !has(node, 1);
  const Count heads = packed ? packed_heads(facts.query_heads, facts.key_heads)
                             : facts.query_heads;
  facts.head_size = facts.value_size =
      contrib_size(shapes, node.inputs[0], heads);
  add_scale(node, facts);
  facts.causal = flag(node, "causal", true);
  facts.mask = has(node, 10);
}

void add_contrib_attention(const OnnxNode& node, const KnownShapes& shapes,
                           OnnxAttentionNode& facts) {
  facts.query_heads = facts.key_heads = count(node, "num_heads");
  const auto* widths =
      attribute_as<std::vector<std::int64_t>>(node, "qkv_hidden_sizes");
  const Count all = shapes.extent(node.inputs[1], 1);
  const auto width = [&](std::size_t n) -> Count {
    if (widths == nullptr) {
      return per_head(all, 3);
    }
    return n < widths->size() && (*widths)[n] > 0
               ? Count(static_cast<std::size_t>((*widths)[n]))
               : Count();
  };
  facts.head_size = per_head(width(0), facts.query_heads);
  facts.value_size = per_head(width(2), facts.query_heads);
  add_scale(node, facts);
  facts.causal = flag(node, "unidirectional");
  facts.mask = has(node, 3) || has(node, 5);
}

using AddFacts = void (*)(const OnnxNode&, const KnownShapes&,
                          OnnxAttentionNode&);

AddFacts facts_of(const OnnxNode& node) {
  return node.domain != kContribDomain      ? add_standard
         : node.op == "MultiHeadAttention"  ? add_multi_head
         : node.op == "GroupQueryAttention" ? add_group_query
                                            : add_contrib_attention;
}

using Makers = std::map<std::string_view, const OnnxNode*>;

Makers makers_of(const OnnxGraph& graph) {
  Makers makers;
  for (const OnnxNode& node : graph.nodes) {
    for (const std::string& output : node.outputs) {
      makers[output] = &node;
    }
  }
  return makers;
}

// A factor that depends on the token or the feature is not part of the scale.
bool varies(const KnownShapes& shapes, const std::string& value) {
  const KnownShape* shape = shapes.of(value);
  return shape != nullptr && std::ranges::any_of(*shape, [](Count extent) {
           return extent && *extent != 1;
         });
}

// Operators that move elements.
bool moves(std::string_view op) {
  return is_one_of(op, "Cast", "Expand", "Gather", "Identity", "Reshape",
                   "Slice", "Split", "Squeeze", "Transpose", "Unsqueeze");
}

// Operators that end a projection, a rotation or a cache: factors before them
// are part of the query or the key.
bool makes_query(std::string_view op) {
  return is_one_of(op, "Add", "Concat", "Gemm", "LayerNormalization", "MatMul",
                   "RMSNormalization", "RotaryEmbedding",
                   "SimplifiedLayerNormalization", "Sub");
}

// The constant factors between a value and what it is made of; no value for
// one that is not constant.
std::optional<double> factor_before(const Makers& makers,
                                    const KnownShapes& shapes,
                                    std::string_view value) {
  constexpr int kMostNodes = 16;  // twice those of the exports that are known
  double factor = 1;
  for (int n = 0; n < kMostNodes; ++n) {
    const auto maker = makers.find(value);
    if (maker == makers.end() || makes_query(maker->second->op)) {
      return factor;
    }
    const OnnxNode& node = *maker->second;
    if (moves(node.op) || node.op == "Neg") {
      factor = node.op == "Neg" ? -factor : factor;
      value = node.inputs[0];
      continue;
    }
    const bool divides = node.op == "Div";
    if (!divides && node.op != "Mul") {
      return std::nullopt;
    }
    std::size_t scalar = 1;
    auto known = shapes.number(node.inputs[1]);
    if (!known && !divides) {
      scalar = 0;
      known = shapes.number(node.inputs[0]);
    }
    if (!known) {
      const bool both =
          varies(shapes, node.inputs[0]) && varies(shapes, node.inputs[1]);
      return both ? std::optional(factor) : std::nullopt;
    }
    factor = divides ? factor / *known : factor * *known;
    value = node.inputs[1 - scalar];
  }
  return std::nullopt;
}

std::optional<double> scale_of(const Makers& makers, const KnownShapes& shapes,
                               const OnnxFusion& fusion) {
  const auto query = factor_before(makers, shapes, fusion.query.name);
  const auto key = factor_before(makers, shapes, fusion.transposed_key.name);
  if (!query || !key) {
    return std::nullopt;
  }
  double scale = *query * *key * fusion.factor;
  for (const FusionStep& step : fusion.steps) {
    const bool divides = step.kind == FusionStep::Kind::divide;
    if (divides || step.kind == FusionStep::Kind::multiply) {
      const auto factor = shapes.number(step.operand);
      if (!factor) {
        return std::nullopt;
      }
      scale = divides ? scale / *factor : scale * *factor;
    }
  }
  return scale;
}

// Of (B, H, L, D); values of fewer axes have 1 head, as they run
// (fusion_tensors.cc), unless the scores get an axis of heads.
Count heads_of(const KnownShapes& shapes, const OnnxFusion& fusion,
               const FusionOperand& operand) {
  const auto shape = shapes.of(operand);
  for (const FusionStep& step : fusion.steps) {
    const KnownShape* scores = shapes.of(step.result);
    if (shape && shape->size() < 4 && scores != nullptr &&
        scores->size() == 4) {
      return (*scores)[1];
    }
  }
  return !shape              ? Count()
         : shape->size() < 4 ? Count(1)
                             : (*shape)[shape->size() - 3];
}

Count size_of_head(const KnownShapes& shapes, const FusionOperand& operand) {
  const auto shape = shapes.of(operand);
  return shape && !shape->empty() ? shape->back() : Count();
}

OnnxAttentionNode facts_of_fusion(const Makers& makers,
                                  const KnownShapes& shapes,
                                  const OnnxFusion& fusion) {
  OnnxAttentionNode facts{.pattern = "MatMul-Softmax-MatMul"};
  facts.query_heads = heads_of(shapes, fusion, fusion.query);
  facts.key_heads = heads_of(shapes, fusion, fusion.value);
  facts.head_size = size_of_head(shapes, fusion.query);
  facts.value_size = size_of_head(shapes, fusion.value);
  facts.scale = scale_of(makers, shapes, fusion);
  facts.mask = std::ranges::any_of(fusion.steps, [](const FusionStep& step) {
    return step.kind == FusionStep::Kind::add ||
           step.kind == FusionStep::Kind::fill_where_true ||
           step.kind == FusionStep::Kind::fill_where_false;
  });
  return facts;
}

}  // namespace

std::vector<std::size_t> attention_numbers(const OnnxGraph& graph) {
  std::vector<std::size_t> numbers;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    if (is_attention(graph.nodes[n])) {
      numbers.push_back(n);
    }
  }
  for (const OnnxFusion& fusion : graph.fusions) {
    numbers.push_back(fusion.nodes.back());
  }
  std::ranges::sort(numbers);
  return numbers;
}

std::vector<OnnxAttentionNode> find_attention_nodes(const OnnxGraph& graph) {
  const KnownShapes shapes(graph);
  const Makers makers = makers_of(graph);
  std::map<std::size_t, const OnnxFusion*> fusion_ending_in;
  for (const OnnxFusion& fusion : graph.fusions) {
    fusion_ending_in[fusion.nodes.back()] = &fusion;
  }
  std::vector<OnnxAttentionNode> found;
  for (const std::size_t n : attention_numbers(graph)) {
    const OnnxNode& node = graph.nodes[n];
    OnnxAttentionNode facts;
    if (const auto fusion = fusion_ending_in.find(n);
        fusion != fusion_ending_in.end()) {
      facts = facts_of_fusion(makers, shapes, *fusion->second);
    } else {
      facts.pattern =
          node.domain == kContribDomain ? node.domain + " " + node.op : node.op;
      facts_of(node)(node, shapes, facts);
    }
    facts.name = node.name.empty() ? "#" + std::to_string(n) : node.name;
    found.push_back(std::move(facts));
  }
  return found;
}

}  // namespace headwise::inline HEADWISE_ABI
