#include "inspect/trace/step_table.h"

#include <algorithm>
#include <array>
#include <vector>

#include "headwise/inspect/trace.h"
#include "headwise/words/language.h"
#include "inspect/trace/formula_parts.h"
#include "steps/mask_words.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

using Parts = FormulaParts;
using Text = std::string;

struct Step {
  std::string_view name;
  std::string_view operation;
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
    Step{"lengths", "count the tokens of each sequence",
         [](const Parts& of) {
           return "lengths[b] = " + of.say("number of tokens in sequence b");
         }},
    Step{"padded", "pad every sequence to the length of the longest", nullptr,
         "padded[b,t] = tokens[b][t] if t < lengths[b] else pad_id"},
    Step{"embedded", "look up the embedding of each token",
         [](const Parts& of) {
           return of.at("embedded", "t,:") + " = embedding.weight[" +
                  of.at(of.first_of({"new_token"}, "padded"), "t") + ",:]";
         }},
    Step{"lengths_kv", "count the tokens of each source sequence",
         [](const Parts& of) {
           return "lengths_kv[b] = " +
                  of.say("number of tokens in source sequence b");
         }},
    Step{"padded_kv", "pad every source sequence to the length of the longest",
         nullptr,
         "padded_kv[b,t] = source[b][t] if t < lengths_kv[b] else pad_id"},
    Step{"embedded_kv", "look up the embedding of each source token", nullptr,
         "embedded_kv[b,t,:] = embedding.weight[padded_kv[b,t],:]"},

    // Given vectors.
    Step{"hidden", "the hidden states that enter this layer",
         [](const Parts& of) { return of.hidden(); }},
    Step{"query", "the vectors that become queries",
         [](const Parts& of) { return "query: " + of.say("given"); }},
    Step{"key", "the vectors that become keys",
         [](const Parts& of) { return "key: " + of.say("given"); }},
    Step{"value", "the vectors that become values",
         [](const Parts& of) { return "value: " + of.say("given"); }},

    // Projections and heads.
    Step{"q", "project to queries: what each token looks for",
         [](const Parts& of) {
           return "q = " +
                  of.projected(
                      of.first_of({"query", "hidden", "embedded"}, "query"),
                      "q", of.pass().q_bias);
         }},
    Step{"k", "project to keys: what each token offers to be matched on",
         [](const Parts& of) {
           return "k = " +
                  of.projected(of.kv_input("key"), "k", of.pass().k_bias);
         }},
    Step{"v", "project to values: what each token passes on", value_projection},
    Step{"q_split", "split the queries into heads (a view, no copy)", nullptr,
         "q_split[b,i,h,d] = q[b,i,h*D+d]"},
    Step{"k_split", "split the keys into heads (a view, no copy)", nullptr,
         "k_split[b,j,h,d] = k[b,j,h*D+d]"},
    Step{"v_split", "split the values into heads (a view, no copy)", nullptr,
         "v_split[b,j,h,d] = v[b,j,h*Dv+d]"},
    Step{"q_heads", "transpose the queries: heads before tokens", nullptr,
         "q_heads[b,h,i,d] = q_split[b,i,h,d]"},
    Step{"k_heads", "transpose the keys: heads before tokens", nullptr,
         "k_heads[b,h,j,d] = k_split[b,j,h,d]"},
    Step{"v_heads", "transpose the values: heads before tokens", nullptr,
         "v_heads[b,h,j,d] = v_split[b,j,h,d]"},

    // Norms of queries and keys.
    Step{"q_normed", "normalise the features of the queries and scale them",
         [](const Parts& of) { return normed(of, 'q', "i"); }},
    Step{"k_normed", "normalise the keys in the same way",
         [](const Parts& of) { return normed(of, 'k', "j"); }},

    // Rotary positions.
    Step{"q_rotated",
         "rotate each pair of features of the queries by an angle that grows "
         "with the position",
         [](const Parts& of) {
           return rotated(of, "q_rotated", of.queries_before_rotation(), "i");
         }},
    Step{"k_rotated", "rotate the keys in the same way",
         [](const Parts& of) {
           return rotated(of, "k_rotated", of.keys_before_rotation(), "j");
         }},

    // A decode step: the cache of the tokens before.
    Step{"new_token", "the new token, the last of the sequence", nullptr,
         "new_token[b,0] = tokens[b][lengths[b] - 1]"},
    Step{"cached_keys", "the keys of the tokens before, from the cache",
         [](const Parts& of) {
           return "cached_keys: " + of.say("in the cache before this step");
         }},
    Step{"keys", "append the key of the new token to the cache",
         [](const Parts& of) {
           return appended(of, "keys", "cached_keys", of.new_keys());
         }},
    Step{"cached_values", "the values of the tokens before, from the cache",
         [](const Parts& of) {
           return "cached_values: " + of.say("in the cache before this step");
         }},
    Step{"values", "append the value of the new token to the cache",
         [](const Parts& of) {
           return appended(of, "values", "cached_values", "v_heads");
         }},

