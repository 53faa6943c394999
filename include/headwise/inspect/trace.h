// A trace that keeps what the steps report: each step's name, axes and tensor.
//
// Example:
//   Trace trace;
//   auto result = mha.forward(x, x, x, options, {}, &trace).value();
//   for (const TracedStep& step : trace.steps()) {
//     std::cout << step.name << '\n';
//   }
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headwise/attention/spec.h"
#include "headwise/base/any_view.h"
#include "headwise/base/dtype.h"
#include "headwise/run/reports.h"
#include "headwise/steps/norm_heads.h"
#include "headwise/version.h"
#include "headwise/words/language.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// Numbers that describe a step's tensor.
struct StepSummary {
  std::size_t count = 0;  // elements
  std::size_t finite = 0;
  // Over the finite elements; 0 if there are none.
  double min = 0;
  double max = 0;
  std::size_t masked = 0;  // -inf in scores, false in a mask
  std::size_t nan = 0;
};

struct TracedStep {
  std::string name;                  // "scores"
  std::vector<std::string> axes;     // "B", "H", "Lq", "Lkv"
  std::vector<std::size_t> extents;  // 10, 8, 20, 20
  DType dtype = DType::float32;
  std::vector<std::byte> data;  // C order; empty if only shapes are known
  std::optional<StepSummary> summary{};  // of a TraceSummary

  // Valid as long as the step exists. Only if has_data().
  AnyView view() const;
  std::size_t size() const;
  // Also true for a tensor without elements. size() cannot tell, because it may
  // overflow if only shapes are known.
  bool has_data() const {
    return !data.empty() ||
           std::ranges::find(extents, std::size_t{0}) != extents.end();
  }
  // Element `index` in C order. bool: 0 or 1; float32 and int64 likewise.
  double at(std::size_t index) const;
};

// Of a step with data or a summary.
StepSummary summarize(const TracedStep& step);

class Trace : public TraceSink {
 public:
  // Copies the tensor. Throws std::bad_alloc.
  void on_step(std::string_view name, std::span<const std::string_view> axes,
               const AnyView& tensor) override;

  std::span<const TracedStep> steps() const { return steps_; }
  // Null if there is no such step.
  const TracedStep* find(std::string_view name) const;
  // Leaves the batch axis out of every step from now on: unbatched input.
  void leave_out_batch() { without_batch_ = true; }

 private:
  std::vector<TracedStep> steps_;
  bool without_batch_ = false;
};

// Keeps the shape and the summary of each step, but not its tensor.
class TraceSummary : public TraceSink {
 public:
  // Throws std::bad_alloc.
  void on_step(std::string_view name, std::span<const std::string_view> axes,
               const AnyView& tensor) override;

  std::span<const TracedStep> steps() const { return steps_; }

 private:
  std::vector<TracedStep> steps_;
};

// The steps that a pass would report, with their shapes. Computes nothing.
struct JobShape {
  bool batched = true;
  bool from_tokens = true;   // lengths, padded and embedded come first
  bool from_hidden = false;  // the only input is "hidden", as in a model
  bool cross = false;        // keys and values from a second sequence
  bool qk_norm = false;
  bool rotary = false;
  bool bias_kv = false;  // added keys, as the next one
  bool zero_attn = false;
  bool out_proj = true;
  // What happens to the scores; null: only the softmax.
  const AttentionSpec* spec = nullptr;
  std::size_t B = 0, Lq = 0, Lkv = 0;
  std::size_t num_heads = 0, head_dim = 0, v_head_dim = 0, embed_dim = 0;
  std::optional<std::size_t> num_kv_heads{};  // not given: num_heads
  std::size_t query_dim = 0, kdim = 0, vdim = 0;
};
std::vector<TracedStep> list_steps(const JobShape& job);

// What each step of a forward pass does: its operation and its formula, in
// English and Korean. Steps have the names that the trace gives them.
//
// Example:
//   for (const TracedStep& step : trace.steps()) {
//     std::cout << step_formula(step.name, {.steps = trace.steps()}) << '\n';
//   }

// Where the step "hidden" comes from.
struct HiddenStates {
  std::size_t layer = 0;  // the layer that takes it; 0 takes the embeddings
  // What the embeddings have: a factor of the tokens' vectors, positions, token
  // types, a norm, and a projection after it.
  double scale = 1;
  bool positions = true;
  bool token_types = false;
  bool embedding_norm = true;
  bool projected = false;
  bool attention_norm = false;  // before the attention of each layer
  NormKind norm = NormKind::layer;
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

// "softmax: turn each row into weights that sum to 1". Empty for a name that is
// not a step.
std::string_view step_operation(std::string_view name, const StepContext& pass);

// "attn_weights[b,h,i,:] = softmax(masked_scores[b,h,i,:])". Empty for a name
// that is not a step. Throws std::bad_alloc.
std::string step_formula(std::string_view name, const StepContext& pass);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
