#include "viewed_heads.h"

#include <fmt/format.h>

#include <algorithm>
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

using enum OptionRule::Kind;

// Options for all heads: which heads to show and how.
constexpr std::string_view kOfHeads =
    "--layers|--threads|--lang|--out|--open|--svg|--png|--json|--csv|--head|"
    "--sort|--title|--elements|--no-elements";

// The rule, with kOfHeads among the options that it allows.
Status check_only(const ViewedFlags& flags, OptionRule rule) {
  const std::string allowed = fmt::format("{}|{}", kOfHeads, rule.others);
  rule.others = allowed;
  return flags.line.check({&rule, 1});
}

constexpr OptionRule kTextRules[] = {{"TEXT", apart, "--pair"},
                                     {"TEXT", apart, "--texts"},
                                     {"--pair", apart, "--texts"}};

Status check_model_options(const ViewedFlags& flags) {
  HEADWISE_TRY(check_only(
      flags,
      {"--model", only,
       "--model|TEXT|--pair|--texts|--decoder-text|--part|--max-tokens|"
       "--attribution|--target|--output-token|--ablate|--against|--matched",
       "the model folder defines the layers and masks, and the text gives the "
       "tokens"}));
  HEADWISE_TRY(flags.line.check(kTextRules));
  if (flags.line.first_of("TEXT|--pair|--texts").empty()) {
    return option_error(
        "--model", "has no text",
        message("one: headwise {} --model DIR \"a sentence\"", flags.command));
  }
  return ok();
}

constexpr OptionRule kOnnxRules[] = {{"--onnx", needs, "--data", "--data DIR"},
                                     {"--node", apart, "--layers"}};

Status check_onnx_options(const ViewedFlags& flags) {
  HEADWISE_TRY(check_only(
      flags, {"--onnx", only,
              "--onnx|--data|--node|--sequence|--query-tokens|--key-tokens|"
              "--separators|--query-lengths|--memory-limit",
              "the model defines the queries, keys, masks and scores"}));
  return flags.line.check(kOnnxRules);
}

Status check_weights_options(const ViewedFlags& flags) {
  return check_only(flags,
                    {"--attn-weights", only,
                     "--attn-weights|--cross|--sequence|--query-tokens|"
                     "--key-tokens|--separators|--query-lengths|--query-start",
                     "the weights are computed already"});
}

constexpr OptionRule kCrossRules[] = {
    {"--causal|--window|--query-start|--t5-bias|--alibi", never, "--cross",
     "--cross cannot be used with {}, which relates positions"}};

constexpr OptionRule kTensorRules[] = {
    {"--pair|--texts|--decoder-text|--part|--ablate|--max-tokens", needs,
     "--model", "--model DIR"},
    {"--data|--node|--memory-limit", needs, "--onnx", "--onnx MODEL.onnx"},
    {"", always, "--query|--key",
     "expected --model DIR \"a sentence\", --onnx MODEL.onnx and --data DIR, "
     "--attn-weights FILE, or --query F.npy and --key F.npy"},
    {"--key", needs, "--query"},
    {"--query", needs, "--key"},
    {"--scoring additive", needs, "--score-weight"},
    {"--score-weight", needs, "--scoring additive"},
    {"--scale", never, "--scoring additive",
     "--scale is for --scoring dot; additive scores have none"}};

Status check_tensor_options(const ViewedFlags& flags) {
  if (flags.text) {
    return usage_error(message(
        "unexpected argument \"{}\": a text needs --model DIR", *flags.text));
  }
  return flags.line.check(kTensorRules);
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
    const bool again = text.cross || (text.variant && document->text_model());
    if (!text.model || !text.nodes.empty() || again) {
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

Status check_one_part(const ManyHeads& documents) {
  return documents.size() > 1 && documents.back()->text().cross
             ? option_error("--part", "is missing",
                            "encoder, decoder or cross: the heads of an "
                            "encoder-decoder are on a page of view together")
             : ok();
}

Result<std::unique_ptr<ViewedHeads>> read_viewed_heads(
    const ViewedFlags& flags) {
  if (!flags.model.empty()) {
    HEADWISE_TRY(check_model_options(flags));
    HEADWISE_ASSIGN(auto texts, read_viewed_sentences(flags));
    HEADWISE_TRY(check_one_part(texts));
    return std::move(texts.front());
  }
  if (!flags.onnx.empty()) {
    HEADWISE_TRY(check_onnx_options(flags));
    return read_viewed_nodes(flags);
  }
  HEADWISE_TRY(flags.line.check(kCrossRules));
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
  HEADWISE_ASSIGN(auto heads, read_viewed_heads(flags));
  ManyHeads documents;
  documents.push_back(std::move(heads));
  return documents;
}

}  // namespace headwise::cli