    // Added keys.
    Step{"bias_k", "one learned key per head, the same in every sequence",
         [](const Parts& of) { return "bias_k: " + of.say("given"); }},
    Step{"bias_v", "the value of that key",
         [](const Parts& of) { return "bias_v: " + of.say("given"); }},
    Step{"k_added", "append the added keys, which every query sees",
         [](const Parts& of) {
           return with_added(of, "k_added", of.keys_of_tokens(), "bias_k");
         }},
    Step{"v_added", "append the values of the added keys",
         [](const Parts& of) {
           return with_added(of, "v_added", of.values_of_tokens(), "bias_v");
         }},

    // Scores.
    Step{"scores", "compare every query with every key, scaled", scores},
    Step{"capped_scores",
         "softcap: keep every score between -softcap and softcap",
         [](const Parts& of) {
           return "capped_scores = softcap * tanh(" +
                  text(of.scores_before("capped_scores")) + " / softcap)";
         }},
    Step{"biased_scores", "add the bias; -inf masks a pair",
         [](const Parts& of) {
           return "biased_scores = " + text(of.scores_before("biased_scores")) +
                  " + bias" + text(of.of_tokens_only());
         }},
    Step{"t5_scores",
         "T5: add the number of the bucket that the key's distance falls into",
         [](const Parts& of) {
           return of.at("t5_scores", "h,i,j") + " = " +
                  of.at(of.scores_before("t5_scores"), "h,i,j") +
                  " + t5_bias[bucket(j - i - query_start),h]" +
                  text(of.of_tokens_only());
         }},
    Step{"alibi_scores", "ALiBi: lower the score of a key by its distance",
         [](const Parts& of) {
           return of.at("alibi_scores", "h,i,j") + " = " +
                  of.at(of.scores_before("alibi_scores"), "h,i,j") +
                  " - slopes[h] * |i + query_start - j|" +
                  text(of.of_tokens_only());
         }},

    // Masks; those of each rule come before them (steps/mask_words.h).
    Step{"mask", "combine the masks: True where all of them are True",
         [](const Parts& of) {
           return "mask = " + of.say("AND of all masks above");
         }},
    Step{"masked_scores", "set masked scores to -inf",
         [](const Parts& of) {
           return "masked_scores = " + text(of.scores_before("masked_scores")) +
                  " if " + text(of.mask()) + " else -inf" +
                  text(of.of_tokens_only());
         }},

    // Weights and output.
    Step{"sinks", "sinks: one more score per head, with no value",
         [](const Parts& of) { return "sinks: " + of.say("given"); }},
    Step{"attn_weights", "softmax: turn each row into weights that sum to 1",
         weights},
    Step{"dropped_weights",
         "dropout: set some weights to 0 and scale up the rest",
         [](const Parts& of) {
           return "dropped_weights = " +
                  of.say("{0} if kept else 0", "attn_weights / (1 - p)");
         }},
    Step{"context", "sum the values, weighted by the attention weights",
         [](const Parts& of) {
           return of.at("context", "h,i,d") + " = sum_j " +
                  of.at(of.first_of({"dropped_weights"}, "attn_weights"),
                        "h,i,j") +
                  " * " + of.at_kv_head(of.values(), "d");
         }},
    Step{"gated", "scale each head by its gate; 0 turns it off", nullptr,
         "gated[b,h,i,d] = head_gates[h] * context[b,h,i,d]"},
    Step{"merged", "concatenate the heads (a view, no copy)",
         [](const Parts& of) {
           return of.at("merged", "i,h*Dv+d") + " = " +
                  of.at(of.first_of({"gated"}, "context"), "h,i,d");
         }},
    Step{"output", "project to the output", output},
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

std::string_view operation_of(const Step& step, const StepContext& pass) {
  if (step.name == "scores" && pass.additive) {
    return "compare every query with every key through a hidden layer";
  }
  if (step.name == "v" && !pass.value_proj) {
    return "no value projection: the values are used as given";
  }
  if (step.name == "output" && !pass.out_proj) {
    return "no output projection: the merged heads are the output";
  }
  if (step.name == "attn_weights" && FormulaParts(pass).has("sinks")) {
    return "softmax over the scores and the sink, whose weight is left out";
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
    return translated(pass.language, mask->operation);
  }
  const Step* const step = find(name);
  return step == nullptr ? std::string_view()
                         : translated(pass.language, operation_of(*step, pass));
}

std::string step_formula(std::string_view name, const StepContext& pass) {
  if (const auto* mask = find_mask(name)) {
    const std::string_view formula = translated(pass.language, mask->formula);
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
