#include "inspect_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "operation/layer_choice.h"
#include "shell/error_text.h"
#include "shell/output.h"
#include "shell/quantity_text.h"
#include "shell/say.h"
#include "shell/terminal_text.h"
#include "tensor_groups.h"

namespace headwise::cli {
namespace {

std::string files_text(const ParamInspection& inspection) {
  std::string text;
  for (const InspectedFile& file : inspection.files) {
    text += say("File: {}, {} bytes{}\n", one_line(file.path), file.bytes,
                file.bytes < 1024
                    ? ""
                    : fmt::format(" ({})",
                                  bytes_text(static_cast<double>(file.bytes))));
    if (!file.sha256.empty()) {
      text += fmt::format("  SHA-256 {}\n", file.sha256);
    }
  }
  for (const std::string& entry : inspection.skipped) {
    text += say("Skipped: {}, not an array\n", one_line(entry));
  }
  for (const auto& [key, value] : inspection.metadata) {
    text += say("Metadata: {} = {}\n", one_line(key), one_line(value));
  }
  return text;
}

// "12 heads of 32 features (config.json)"
std::string heads_text(const InspectedLayer& layer) {
  const LayerShapes& shapes = layer.shapes;
  if (!shapes.num_heads) {
    return say("number of heads unknown: the shapes do not give it, and {}",
               error_text(*layer.why_no_heads));
  }
  std::string text =
      say("{} head{}", *shapes.num_heads, *shapes.num_heads == 1 ? "" : "s");
  if (*shapes.num_heads > 0) {
    text += say(" of {} features",
                shapes.params.at("w_q.weight")[0] / *shapes.num_heads);
  }
  if (shapes.num_kv_heads && shapes.num_kv_heads != shapes.num_heads) {
    text += say(", {} key/value heads", *shapes.num_kv_heads);
  }
  const std::string& from = layer.heads_from;
  return text + (from == "shapes" ? say(" (from the shapes)")
                 : from == "file" ? say(" (from the file)")
                                  : say(" (from {})", from));
}

// "embed_dim 384", or each size where they differ.
std::string sizes_text(const LayerShapes& shapes) {
  const auto size = [&](const char* name, std::size_t axis) {
    const auto found = shapes.params.find(name);
    return found == shapes.params.end() ? 0 : found->second[axis];
  };
  const std::size_t query = size("w_q.weight", 1);
  const std::size_t key = size("w_k.weight", 1);
  const std::size_t value = size("w_v.weight", 1);
  const bool out_proj = shapes.params.contains("w_o.weight");
  const std::size_t output =
      out_proj ? size("w_o.weight", 0) : size("w_v.weight", 0);
  std::string text =
      query == key && query == value && query == output
          ? fmt::format("embed_dim {}", query)
          : fmt::format("query_dim {}, key_dim {}, value_dim {}, output {}",
                        query, key, value, output);
  if (size("w_q.weight", 0) != size("w_v.weight", 0) && !shapes.num_heads) {
    text += say(", query features {}, value features {}", size("w_q.weight", 0),
                size("w_v.weight", 0));
  }
  const bool biases = shapes.params.contains("w_q.bias");
  return text + (out_proj ? "" : say(", no output projection")) +
         (biases ? "" : say(", no biases"));
}

// A line for each run of layers that are alike.
std::string layers_text(const std::vector<InspectedLayer>& layers) {
  std::string text;
  for (std::size_t first = 0; first < layers.size();) {
    std::vector<std::size_t> numbers;
    std::size_t next = first;
    while (next < layers.size() &&
           layers[next].shapes == layers[first].shapes) {
      numbers.push_back(layers[next++].number);
    }
    text += say("Layer{} {}: {}, {}\n", numbers.size() == 1 ? "" : "s",
                ranges_text(numbers), sizes_text(layers[first].shapes),
                heads_text(layers[first]));
    first = next;
  }
  return text;
}

std::string layout_text(const ParamInspection& inspection) {
  if (!inspection.layout) {
    // Tensor by tensor on a line of its own.
    std::string why = error_text(*inspection.why_no_layout);
    for (std::size_t at = why.find("; "); at != std::string::npos;
         at = why.find("; ", at)) {
      why.replace(at, 2, "\n  ");
    }
    return say("Layout: none\n  {}\n", why);
  }
  const LayoutMatch& match = *inspection.layout;
  const std::string prefix =
      match.prefix.empty() ? "" : say(" with the prefix \"{}\"", match.prefix);
  return say("Layout: {}{}, {} attention layer{}\n{}", match.layout->name,
             prefix, match.layers.size(), match.layers.size() == 1 ? "" : "s",
             layers_text(inspection.layers));
}

std::string totals_text(const ParamInspection& inspection) {
  const std::size_t all = inspection.parameters;
  const std::size_t attention = inspection.attention_parameters;
  std::string text = say("Parameters: {}", all);
  if (attention > 0 && all > 0) {
    text +=
        say(", {} in attention layers ({:.1f}%)", attention,
            100.0 * static_cast<double>(attention) / static_cast<double>(all));
  }
  return text + say("\nTensors: {}, {}\n", inspection.tensors.size(),
                    bytes_text(static_cast<double>(inspection.tensor_bytes)));
}

// Name, type, shape and bytes.
using Cells = std::array<std::string, 4>;

Cells cells_of(const TensorGroup& group, const TensorRow& row) {
  return {(group.numbers.empty() ? "  " : "    ") + one_line(row.name),
          std::string(name_of(row.dtype)),
          fmt::format("({})", fmt::join(row.shape, ", ")),
          std::to_string(row.bytes)};
}

// Aligned as far as names and shapes are not very long.
std::array<std::size_t, 4> widths_of(const Cells& titles,
                                     const std::vector<TensorGroup>& groups) {
  constexpr std::size_t kWidestName = 42;
  constexpr std::size_t kWidestShape = 20;
  std::array<std::size_t, 4> widths{};
  std::ranges::transform(titles, widths.begin(), columns_of);
  for (const TensorGroup& group : groups) {
    for (const TensorRow& row : group.rows) {
      const Cells cells = cells_of(group, row);
      for (std::size_t c = 0; c < cells.size(); ++c) {
        widths[c] = std::max(widths[c], cells[c].size());
      }
    }
  }
  widths[0] = std::min(widths[0], kWidestName);
  widths[2] = std::min(widths[2], kWidestShape);
  return widths;
}

std::string tensors_text(const std::vector<TensorGroup>& groups) {
  const Cells titles = {say("  name"), say("type"), say("shape"), say("bytes")};
  const auto widths = widths_of(titles, groups);
  const auto line = [&](const Cells& cells) {
    return fmt::format("{:<{}}  {:<{}}  {:<{}}  {:>{}}\n", cells[0], widths[0],
                       cells[1], widths[1], cells[2], widths[2], cells[3],
                       widths[3]);
  };
  std::string text = line(titles);
  for (const TensorGroup& group : groups) {
    if (!group.numbers.empty()) {
      text += say("  {}N, N = {}, each with:\n", one_line(group.before),
                  ranges_text(group.numbers));
    }
    for (const TensorRow& row : group.rows) {
      text += line(cells_of(group, row));
    }
  }
  return text;
}

// Each tensor by its whole name.
std::vector<TensorGroup> ungrouped(const ParamEntries& entries) {
  TensorGroup group;
  for (const auto& [name, entry] : entries) {
    group.rows.push_back({name, entry.dtype, entry.shape, entry.bytes});
  }
  return {group};
}

}  // namespace

std::string inspect_text(const ParamInspection& inspection, bool all_tensors) {
  return files_text(inspection) + layout_text(inspection) +
         totals_text(inspection) +
         tensors_text(all_tensors ? ungrouped(inspection.tensors)
                                  : group_tensors(inspection.tensors));
}

}  // namespace headwise::cli
