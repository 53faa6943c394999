// What each step of a forward pass does: its operation and its formula, in
// English and Korean. Steps have the names that the trace gives them.
//
// Example:
//   for (const TracedStep& step : trace.steps()) {
//     std::cout << step_formula(step.name, {.steps = trace.steps()}) << '\n';
//   }
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "headwise/inspect/trace.h"
#include "headwise/steps/norm_heads.h"
#include "headwise/version.h"
#include "headwise/words/language.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// Where the step "hidden" comes from.
struct HiddenStates {
  std::size_t layer = 0;     // the layer that takes it; 0 takes the embeddings
  bool token_types = false;  // whether the embeddings have token types
};

// The pass whose steps are described. A formula names only what the pass has:
// the inputs that were given, the scores of the previous step, the biases.
struct StepContext {
  std::span<const TracedStep>
      steps{};            // all of the pass; names and axes are read
  bool batched = true;    // false: the steps have no axis of sequences
  bool additive = false;  // scores of additive attention
  std::size_t group = 1;  // query heads per key and value head
  bool q_bias = true;     // whether a projection adds a bias
  bool k_bias = true;
  bool v_bias = true;
  bool output_bias = true;
  bool value_proj = true;  // false: the values are used as given
  bool out_proj = true;    // false: the merged heads are the output
  QkNorm qk_norm{};        // what "q_normed" and "k_normed" are
  // Default: "hidden" is the input of the layer.
  std::optional<HiddenStates> hidden{};
  Language language = Language::en;
};

// The names of all steps, in the order of a pass.
std::span<const std::string_view> step_names();

// "softmax: turn each row into weights that sum to 1". Empty for a name that is
// not a step.
std::string_view step_operation(std::string_view name, const StepContext& pass);

// "attn_weights[b,h,i,:] = softmax(masked_scores[b,h,i,:])". Empty for a name
// that is not a step. Throws std::bad_alloc.
std::string step_formula(std::string_view name, const StepContext& pass);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
