#include "headwise/inspect/step_table.h"

#include <algorithm>
#include <array>

#include "inspect/trace/formula_parts.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

using Parts = FormulaParts;
using Text = std::string;

struct Step {
  std::string_view name;
  Word StepWords::*operation;
  Text (*formula)(const Parts& parts);
};

Text text(std::string_view words) { return Text(words); }

Text scores(const Parts& of) {
  const Text query = of.at("q_heads", "h,i,d");
  const Text key = of.at_kv_head("k_heads", "d");
  return of.at("scores", "h,i,j") + " = " +
         (of.pass().additive
              ? "sum_d w_score.weight[h,d] * tanh(" + query + " + " + key + ")"
              : "scale * sum_d " + query + " * " + key);
}

Text value_projection(const Parts& of) {
  const std::string_view input = of.kv_input("value");
  return "v = " + (of.pass().value_proj
                       ? of.projected(input, "v", of.pass().v_bias)
                       : text(input));
}

Text output(const Parts& of) {
  return "output = " + (of.pass().out_proj
                            ? of.projected("merged", "o", of.pass().output_bias)
                            : "merged");
}

// In the order of a pass. The words are of the usual step; those of an unusual
// one are in operation_of().
constexpr std::array kSteps = {
    // Tokens.
    Step{"lengths", &StepWords::lengths,
         [](const Parts& of) {
           return "lengths[b] = " + text(of.words().token_count);
         }},
    Step{"padded", &StepWords::padded,
         [](const Parts& of) {
           return of.at("padded", "t") +
                  " = tokens[b][t] if t < lengths[b] else pad_id";
         }},
    Step{"embedded", &StepWords::embedded,
         [](const Parts& of) {
           return of.at("embedded", "t,:") + " = embedding.weight[" +
                  of.at("padded", "t") + ",:]";
         }},
    Step{"lengths_kv", &StepWords::lengths_kv,
         [](const Parts& of) {
           return "lengths_kv[b] = " + text(of.words().source_token_count);
         }},
    Step{"padded_kv", &StepWords::padded_kv,
         [](const Parts& of) {
           return of.at("padded_kv", "t") +
                  " = source[b][t] if t < lengths_kv[b] else pad_id";
         }},
    Step{"embedded_kv", &StepWords::embedded_kv,
         [](const Parts& of) {
           return of.at("embedded_kv", "t,:") + " = embedding.weight[" +
                  of.at("padded_kv", "t") + ",:]";
         }},

    // Vectors that are given.
    Step{"hidden", &StepWords::hidden,
         [](const Parts& of) { return of.hidden(); }},
    Step{"query", &StepWords::query,
         [](const Parts& of) { return "query: " + text(of.words().given); }},
    Step{"key", &StepWords::key,
         [](const Parts& of) { return "key: " + text(of.words().given); }},
    Step{"value", &StepWords::value,
         [](const Parts& of) { return "value: " + text(of.words().given); }},

    // Projections and heads.
    Step{"q", &StepWords::q,
         [](const Parts& of) {
           return "q = " +
                  of.projected(of.query_input(), "q", of.pass().q_bias);
         }},
    Step{"k", &StepWords::k,
         [](const Parts& of) {
           return "k = " +
                  of.projected(of.kv_input("key"), "k", of.pass().k_bias);
         }},
    Step{"v", &StepWords::v, value_projection},
    Step{"q_heads", &StepWords::q_heads,
         [](const Parts& of) {
           return of.at("q_heads", "h,i,d") + " = " + of.at("q", "i,h*D+d");
         }},
    Step{"k_heads", &StepWords::k_heads,
         [](const Parts& of) {
           return of.at("k_heads", "h,j,d") + " = " + of.at("k", "j,h*D+d");
         }},
    Step{"v_heads", &StepWords::v_heads,
         [](const Parts& of) {
           return of.at("v_heads", "h,j,d") + " = " + of.at("v", "j,h*Dv+d");
         }},

    // Scores.
    Step{"scores", &StepWords::scores, scores},
    Step{"capped_scores", &StepWords::capped_scores,
         [](const Parts& of) {
           return "capped_scores = softcap * tanh(" +
                  text(of.scores_before("capped_scores")) + " / softcap)";
         }},
    Step{"biased_scores", &StepWords::biased_scores,
         [](const Parts& of) {
           return "biased_scores = " + text(of.scores_before("biased_scores")) +
                  " + bias";
         }},
    Step{"alibi_scores", &StepWords::alibi_scores,
         [](const Parts& of) {
           return of.at("alibi_scores", "h,i,j") + " = " +
                  of.at(of.scores_before("alibi_scores"), "h,i,j") +
                  " - slopes[h] * |i + query_start - j|";
         }},

    // Masks.
    Step{"padding_mask", &StepWords::padding_mask,
         [](const Parts& of) {
           return of.at("padding_mask", "0,0,j") + " = " +
                  text(of.words().key_is_token);
         }},
    Step{"causal_mask", &StepWords::causal_mask,
         [](const Parts&) {
           return text("causal_mask[0,0,i,j] = j <= i + query_start");
         }},
    Step{"window_mask", &StepWords::window_mask,
         [](const Parts&) {
           return text(
               "window_mask[0,0,i,j] = p - left <= j <= p + right, p = i + "
               "query_start");
         }},
    Step{"key_starts_mask", &StepWords::key_starts_mask,
         [](const Parts& of) {
           return of.at("key_starts_mask", "0,0,j") + " = j >= key_starts[b]";
         }},
    Step{"documents_mask", &StepWords::documents_mask,
         [](const Parts& of) {
           return of.at("documents_mask", "0,i,j") + " = " +
                  of.at("query_ids", "i") + " == " + of.at("key_ids", "j");
         }},
    Step{"key_lengths_mask", &StepWords::key_lengths_mask,
         [](const Parts& of) {
           return of.at("key_lengths_mask", "0,i,j") + " = j < " +
                  of.words().either("key_lengths[b]", of.at("", "i"));
         }},
    Step{"dense_mask", &StepWords::dense_mask,
         [](const Parts& of) {
           return "dense_mask: " + text(of.words().given);
         }},
    Step{
        "mask", &StepWords::mask,
        [](const Parts& of) { return "mask = " + text(of.words().all_masks); }},
    Step{"masked_scores", &StepWords::masked_scores,
         [](const Parts& of) {
           return "masked_scores = " + text(of.scores_before("masked_scores")) +
                  " if " + text(of.mask()) + " else -inf";
         }},

    // Weights and output.
    Step{"attn_weights", &StepWords::attn_weights,
         [](const Parts& of) {
           return of.at("attn_weights", "h,i,:") + " = softmax(" +
                  of.at(of.scores_before("attn_weights"), "h,i,:") + ")";
         }},
    Step{"dropped_weights", &StepWords::dropped_weights,
         [](const Parts& of) {
           return "dropped_weights = " +
                  of.words().if_kept("attn_weights / (1 - p)");
         }},
    Step{"context", &StepWords::context,
         [](const Parts& of) {
           return of.at("context", "h,i,d") + " = sum_j " +
                  of.at(of.weights(), "h,i,j") + " * " +
                  of.at_kv_head("v_heads", "d");
         }},
    Step{"gated", &StepWords::gated,
         [](const Parts& of) {
           return of.at("gated", "h,i,d") + " = head_gates[h] * " +
                  of.at("context", "h,i,d");
         }},
    Step{"merged", &StepWords::merged,
         [](const Parts& of) {
           return of.at("merged", "i,h*Dv+d") + " = " +
                  of.at(of.head_outputs(), "h,i,d");
         }},
    Step{"output", &StepWords::output, output},
};

