#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "onnx/fusion.h"
#include "onnx/graph.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

// Longer chains are not attention in any known export.
constexpr std::size_t kMostSteps = 6;

bool is_standard(const OnnxNode& node, std::string_view op) {
  return node.op == op && (node.domain.empty() || node.domain == "ai.onnx");
}

class Finder {
 public:
  explicit Finder(const OnnxGraph& graph)
      : graph_(graph), claimed_(graph.nodes.size()) {
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
      for (const std::string& input : graph.nodes[n].inputs) {
        users_[input].push_back(n);
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
      auto fusion = is_standard(graph_.nodes[n], "Softmax")
                        ? around(n)
                        : std::optional<OnnxFusion>();
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
  // The node that makes a value which only one node reads.
  std::optional<std::size_t> maker_of(std::string_view value) const {
    const auto maker = maker_.find(value);
    const auto users = users_.find(value);
    const bool inner = maker != maker_.end() && users != users_.end() &&
                       users->second.size() == 1 && !claimed_[maker->second] &&
                       graph_.nodes[maker->second].outputs.size() == 1;
    return inner ? std::optional(maker->second) : std::nullopt;
  }

  std::optional<OnnxFusion> around(std::size_t softmax) const {
    const OnnxNode& node = graph_.nodes[softmax];
    if (node.outputs.size() != 1 || claimed_[softmax]) {
      return std::nullopt;
    }
    OnnxFusion fusion{.nodes = {softmax},
                      .query = {},
                      .transposed_key = {},
                      .value = {},
                      .steps = {}};
    const std::string& weights = add_nan_fill(node.outputs[0], fusion);
    const auto maker = maker_of(weights);
    const std::size_t last =
        maker ? users_.at(weights).front() : graph_.nodes.size();
    if (last == graph_.nodes.size() || claimed_[last] ||
        !is_standard(graph_.nodes[last], "MatMul") ||
        graph_.nodes[last].outputs.size() != 1 ||
        graph_.nodes[last].inputs[0] != weights) {
      return std::nullopt;
    }
    fusion.nodes.push_back(last);
    fusion.value = graph_.nodes[last].inputs[1];
    for (const OnnxAttribute& attribute : node.attributes) {
      const auto* axis = std::get_if<std::int64_t>(&attribute.value);
      if (axis == nullptr) {
        return std::nullopt;
      }
      fusion.softmax_axis = *axis;
    }
    if (!add_scores(node.inputs[0], fusion)) {
      return std::nullopt;
    }
    std::ranges::sort(fusion.nodes);
    std::ranges::reverse(fusion.steps);
    return fusion;
  }

  // Adds the two nodes that replace weights which are NaN; the weights behind
  // them, or those given.
  const std::string& add_nan_fill(const std::string& weights,
                                  OnnxFusion& fusion) const {
    const auto users = users_.find(weights);
    if (users == users_.end() || users->second.size() != 2 ||
        users->second[1] == graph_.nodes.size()) {
      return weights;
    }
    const OnnxNode& test = graph_.nodes[users->second[0]];
    const OnnxNode& where = graph_.nodes[users->second[1]];
    if (!is_standard(test, "IsNaN") || !is_standard(where, "Where") ||
        where.outputs.size() != 1 || where.inputs[2] != weights ||
        maker_of(where.inputs[0]) != users->second[0]) {
      return weights;
    }
    fusion.nodes.insert(fusion.nodes.end(), users->second.begin(),
                        users->second.end());
    fusion.nan_fill = where.inputs[1];
    return where.outputs[0];
  }

  // Adds what makes the scores, from the last node to the first.
  bool add_scores(std::string_view scores, OnnxFusion& fusion) const {
    const auto maker = maker_of(scores);
    if (!maker) {
      return false;
    }
    const OnnxNode& node = graph_.nodes[*maker];
    fusion.nodes.push_back(*maker);
    if (is_standard(node, "MatMul")) {
      fusion.query = node.inputs[0];
      fusion.transposed_key = node.inputs[1];
      return true;
    }
    using Kind = FusionStep::Kind;
    if (fusion.steps.size() < kMostSteps) {
      if (is_standard(node, "Mul") || is_standard(node, "Add")) {
        const Kind kind = node.op == "Mul" ? Kind::multiply : Kind::add;
        if (add_step({kind, node.inputs[1]}, node.inputs[0], fusion) ||
            add_step({kind, node.inputs[0]}, node.inputs[1], fusion)) {
          return true;
        }
      } else if (is_standard(node, "Div")) {
        if (add_step({Kind::divide, node.inputs[1]}, node.inputs[0], fusion)) {
          return true;
        }
      } else if (is_standard(node, "Where")) {
        const std::string& condition = node.inputs[0];
        if (add_step({Kind::fill_where_false, condition, node.inputs[2]},
                     node.inputs[1], fusion) ||
            add_step({Kind::fill_where_true, condition, node.inputs[1]},
                     node.inputs[2], fusion)) {
          return true;
        }
      }
    }
    fusion.nodes.pop_back();
    return false;
  }

  bool add_step(FusionStep step, std::string_view scores,
                OnnxFusion& fusion) const {
    fusion.steps.push_back(std::move(step));
    if (add_scores(scores, fusion)) {
      return true;
    }
    fusion.steps.pop_back();
    return false;
  }

  const OnnxGraph& graph_;
  std::vector<bool> claimed_;
  std::map<std::string_view, std::size_t> maker_;
  // A graph output counts as a user behind all nodes.
  std::map<std::string_view, std::vector<std::size_t>> users_;
};

}  // namespace

std::vector<OnnxFusion> find_fusions(const OnnxGraph& graph) {
  const bool any = std::ranges::any_of(graph.nodes, [](const OnnxNode& node) {
    return is_standard(node, "Softmax");
  });
  return any ? Finder(graph).find() : std::vector<OnnxFusion>();
}

}  // namespace headwise::inline HEADWISE_ABI
