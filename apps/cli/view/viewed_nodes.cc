// The heads of an ONNX model; each attention node is a layer.
#include <fmt/format.h>

#include <array>
#include <utility>

#include "headwise/interop/file_subject.h"
#include "headwise/onnx/attention.h"
#include "headwise/onnx/model.h"
#include "headwise/run/executor.h"
#include "operation/option_errors.h"
#include "shell/checks.h"
#include "shell/onnx_data.h"
#include "shell/outcome.h"
#include "shell/terminal_text.h"
#include "shell/threads.h"
#include "tensor_heads.h"
#include "viewed_heads.h"

namespace headwise::cli {
namespace {

// The model's nodes, by their numbers.
std::vector<ViewedNode> named(const std::vector<OnnxAttentionNode>& nodes) {
  constexpr std::size_t kColumns = 60;
  std::vector<ViewedNode> result;
  for (const OnnxAttentionNode& node : nodes) {
    result.push_back({result.size(),
                      fmt::format("{} ({})", cut_to(shown(node.name), kColumns),
                                  shown(node.pattern))});
  }
  return result;
}

// The node with this name, or else with this number.
Result<std::vector<std::size_t>> find_node(
    const std::string& asked, const std::vector<OnnxAttentionNode>& nodes) {
  std::vector<std::size_t> found;
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    if (nodes[n].name == asked) {
      found.push_back(n);
    }
  }
  if (found.size() > 1) {
    return bad_option(
        "--node", asked,
        message("a node number, because nodes {} and {} share this name",
                found[0], found[1]));
  }
  if (found.empty()) {
    const auto number = number_in(asked);
    if (!number || *number >= nodes.size()) {
      return bad_option("--node", asked,
                        message("one of {}", nodes_text(named(nodes))));
    }
    found.push_back(*number);
  }
  return found;
}

class ViewedNodes : public TensorHeads {
 public:
  ViewedNodes(const ViewedFlags& flags, Executor executor)
      : TensorHeads(flags), file_(flags.onnx), executor_(std::move(executor)) {}

  Status read(const ViewedFlags& flags);

  AttentionOptions options() const override {
    AttentionOptions options = seen_.front().options();
    options.executor = &executor_;
    return options;
  }
  Status visit(SeenParts parts, const SeeLayer& see) const override;

 private:
  Extents<4> query_extents() const override {
    return seen_.front().query().extents();
  }
  Extents<4> key_extents() const override {
    return seen_.front().key().extents();
  }
  Status choose(const ViewedFlags& flags, const OnnxModel& model);
  Status check_alike() const;
  Error about(std::size_t n, const Error& error) const;

  std::string file_;
  Executor executor_;
  std::vector<OnnxAttention> seen_;  // one for each layer
};

// Which nodes are shown.
Status ViewedNodes::choose(const ViewedFlags& flags, const OnnxModel& model) {
  HEADWISE_ASSIGN(const auto nodes, model.attention_nodes());
  if (nodes.empty()) {
    return FileSubject{"--onnx", file_}.bad_data("contains no attention nodes");
  }
  HEADWISE_ASSIGN(layers_, flags.node.empty()
                               ? parse_layers(flags.layers, nodes.size())
                               : find_node(flags.node, nodes));
  const std::vector<ViewedNode> all = named(nodes);
  for (const std::size_t layer : layers_) {
    text_.nodes.push_back(all[layer]);
  }
  return ok();
}

// All layers of a page have the same lengths, mask and scale.
Status ViewedNodes::check_alike() const {
  const auto sizes = [](const OnnxAttention& node) {
    const auto query = node.query();
    return std::array{query.extent(0), query.extent(1), query.extent(3),
                      node.key().extent(1)};
  };
  for (std::size_t n = 1; n < seen_.size(); ++n) {
    const bool same_sizes = sizes(seen_[n]) == sizes(seen_[0]);
    if (!same_sizes || !seen_[n].same_options(seen_[0])) {
      const std::string& first = text_.nodes[0].name;
      return FileSubject{"--onnx", file_, text_.nodes[n].name}.error(
          ErrorCode::unsupported,
          same_sizes ? message("has a different mask or scale from {}", first)
                     : message("has different sizes from {}", first),
          message("one node with --node, or matching nodes with --layers: {}",
                  nodes_text(text_.nodes)));
    }
  }
  return ok();
}

// An error of the library that says about which node it is.
Error ViewedNodes::about(std::size_t n, const Error& error) const {
  const ErrorDetails& details = error.details();
  if (details.operation.empty() || details.argument == "page") {
    return error;  // about an option; about the page as a whole
  }
  if (details.argument.starts_with("statistics.")) {
    return in_option_words(error, {});
  }
  return FileSubject{"", file_, text_.nodes[n].name}.blame(error);
}

Status ViewedNodes::read(const ViewedFlags& flags) {
  HEADWISE_ASSIGN(const auto model, OnnxModel::read(flags.onnx));
  HEADWISE_TRY(choose(flags, model));
  HEADWISE_ASSIGN(auto data, OnnxData::read(flags.data, model));
  HEADWISE_ASSIGN(seen_, model.attention(data.inputs, layers_, &executor_,
                                         memory_limit_of(flags.memory_limit)));
  HEADWISE_TRY(check_alike());
  HEADWISE_TRY(read_statistics(flags, /*batched=*/true));
  const auto shape = check();
  if (!shape) {
    return about(0, shape.error());
  }
  text_.model = flags.onnx;
  return read_labels(flags, *shape, seen_.front().relates_positions());
}

Status ViewedNodes::visit(SeenParts parts, const SeeLayer& see) const {
  for (std::size_t n = 0; n < seen_.size(); ++n) {
    const auto query = seen_[n].query();
    const auto key = seen_[n].key();
    const std::vector<TracedStep> listed =
        parts.steps ? list(query, key, /*rotated=*/false)
                    : std::vector<TracedStep>();
    const ViewedLayer layer{
        .number = layers_[n], .query = query, .key = key, .steps = listed};
    const Status s = see({layer, KeptHeads::all(query.extent(2))});
    if (!s) {
      return about(n, s.error());
    }
  }
  return ok();
}

}  // namespace

Result<std::unique_ptr<ViewedHeads>> read_viewed_nodes(
    const ViewedFlags& flags) {
  HEADWISE_ASSIGN(auto executor, executor_with(flags.operation.threads));
  auto seen = std::make_unique<ViewedNodes>(flags, std::move(executor));
  HEADWISE_TRY(seen->read(flags));
  return std::unique_ptr<ViewedHeads>(std::move(seen));
}

}  // namespace headwise::cli
