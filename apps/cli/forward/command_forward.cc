// headwise forward
// Token ids in, numbers out: what a model makes of them.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "headwise/interop/npy.h"
#include "headwise/interop/npz.h"
#include "headwise/transformer/transformer.h"
#include "operation/arithmetic_option.h"
#include "operation/read_tokens.h"
#include "shell/add_command.h"
#include "shell/error_of_option.h"
#include "shell/json.h"
#include "shell/models/attention_places.h"
#include "shell/output.h"
#include "shell/say.h"
#include "shell/threads.h"

namespace headwise::cli {
namespace {

constexpr CommandHelp kForwardHelp = {
    .name = "forward",
    .description = "run a model on token ids",
    .examples =
        R"(  headwise forward --model SmolLM2-135M --ids 504,4574,216
  headwise forward --model SmolLM2-135M.gguf --ids ids.json --logits logits.npy
  headwise forward --model DIR --ids 5,17,3 --attn-weights weights.npz)"};

struct ForwardFlags {
  CommandLine line;
  std::string model;
  std::string ids;
  std::string decoder_ids;
  std::string logits;
  std::string hidden;
  std::string attn_weights;
  std::string heads;
  std::string arithmetic;
  std::size_t threads = 0;  // 0: all
  bool json = false;
};

// What a pass gives besides the last hidden states.
struct ForwardParts {
  Tensor<float, 3> hidden{};  // (num_layers + 1, rows, hidden_size)
  std::map<std::string, Tensor<float, 4>> attn_weights{};  // by entry
};

ModelPass pass_into(const ForwardFlags& flags, std::size_t layers,
                    const Executor& executor, ForwardParts& parts) {
  ModelPass pass{.executor = &executor};
  if (!flags.hidden.empty()) {
    pass.see_entries = [&parts, layers](
                           std::size_t layer,
                           TensorView<const float, 3> x) -> Status {
      const auto [one, rows, E] = x.extents();
      if (layer == 0) {
        HEADWISE_ASSIGN(parts.hidden,
                        Tensor<float, 3>::create_unset({layers + 1, rows, E}));
      }
      std::copy_n(x.data(), rows * E, parts.hidden.data() + layer * rows * E);
      return ok();
    };
  }
  if (!flags.attn_weights.empty()) {
    pass.see_attn_weights = [&parts](
                                const AttentionPlace& place,
                                TensorView<const float, 4> weights) -> Status {
      HEADWISE_ASSIGN(auto copy,
                      Tensor<float, 4>::create_unset(weights.extents()));
      std::copy_n(weights.data(), copy.size(), copy.data());
      parts.attn_weights.emplace(name_of(place), std::move(copy));
      return ok();
    };
  }
  return pass;
}

// The likeliest next tokens of one row of logits.
Json likeliest_json(const float* logits, std::size_t vocab_size) {
  constexpr std::size_t kShown = 5;
  std::vector<std::size_t> ids(vocab_size);
  std::iota(ids.begin(), ids.end(), std::size_t{0});
  const std::size_t shown = std::min(kShown, vocab_size);
  std::partial_sort(
      ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(shown), ids.end(),
      [&](std::size_t a, std::size_t b) {
        return std::pair(-logits[a], a) < std::pair(-logits[b], b);
      });
  double sum = 0;
  for (std::size_t id = 0; id < vocab_size; ++id) {
    sum += std::exp(double{logits[id]} - logits[ids[0]]);
  }
  Json list = Json::array();
  for (std::size_t n = 0; n < shown; ++n) {
    list.push_back({{"id", ids[n]},
                    {"probability",
                     std::exp(double{logits[ids[n]]} - logits[ids[0]]) / sum}});
  }
  return list;
}

// The logits of a few rows at a time.
Status write_logits(const std::string& path, const Transformer& model,
                    const Tensor<float, 2>& hidden, const Executor& executor) {
  constexpr std::size_t kRows = 64;
  const auto [rows, size] = hidden.extents();
  Tensor<float, 2> logits;
  const auto make = [&, size = size](std::size_t first, std::size_t count)
      -> Result<TensorView<const float, 2>> {
    HEADWISE_ASSIGN(
        logits, model.logits({&hidden(first, 0), {count, size}}, &executor));
    return TensorView<const float, 2>(logits.view());
  };
  return write_npy_rows(path, {rows, model.shape().vocab_size}, kRows, make);
}

Status write_parts(const ForwardFlags& flags, const ForwardParts& parts) {
  if (!flags.hidden.empty()) {
    HEADWISE_TRY(write_npy(flags.hidden, parts.hidden.view()));
  }
  std::map<std::string, AnyView> entries;
  for (const auto& [entry, weights] : parts.attn_weights) {
    entries.emplace(entry, weights.view());
  }
  return flags.attn_weights.empty() ? ok()
                                    : write_npz(flags.attn_weights, entries);
}

// Of each sequence that has one.
Result<Tensor<float, 2>> last_rows(const RaggedTokens& ids,
                                   const Tensor<float, 2>& hidden) {
  std::vector<std::size_t> ends;
  std::size_t rows = 0;
  for (const auto& sequence : ids) {
    rows += sequence.size();
    if (!sequence.empty()) {
      ends.push_back(rows - 1);
    }
  }
  HEADWISE_ASSIGN(auto last, Tensor<float, 2>::create_unset(
                                 {ends.size(), hidden.extent(1)}));
  for (std::size_t n = 0; n < ends.size(); ++n) {
    std::copy_n(&hidden(ends[n], 0), hidden.extent(1), &last(n, 0));
  }
  return last;
}

// The likeliest tokens after each sequence, by the logits of its last row.
Json sequences_json(const RaggedTokens& ids, const Tensor<float, 2>& logits) {
  Json list = Json::array();
  std::size_t row = 0;
  for (const auto& sequence : ids) {
    Json item = {{"tokens", sequence.size()}};
    if (logits.size() != 0 && !sequence.empty()) {
      item["next"] = likeliest_json(&logits(row++, 0), logits.extent(1));
    }
    list.push_back(std::move(item));
  }
  return list;
}

std::string sequences_text(const Json& list) {
  std::string text;
  for (std::size_t n = 0; n < list.size(); ++n) {
    std::uint64_t tokens = 0;
    list[n].find("tokens")->get(tokens);
    const Json* const next = list[n].find("next");
    std::string likeliest;
    for (std::size_t k = 0; next != nullptr && k < next->size(); ++k) {
      double probability = 0;
      std::uint64_t id = 0;
      (*next)[k].find("id")->get(id);
      (*next)[k].find("probability")->get(probability);
      likeliest +=
          fmt::format("{}{} {:.3f}", k == 0 ? "" : ", ", id, probability);
    }
    text += likeliest.empty() ? say("sequence {}: {} tokens\n", n, tokens)
                              : say("sequence {}: {} tokens; next {}\n", n,
                                    tokens, likeliest);
  }
  return text;
}

Outcome run_forward(const ForwardFlags& flags, const Streams& streams) {
  if (flags.model.empty() || flags.ids.empty()) {
    return usage("give --model DIR and --ids IDS");
  }
  if (!flags.heads.empty() && flags.attn_weights.empty()) {
    return usage("--heads needs --attn-weights F.npz");
  }
  HEADWISE_TRY(flags.line.files().check());
  std::vector<AttentionPlace> heads;
  if (!flags.heads.empty()) {
    HEADWISE_ASSIGN(heads, parse_places("--heads", flags.heads));
  }
  HEADWISE_ASSIGN(const auto ids, read_ids_or_file("--ids", flags.ids));
  std::optional<RaggedTokens> decoder_ids;
  if (!flags.decoder_ids.empty()) {
    HEADWISE_ASSIGN(decoder_ids,
                    read_ids_or_file("--decoder-ids", flags.decoder_ids));
  }
  const auto model = Transformer::read(
      flags.model, {.arithmetic = arithmetic_of(flags.arithmetic)});
  if (!model) {
    return error_of_option("--model", model.error());
  }
  const TransformerShape& shape = model->shape();
  if (!flags.logits.empty() && !shape.has_logits) {
    return error_of_option(
        "--logits", Error{ErrorCode::unsupported,
                          {.given = message("a model of type {} has no logits",
                                            shape.family)}});
  }
  HEADWISE_ASSIGN(const auto executor, executor_with(flags.threads));
  ForwardParts parts;
  ModelPass pass = pass_into(flags, shape.num_layers, executor, parts);
  pass.heads = heads;
  pass.decoder_ids = decoder_ids ? &*decoder_ids : nullptr;
  const auto hidden = model->hidden(ids, pass);
  if (!hidden) {
    const std::string_view argument = hidden.error().details().argument;
    return error_of_option(argument.starts_with("decoder_ids") ? "--decoder-ids"
                           : argument.starts_with("heads")     ? "--heads"
                                                               : "--ids",
                           hidden.error());
  }
  if (!flags.hidden.empty()) {
    std::copy_n(hidden->data(), hidden->size(),
                parts.hidden.data() + parts.hidden.size() - hidden->size());
  }
  const RaggedTokens& shown = decoder_ids ? *decoder_ids : ids;
  if (!flags.logits.empty()) {
    HEADWISE_TRY(write_logits(flags.logits, *model, *hidden, executor));
  }
  HEADWISE_TRY(write_parts(flags, parts));
  Tensor<float, 2> logits;
  if (shape.has_logits) {
    HEADWISE_ASSIGN(const auto last, last_rows(shown, *hidden));
    HEADWISE_ASSIGN(logits, model->logits(last, &executor));
  }
  const Json sequences = sequences_json(shown, logits);
  return print(streams.out, flags.json
                                ? json_text(Json{{"model_type", shape.family},
                                                 {"sequences", sequences}})
                                : sequences_text(sequences));
}

void add_forward_options(const Arguments& command, ForwardFlags& flags) {
  command.keep_line(flags.line);
  command.add(
      {{"--model", &flags.model, input_file("DIR|FILE"),
        "the folder of a model, or a GGUF file"},
       {"--ids", &flags.ids, any_text("IDS|FILE"),
        "token ids, 5,17,3, or a file of sequences: JSON, or a line for each"},
       {"--decoder-ids", &flags.decoder_ids, any_text("IDS|FILE"),
        "of an encoder-decoder: what its decoder reads, a sequence for each of "
        "--ids"},
       {"--logits", &flags.logits, output_file("F.npy"),
        "write the logits of all tokens, (rows, vocab_size)"},
       {"--hidden", &flags.hidden, output_file("F.npy"),
        "write what enters each layer, and what the model gives: (layers + 1, "
        "rows, hidden_size)"},
       {"--attn-weights", &flags.attn_weights, output_file("F.npz"),
        "write the attention weights of each layer, (B, heads, Lq, Lkv); those "
        "of an encoder-decoder also as cross.LAYER and encoder.LAYER"},
       {"--heads", &flags.heads, any_text("HEADS"),
        "with --attn-weights: these heads alone, LAYER.HEAD, such as 3.1,7.2 "
        "or "
        "cross.3.1"},
       arithmetic_option(flags.arithmetic),
       threads_option(flags.threads),
       {"--json", &flags.json, flag(), "print JSON"}});
}

}  // namespace

void add_forward(const Arguments& app, Command& chosen) {
  add_command(app, chosen, kForwardHelp, add_forward_options, run_forward);
}

}  // namespace headwise::cli