constexpr std::array kNames = [] {
  std::array<std::string_view, kSteps.size()> names{};
  std::ranges::transform(kSteps, names.begin(), &Step::name);
  return names;
}();

const Step* find(std::string_view name) {
  const auto* found = std::ranges::find(kSteps, name, &Step::name);
  return found == kSteps.end() ? nullptr : found;
}

Word StepWords::*operation_of(const Step& step, const StepContext& pass) {
  if (step.name == "scores" && pass.additive) {
    return &StepWords::additive_scores;
  }
  if (step.name == "v" && !pass.value_proj) {
    return &StepWords::v_not_projected;
  }
  if (step.name == "output" && !pass.out_proj) {
    return &StepWords::output_not_projected;
  }
  return step.operation;
}

}  // namespace

std::span<const std::string_view> step_names() { return kNames; }

std::string_view step_operation(std::string_view name,
                                const StepContext& pass) {
  const Step* const step = find(name);
  return step == nullptr
             ? std::string_view()
             : words_of(pass.language).steps.*operation_of(*step, pass);
}

std::string step_formula(std::string_view name, const StepContext& pass) {
  const Step* const step = find(name);
  return step == nullptr ? std::string() : step->formula(FormulaParts(pass));
}

}  // namespace headwise::inline HEADWISE_ABI
