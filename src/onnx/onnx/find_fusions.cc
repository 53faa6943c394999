#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "onnx/contrib_operators.h"
#include "onnx/fusion.h"
#include "onnx/graph.h"
#include "onnx/known_shapes.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

using Kind = FusionStep::Kind;

// Longer chains are not attention in any known export.
constexpr std::size_t kMostSteps = 16;

bool is_standard(const OnnxNode& node, std::string_view op) {
  return node.op == op && is_standard_domain(node.domain);
}

double factor_of(const OnnxNode& product) {
  return attribute_or<float>(product, "alpha", 1);
}

// A step that a node may be, and which of its inputs it changes.
struct StepChoice {
  FusionStep step;
  std::size_t input = 0;
};

std::string optional_input(const OnnxNode& node, std::size_t input) {
  return input < node.inputs.size() ? node.inputs[input] : std::string();
}

// Nodes that change no number, before the softmax or behind it.
std::vector<StepChoice> plain_steps(const OnnxNode& node) {
  if (is_standard(node, "Identity")) {
    return {{{.kind = Kind::identity}}};
  }
  if (is_standard(node, "Cast")) {
    return {{{.kind = Kind::cast,
              .number = attribute_or<std::int64_t>(node, "to", 0)}}};
  }
  if (is_standard(node, "Dropout")) {
    return {{{.kind = Kind::dropout, .operand = optional_input(node, 2)}}};
  }
  if (is_standard(node, "Flatten")) {
    return {{{.kind = Kind::flatten,
              .number = attribute_or<std::int64_t>(node, "axis", 1)}}};
  }
  if (is_standard(node, "Reshape")) {
    return {{{.kind = Kind::reshape,
              .operand = node.inputs[1],
              .number = attribute_or<std::int64_t>(node, "allowzero", 0)}}};
  }
  return {};
}

// Nodes that make scores of scores.
std::vector<StepChoice> score_steps(const OnnxNode& node) {
  if (is_standard(node, "Mul") || is_standard(node, "Add")) {
    const Kind kind = node.op == "Mul" ? Kind::multiply : Kind::add;
    return {{{.kind = kind, .operand = node.inputs[1]}, 0},
            {{.kind = kind, .operand = node.inputs[0]}, 1}};
  }
  if (is_standard(node, "Div")) {
    return {{{.kind = Kind::divide, .operand = node.inputs[1]}, 0}};
  }
  if (is_standard(node, "Tanh")) {
    return {{{.kind = Kind::tanh}}};
  }
  if (is_standard(node, "Where")) {
    return {{{.kind = Kind::fill_where_false,
              .operand = node.inputs[0],
              .fill = node.inputs[2]},
             1},
            {{.kind = Kind::fill_where_true,
              .operand = node.inputs[0],
              .fill = node.inputs[1]},
             2}};
  }
  return plain_steps(node);
}

