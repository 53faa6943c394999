#include "headwise/inspect/trace.h"

#include <algorithm>
#include <array>
#include <vector>

#include "inspect/trace/formula_parts.h"
#include "steps/mask_words.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

using Parts = FormulaParts;
using Text = std::string;

struct Step {
  std::string_view name;
  Word StepWords::*operation;
  Text (*formula)(const Parts& parts);  // null: the next one
  std::string_view of_batch = {};       // does not depend on the pass
};

Text text(std::string_view words) { return Text(words); }

Text scores(const Parts& of) {
  const Text query = of.at(of.queries(), "h,i,d");
  const Text key = of.at_kv_head(of.keys(), "d");
  return of.at("scores", "h,i,j") + " = " +
         (of.pass().additive
              ? "sum_d w_score.weight[h,d] * tanh(" + query + " + " + key + ")"
              : "scale * sum_d " + query + " * " + key);
}

Text rotated(const Parts& of, std::string_view step, std::string_view heads,
             std::string_view row) {
  const Text all = "h," + text(row) + ",:";
  return of.at(step, all) + " = rotate(" + of.at(heads, all) +
         "): x1 * cos - x2 * sin, x2 * cos + x1 * sin";
}

// "(x - mean(x)) / sqrt(var(x) + eps) * q_norm.weight + q_norm.bias".
Text normed(const Parts& of, char side, std::string_view row) {
  const QkNorm& norm = of.pass().qk_norm;
  const bool joint = norm.over == NormOver::projection;
  const Text name = Text(1, side) + "_norm";
  const Text own = norm.over == NormOver::each_head ? "[h,:]" : "";
  const Text weight = name + ".weight" + own;
  const Text all = (joint ? ":," : "h,") + text(row) + ",:";
  const Text x = joint ? of.at(Text(1, side), text(row) + ",:")
                       : of.at(Text(1, side) + "_heads", all);
  return of.at(Text(1, side) + "_normed", all) + " = " +
         (norm.kind == NormKind::rms ? "x / sqrt(mean(x^2) + eps)"
                                     : "(x - mean(x)) / sqrt(var(x) + eps)") +
         " * " + (norm.plus_one ? "(1 + " + weight + ")" : weight) +
         (norm.bias ? " + " + name + ".bias" + own : "") + ", x = " + x;
}

Text appended(const Parts& of, std::string_view step, std::string_view cached,
              std::string_view row) {
  return of.at(step, "h,:,:") + " = concat(" + of.at(cached, "h,:,:") + ", " +
         of.at(row, "h,:,:") + ")";
}

// The rows of the added keys or values, `learned` among them if there is one.
Text with_added(const Parts& of, std::string_view step,
                std::string_view of_tokens, std::string_view learned) {
  return of.at(step, "h,:,:") + " = concat(" + of.at(of_tokens, "h,:,:") +
         of.added(learned) + ")";
}

Text value_projection(const Parts& of) {
  const std::string_view input = of.kv_input("value");
  return "v = " + (of.pass().value_proj
                       ? of.projected(input, "v", of.pass().v_bias)
                       : text(input));
}

// The sink joins the softmax and leaves it again.
Text weights(const Parts& of) {
  const Text scores = of.at(of.scores_before("attn_weights"), "h,i,:");
  return of.at("attn_weights", "h,i,:") + " = softmax(" +
         (of.has("sinks") ? "[" + scores + ", sinks[h]])[:-1]" : scores + ")");
}

Text output(const Parts& of) {
  return "output = " + (of.pass().out_proj
                            ? of.projected("merged", "o", of.pass().output_bias)
                            : "merged");
}

