#include "viewed_heads.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <string_view>
#include <utility>

#include "operation/comma_parts.h"
#include "operation/models/unknown_tokens.h"
#include "operation/option_errors.h"
#include "shell/checks.h"
#include "shell/output.h"
#include "shell/say.h"

namespace headwise::cli {
namespace {

// Options for all heads: which heads to show and how.
constexpr std::array<std::string_view, 14> kOfHeads = {
    "--layers", "--threads", "--lang",     "--out",        "--open",
    "--svg",    "--png",     "--json",     "--csv",        "--head",
    "--sort",   "--title",   "--elements", "--no-elements"};
// Those that go with --model only. All others describe tensors.
constexpr std::array<std::string_view, 11> kOfModel = {
    "--model",      "TEXT",          "--pair",   "--texts",
    "--max-tokens", "--attribution", "--target", "--output-token",
    "--ablate",     "--against",     "--matched"};
// With --onnx: its own options, and options that describe its rows.
constexpr std::array<std::string_view, 9> kOfOnnx = {
    "--onnx",       "--data",          "--node",
    "--sequence",   "--query-tokens",  "--key-tokens",
    "--separators", "--query-lengths", "--memory-limit"};

// With --attn-weights.
constexpr std::array<std::string_view, 8> kOfWeights = {
    "--attn-weights", "--cross",      "--sequence",      "--query-tokens",
    "--key-tokens",   "--separators", "--query-lengths", "--query-start"};

// The first that was typed and is neither of these options nor kOfHeads.
template <std::size_t N>
auto find_other(const std::vector<std::string>& given,
                const std::array<std::string_view, N>& options) {
  return std::ranges::find_if(given, [&](const std::string& name) {
    return std::ranges::find(options, name) == options.end() &&
           std::ranges::find(kOfHeads, name) == kOfHeads.end();
  });
}

Status check_model_options(const ViewedFlags& flags) {
  const auto other = find_other(flags.given, kOfModel);
  if (other != flags.given.end()) {
    return usage_error(
        message("{} cannot be used with --model: the model folder defines the "
                "layers and masks, and the text gives the tokens",
                *other));
  }
  const std::pair<const char*, bool> texts[] = {
      {"TEXT", flags.text.has_value()},
      {"--pair", !flags.pair.empty()},
      {"--texts", !flags.texts.empty()}};
  const char* first = nullptr;
  for (const auto& [name, given] : texts) {
    if (given && first != nullptr) {
      return usage_error(
          message("{} and {} cannot be used together", first, name));
    }
    first = given ? name : first;
  }
  if (first == nullptr) {
    return option_error(
        "--model", "has no text",
        message("one: headwise {} --model DIR \"a sentence\"", flags.command));
  }
  return ok();
}

Status check_onnx_options(const ViewedFlags& flags) {
  const auto other = find_other(flags.given, kOfOnnx);
  if (other != flags.given.end()) {
    return usage_error(
        message("{} cannot be used with --onnx: the model defines the queries, "
                "keys, masks and scores",
                *other));
  }
  if (flags.data.empty()) {
    return usage_error("--onnx needs --data DIR");
  }
  if (!flags.node.empty() && !flags.layers.empty()) {
    return usage_error("--node and --layers cannot be used together");
  }
  return ok();
}

Status check_weights_options(const ViewedFlags& flags) {
  const auto other = find_other(flags.given, kOfWeights);
  if (other != flags.given.end()) {
    return usage_error(
        message("{} cannot be used with --attn-weights: the weights are "
                "computed already",
                *other));
  }
  return ok();
}

Status check_tensor_options(const ViewedFlags& flags) {
  if (flags.text) {
    return usage_error(message(
        "unexpected argument \"{}\": a text needs --model DIR", *flags.text));
  }
  for (const auto* option : {"--pair", "--texts", "--ablate", "--max-tokens"}) {
    if (std::ranges::find(flags.given, option) != flags.given.end()) {
      return usage_error(message("{} needs --model DIR", option));
    }
  }
  for (const auto* option : {"--data", "--node", "--memory-limit"}) {
    if (std::ranges::find(flags.given, option) != flags.given.end()) {
      return usage_error(message("{} needs --onnx MODEL.onnx", option));
    }
  }
  if (flags.query.empty() && flags.key.empty()) {
    return usage_error(
        "expected --model DIR \"a sentence\", --onnx MODEL.onnx and --data "
        "DIR, --attn-weights FILE, or --query F.npy and --key F.npy");
  }
  if (flags.query.empty() || flags.key.empty()) {
    return usage_error(flags.query.empty() ? "--key needs --query"
                                           : "--query needs --key");
  }
  const OperationFlags& operation = flags.operation;
  if (operation.additive() == operation.score_weight.empty()) {
    return usage_error(operation.additive()
                           ? "--scoring additive needs --score-weight"
                           : "--score-weight needs --scoring additive");
  }
  if (operation.additive() && operation.scale) {
    return usage_error(
        "--scale is for --scoring dot; additive scores have none");
  }
  return ok();
}

}  // namespace

Result<std::vector<std::size_t>> parse_layers(const std::string& list,
                                              std::size_t count) {
  std::vector<std::size_t> layers(count);
  std::iota(layers.begin(), layers.end(), std::size_t{0});
  if (list.empty()) {
    return layers;
  }
  std::vector<bool> wanted(count);
  for (const std::string_view part : comma_parts(list)) {
    const std::size_t dash = part.find('-');
    const auto first = number_in(part.substr(0, dash));
    const auto last = dash == std::string_view::npos
                          ? first
                          : number_in(part.substr(dash + 1));
    if (!first || !last || *first > *last || *last >= count) {
      return bad_option(
          "--layers", list,
          message("numbers from 0 to {}, such as 0 or 0,2-4", count - 1));
    }
    std::fill(wanted.begin() + static_cast<std::ptrdiff_t>(*first),
              wanted.begin() + static_cast<std::ptrdiff_t>(*last) + 1, true);
  }
  std::erase_if(layers, [&](std::size_t layer) { return !wanted[layer]; });
  return layers;
}

std::string nodes_text(const std::vector<ViewedNode>& nodes,
                       std::string_view before) {
  constexpr std::size_t kMost = 24;
  std::string text;
  for (std::size_t n = 0; n < std::min(nodes.size(), kMost); ++n) {
    text += fmt::format("{}{}{}: {}", n == 0 ? "" : ", ", before,
                        nodes[n].layer, nodes[n].name);
  }
  return text + (nodes.size() > kMost ? ", ..." : "");
}

std::optional<std::string> subtitle_of(const ViewedText& text) {
  return text.nodes.empty() ? text.text : nodes_text(text.nodes, say("layer "));
}

std::string cut_text(const ViewedText& text) {
  if (text.cut_tokens == 0) {
    return "";
  }
  return say("{0} token{4} cut off at the limit of {1} ({2}){3}",
             text.cut_tokens, text.max_tokens, one_line(text.max_tokens_from),
             text.max_tokens == text.most_tokens
                 ? ""
                 : say("; --max-tokens {} takes more", text.most_tokens),
             text.cut_tokens == 1 ? " was" : "s were");
}

std::string uneven_text(const ViewedText& text) {
  if (!text.uneven || text.uneven->rows.uneven == 0) {
    return "";
  }
  const UnevenRows& rows = text.uneven->rows;
  return say(
      "rows that do not sum to 1: {} of {}; the farthest sum is {:.4g} "
      "(layer {}, sequence {}, head {}, query {})",
      rows.uneven, rows.rows, rows.sum, text.uneven->layer, rows.sequence,
      rows.head, rows.query);
}

std::string left_out_text(const ViewedText& text) {
  std::string lines;
  if (text.sequences > 1 && !text.sequence) {
    lines += say("sequence 0 (0 to {}); --sequence chooses another\n",
                 text.sequences - 1);
  }
  if (text.uneven) {
    lines += text.uneven->nan;
  }
  if (text.uneven && text.uneven->zero != 0) {
    lines +=
        say("all weights are 0 in {0} of {1} rows (queries without a "
            "key)\n",
            text.uneven->zero, text.uneven->zero + text.uneven->rows.rows);
  }
  const std::string uneven = uneven_text(text);
  return uneven.empty() ? lines : lines + uneven + '\n';
}

void warn_of_unknown(std::span<const std::unique_ptr<ViewedHeads>> documents,
                     std::ostream& err) {
  std::vector<std::pair<std::string, UnknownTokens>> models;
  for (const auto& document : documents) {
    const ViewedText& text = document->text();
    if (!text.model || !text.nodes.empty() || text.variant) {
      continue;
    }
    auto found = std::ranges::find(models, *text.model,
                                   &decltype(models)::value_type::first);
    if (found == models.end()) {
      found = models.insert(found, {*text.model, {}});
    }
    for (const std::string& token : text.query_labels) {
      found->second.add(token);
    }
  }
  for (const auto& [model, tokens] : models) {
    warn_of_unknown(model, tokens, err);
  }
}

Result<std::unique_ptr<ViewedHeads>> read_viewed_heads(
    const ViewedFlags& flags) {
  if (!flags.model.empty()) {
    HEADWISE_TRY(check_model_options(flags));
    auto texts = read_viewed_sentences(flags);
    HEADWISE_TRY(texts);
    return std::move(texts->front());
  }
  if (!flags.onnx.empty()) {
    HEADWISE_TRY(check_onnx_options(flags));
    return read_viewed_nodes(flags);
  }
  if (const std::string option = flags.relating_option();
      flags.cross && !option.empty()) {
    return usage_error(message(
        "--cross cannot be used with {}, which relates positions", option));
  }
  if (!flags.attn_weights.empty()) {
    HEADWISE_TRY(check_weights_options(flags));
    return read_viewed_weights(flags);
  }
  HEADWISE_TRY(check_tensor_options(flags));
  return read_viewed_tensors(flags);
}

Result<ManyHeads> read_viewed_documents(const ViewedFlags& flags) {
  if (!flags.model.empty()) {
    HEADWISE_TRY(check_model_options(flags));
    return read_viewed_sentences(flags);
  }
  auto heads = read_viewed_heads(flags);
  HEADWISE_TRY(heads);
  ManyHeads documents;
  documents.push_back(*std::move(heads));
  return documents;
}

}  // namespace headwise::cli