class Finder {
 public:
  explicit Finder(const OnnxGraph& graph)
      : graph_(graph), shapes_(graph), claimed_(graph.nodes.size()) {
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
      const OnnxNode& node = graph.nodes[n];
      const bool shape = is_standard(node, "Shape") && node.attributes.empty();
      for (const std::string& input : node.inputs) {
        (shape ? shape_users_ : users_)[input].push_back(n);
      }
      for (const std::string& output : graph.nodes[n].outputs) {
        maker_[output] = n;
      }
    }
    for (const OnnxPort& output : graph.outputs) {
      users_[output.name].push_back(graph.nodes.size());
    }
  }

  std::vector<OnnxFusion> find() {
    std::vector<OnnxFusion> found;
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      auto fusion = is_product(graph_.nodes[n]) ? ending_in(n) : std::nullopt;
      if (fusion) {
        for (const std::size_t member : fusion->nodes) {
          claimed_[member] = true;
        }
        found.push_back(*std::move(fusion));
      }
    }
    return found;
  }

 private:
  // The node that makes a value, as its only one, which `users` nodes read.
  std::optional<std::size_t> maker_of(std::string_view value,
                                      std::size_t users = 1) const {
    const auto maker = maker_.find(value);
    if (maker == maker_.end() || claimed_[maker->second]) {
      return std::nullopt;
    }
    const OnnxNode& node = graph_.nodes[maker->second];
    const bool alone =
        std::ranges::count_if(node.outputs, [this](const std::string& output) {
          return !output.empty() &&
                 (users_.contains(output) || shape_users_.contains(output));
        }) == 1;
    const auto readers = users_.find(value);
    return alone && readers != users_.end() && readers->second.size() == users
               ? std::optional(maker->second)
               : std::nullopt;
  }

  std::optional<OnnxFusion> ending_in(std::size_t last) const {
    const OnnxNode& node = graph_.nodes[last];
    if (node.outputs.size() != 1 || factor_of(node) != 1 ||
        operand_of(node, 0).turn != OperandTurn()) {
      return std::nullopt;
    }
    OnnxFusion fusion{.nodes = {last}, .value = operand_of(node, 1)};
    if (!add_weights(node.inputs[0], fusion)) {
      return std::nullopt;
    }
    std::ranges::reverse(fusion.steps);
    bool whole = add_shapes_of(fusion.scores, fusion);
    for (std::size_t n = 0; n < fusion.steps.size(); ++n) {
      const std::string scores = fusion.steps[n].result;
      whole = whole && add_shapes_of(scores, fusion);
    }
    std::ranges::sort(fusion.nodes);
    return whole && sums_over_keys(fusion) ? std::optional(std::move(fusion))
                                           : std::nullopt;
  }

  // Adds what makes the weights, from the last node to the first.
  bool add_weights(std::string_view weights, OnnxFusion& fusion) const {
    std::optional<std::size_t> maker = maker_of(weights);
    while (maker && fusion.steps.size() < kMostSteps) {
      const OnnxNode& node = graph_.nodes[*maker];
      fusion.nodes.push_back(*maker);
      if (is_standard(node, "Softmax")) {
        fusion.steps.push_back(
            {.kind = Kind::softmax,
             .number = attribute_or<std::int64_t>(node, "axis", -1),
             .result = node.outputs[0]});
        return add_scores(node.inputs[0], fusion);
      }
      if (is_standard(node, "Where")) {
        maker = add_nan_test(node, fusion);
        continue;
      }
      auto steps = plain_steps(node);
      if (steps.empty()) {
        return false;
      }
      steps[0].step.result = node.outputs[0];
      fusion.steps.push_back(std::move(steps[0].step));
      maker = maker_of(node.inputs[0]);
    }
    return false;
  }

  // Adds the node that finds NaN for a Where which replaces it; the maker of
  // the weights that both read.
  std::optional<std::size_t> add_nan_test(const OnnxNode& where,
                                          OnnxFusion& fusion) const {
    const std::string& weights = where.inputs[2];
    const auto test = maker_of(where.inputs[0]);
    if (!test || shape_users_.contains(where.inputs[0]) ||
        !is_standard(graph_.nodes[*test], "IsNaN") ||
        graph_.nodes[*test].inputs[0] != weights) {
      return std::nullopt;
    }
    fusion.nodes.push_back(*test);
    fusion.steps.push_back({.kind = Kind::replace_nan,
                            .operand = where.inputs[1],
                            .result = where.outputs[0]});
    return maker_of(weights, 2);
  }

  // Adds what makes the scores, from the last node to the first.
  bool add_scores(std::string_view scores, OnnxFusion& fusion) const {
    const auto maker = maker_of(scores);
    if (!maker) {
      return false;
    }
    const OnnxNode& node = graph_.nodes[*maker];
    fusion.nodes.push_back(*maker);
    if (is_product(node)) {
      fusion.query = operand_of(node, 0);
      fusion.transposed_key = operand_of(node, 1);
      fusion.factor = factor_of(node);
      fusion.scores = scores;
      return true;
    }
    if (fusion.steps.size() < kMostSteps) {
      for (StepChoice& choice : score_steps(node)) {
        choice.step.result = node.outputs[0];
        fusion.steps.push_back(std::move(choice.step));
        if (add_scores(node.inputs[choice.input], fusion)) {
          return true;
        }
        fusion.steps.pop_back();
      }
    }
    fusion.nodes.pop_back();
    return false;
  }

  // Adds the nodes that read the shape of scores. False if the shape is used
  // for more than to give it back to later ones.
  bool add_shapes_of(const std::string& scores, OnnxFusion& fusion) const {
    const auto found = shape_users_.find(scores);
    if (found == shape_users_.end()) {
      return true;
    }
    for (const std::size_t n : found->second) {
      const std::string& shape = graph_.nodes[n].outputs[0];
      std::size_t given_back = 0;
      for (FusionStep& step : fusion.steps) {
        if (step.kind == Kind::reshape && step.operand == shape) {
          step.operand.clear();
          step.fill = scores;
          ++given_back;
        }
      }
      const auto users = users_.find(shape);
      if (shape_users_.contains(shape) ||
          given_back != (users == users_.end() ? 0 : users->second.size())) {
        return false;
      }
      fusion.nodes.push_back(n);
    }
    return true;
  }

  // Whether the softmax can be along the axis of the keys: the last one, which
  // no node changes.
  bool sums_over_keys(const OnnxFusion& fusion) const {
    const auto keys = shapes_.extent(fusion.scores, -1);
    std::optional<std::size_t> rank = rank_of(fusion.scores);
    rank = rank ? rank : rank_of(fusion.query.name);
    for (const FusionStep& step : fusion.steps) {
      const auto last = shapes_.extent(step.result, -1);
      if (keys && last && *keys != *last) {
        return false;
      }
      const bool moves =
          step.kind == Kind::reshape || step.kind == Kind::flatten;
      const auto known = rank_of(step.result);
      rank = known || moves ? known : rank;
      if (step.kind == Kind::softmax && step.number != -1 &&
          (step.number < 0 ||
           (rank && step.number != static_cast<std::int64_t>(*rank) - 1))) {
        return false;
      }
    }
    return true;
  }

  std::optional<std::size_t> rank_of(std::string_view value) const {
    const KnownShape* shape = shapes_.of(value);
    return shape == nullptr ? std::nullopt : std::optional(shape->size());
  }

  const OnnxGraph& graph_;
  const KnownShapes shapes_;
  std::vector<bool> claimed_;
  std::map<std::string_view, std::size_t> maker_;
  // A graph output counts as a user behind all nodes. Those that read only the
  // shape are apart.
  std::map<std::string_view, std::vector<std::size_t>> users_;
  std::map<std::string_view, std::vector<std::size_t>> shape_users_;
};

}  // namespace

bool is_product(const OnnxNode& node) {
  return is_standard(node, "MatMul") ||
         (node.op == "FusedMatMul" && node.domain == kContribDomain);
}

FusionOperand operand_of(const OnnxNode& product, std::size_t input) {
  const auto is_set = [&product](std::string_view name) {
    return attribute_or<std::int64_t>(product, name, 0) != 0;
  };
  return {product.inputs[input],
          {.matrix = is_set(input == 0 ? "transA" : "transB"),
           .batch = is_set(input == 0 ? "transBatchA" : "transBatchB")}};
}

std::vector<OnnxFusion> find_fusions(const OnnxGraph& graph) {
  const bool any = std::ranges::any_of(graph.nodes, [](const OnnxNode& node) {
    return is_standard(node, "Softmax");
  });
  return any ? Finder(graph).find() : std::vector<OnnxFusion>();
}

}  // namespace headwise::inline HEADWISE_ABI