// In the order of a pass. The words are those of the usual step; operation_of()
// has those of unusual ones.
constexpr std::array kSteps = {
    // Tokens.
    Step{"lengths", &StepWords::lengths,
         [](const Parts& of) {
           return "lengths[b] = " + text(of.words().token_count);
         }},
    Step{"padded", &StepWords::padded, nullptr,
         "padded[b,t] = tokens[b][t] if t < lengths[b] else pad_id"},
    Step{"embedded", &StepWords::embedded,
         [](const Parts& of) {
           return of.at("embedded", "t,:") + " = embedding.weight[" +
                  of.at(of.first_of({"new_token"}, "padded"), "t") + ",:]";
         }},
    Step{"lengths_kv", &StepWords::lengths_kv,
         [](const Parts& of) {
           return "lengths_kv[b] = " + text(of.words().source_token_count);
         }},
    Step{"padded_kv", &StepWords::padded_kv, nullptr,
         "padded_kv[b,t] = source[b][t] if t < lengths_kv[b] else pad_id"},
    Step{"embedded_kv", &StepWords::embedded_kv, nullptr,
         "embedded_kv[b,t,:] = embedding.weight[padded_kv[b,t],:]"},

    // Given vectors.
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
                  of.projected(
                      of.first_of({"query", "hidden", "embedded"}, "query"),
                      "q", of.pass().q_bias);
         }},
    Step{"k", &StepWords::k,
         [](const Parts& of) {
           return "k = " +
                  of.projected(of.kv_input("key"), "k", of.pass().k_bias);
         }},
    Step{"v", &StepWords::v, value_projection},
    Step{"q_split", &StepWords::q_split, nullptr,
         "q_split[b,i,h,d] = q[b,i,h*D+d]"},
    Step{"k_split", &StepWords::k_split, nullptr,
         "k_split[b,j,h,d] = k[b,j,h*D+d]"},
    Step{"v_split", &StepWords::v_split, nullptr,
         "v_split[b,j,h,d] = v[b,j,h*Dv+d]"},
    Step{"q_heads", &StepWords::q_heads, nullptr,
         "q_heads[b,h,i,d] = q_split[b,i,h,d]"},
    Step{"k_heads", &StepWords::k_heads, nullptr,
         "k_heads[b,h,j,d] = k_split[b,j,h,d]"},
    Step{"v_heads", &StepWords::v_heads, nullptr,
         "v_heads[b,h,j,d] = v_split[b,j,h,d]"},

    // Norms of queries and keys.
    Step{"q_normed", &StepWords::q_normed,
         [](const Parts& of) { return normed(of, 'q', "i"); }},
    Step{"k_normed", &StepWords::k_normed,
         [](const Parts& of) { return normed(of, 'k', "j"); }},

    // Rotary positions.
    Step{"q_rotated", &StepWords::q_rotated,
         [](const Parts& of) {
           return rotated(of, "q_rotated", of.queries_before_rotation(), "i");
         }},
    Step{"k_rotated", &StepWords::k_rotated,
         [](const Parts& of) {
           return rotated(of, "k_rotated", of.keys_before_rotation(), "j");
         }},

    // A decode step: the cache of the tokens before.
    Step{"new_token", &StepWords::new_token, nullptr,
         "new_token[b,0] = tokens[b][lengths[b] - 1]"},
    Step{"cached_keys", &StepWords::cached_keys,
         [](const Parts& of) {
           return "cached_keys: " + text(of.words().in_cache);
         }},
    Step{"keys", &StepWords::keys,
         [](const Parts& of) {
           return appended(of, "keys", "cached_keys", of.new_keys());
         }},
    Step{"cached_values", &StepWords::cached_values,
         [](const Parts& of) {
           return "cached_values: " + text(of.words().in_cache);
         }},
    Step{"values", &StepWords::values,
         [](const Parts& of) {
           return appended(of, "values", "cached_values", "v_heads");
         }},

    // Added keys.
    Step{"bias_k", &StepWords::bias_k,
         [](const Parts& of) { return "bias_k: " + text(of.words().given); }},
    Step{"bias_v", &StepWords::bias_v,
         [](const Parts& of) { return "bias_v: " + text(of.words().given); }},
    Step{"k_added", &StepWords::k_added,
         [](const Parts& of) {
           return with_added(of, "k_added", of.keys_of_tokens(), "bias_k");
         }},
    Step{"v_added", &StepWords::v_added,
         [](const Parts& of) {
           return with_added(of, "v_added", of.values_of_tokens(), "bias_v");
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
                  " + bias" + text(of.of_tokens_only());
         }},
    Step{"t5_scores", &StepWords::t5_scores,
         [](const Parts& of) {
           return of.at("t5_scores", "h,i,j") + " = " +
                  of.at(of.scores_before("t5_scores"), "h,i,j") +
                  " + t5_bias[bucket(j - i - query_start),h]" +
                  text(of.of_tokens_only());
         }},
    Step{"alibi_scores", &StepWords::alibi_scores,
         [](const Parts& of) {
           return of.at("alibi_scores", "h,i,j") + " = " +
                  of.at(of.scores_before("alibi_scores"), "h,i,j") +
                  " - slopes[h] * |i + query_start - j|" +
                  text(of.of_tokens_only());
         }},

    // Masks; those of each rule come before them (steps/mask_words.h).
    Step{
        "mask", &StepWords::mask,
        [](const Parts& of) { return "mask = " + text(of.words().all_masks); }},
    Step{"masked_scores", &StepWords::masked_scores,
         [](const Parts& of) {
           return "masked_scores = " + text(of.scores_before("masked_scores")) +
                  " if " + text(of.mask()) + " else -inf" +
                  text(of.of_tokens_only());
         }},

    // Weights and output.
    Step{"sinks", &StepWords::sinks,
         [](const Parts& of) { return "sinks: " + text(of.words().given); }},
    Step{"attn_weights", &StepWords::attn_weights, weights},
    Step{"dropped_weights", &StepWords::dropped_weights,
         [](const Parts& of) {
           return "dropped_weights = " +
                  of.words().if_kept("attn_weights / (1 - p)");
         }},
    Step{"context", &StepWords::context,
         [](const Parts& of) {
           return of.at("context", "h,i,d") + " = sum_j " +
                  of.at(of.first_of({"dropped_weights"}, "attn_weights"),
                        "h,i,j") +
                  " * " + of.at_kv_head(of.values(), "d");
         }},
    Step{"gated", &StepWords::gated, nullptr,
         "gated[b,h,i,d] = head_gates[h] * context[b,h,i,d]"},
    Step{"merged", &StepWords::merged,
         [](const Parts& of) {
           return of.at("merged", "i,h*Dv+d") + " = " +
                  of.at(of.first_of({"gated"}, "context"), "h,i,d");
         }},
    Step{"output", &StepWords::output, output},
};

const Step* find(std::string_view name) {
  const auto* found = std::ranges::find(kSteps, name, &Step::name);
  return found == kSteps.end() ? nullptr : found;
}

// The rule of that step, whose name ends in a number where there are several.
const internal::MaskWords* find_mask(std::string_view name) {
  const auto masks = internal::mask_words();
  const auto found = std::ranges::find(
      masks, name.substr(0, name.find_last_not_of("_23456789") + 1),
      &internal::MaskWords::name);
  return found == masks.end() ? nullptr : &*found;
}

// The masks of all rules, then the other steps.
std::vector<std::string_view> all_names() {
  std::vector<std::string_view> names;
  for (const internal::MaskWords& mask : internal::mask_words()) {
    names.push_back(mask.name);
  }
  for (const Step& step : kSteps) {
    names.push_back(step.name);
  }
  return names;
}

std::string_view mask_formula(const internal::MaskWords& mask,
                              Language language) {
  return language == Language::ko && !mask.formula_ko.empty() ? mask.formula_ko
                                                              : mask.formula;
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
  if (step.name == "attn_weights" && FormulaParts(pass).has("sinks")) {
    return &StepWords::attn_weights_with_sinks;
  }
  return step.operation;
}

}  // namespace

std::span<const std::string_view> step_names() {
  static const std::vector<std::string_view> names = all_names();
  return names;
}

std::string_view step_operation(std::string_view name,
                                const StepContext& pass) {
  if (const auto* mask = find_mask(name)) {
    return pass.language == Language::ko ? mask->operation_ko
                                         : mask->operation_en;
  }
  const Step* const step = find(name);
  return step == nullptr
             ? std::string_view()
             : words_of(pass.language).steps.*operation_of(*step, pass);
}

std::string step_formula(std::string_view name, const StepContext& pass) {
  if (const auto* mask = find_mask(name)) {
    const std::string_view formula = mask_formula(*mask, pass.language);
    return FormulaParts(pass).of_batch(
        std::string(name).append(formula.substr(mask->name.size())));
  }
  const FormulaParts parts(pass);
  const Step* const step = find(name);
  return step == nullptr            ? std::string()
         : step->formula == nullptr ? parts.of_batch(step->of_batch)
                                    : step->formula(parts);
}

}  // namespace headwise::inline HEADWISE_ABI
