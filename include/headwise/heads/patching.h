// Activation patching: what a model makes of a clean text when one head gets
// its context from a corrupted one.
//
//   effect(head)  m(clean text, the head's context from the corrupted text)
//                 - m(clean text)
//
// where m is a number made of the model's outputs (OutputMeasure): 0 means that
// what differs between the texts does not go through this head alone, and
// m(corrupted) - m(clean) that all of it does.
//
// If the texts have the same number of tokens, each token takes the context of
// the token in its place, and each head is also patched in one position at a
// time. Otherwise the tokens before the first and after the last difference
// take that of their partners, and clean tokens between them the mean over the
// corrupted tokens between; if there are none they keep their own.
//
// approximate_patches() replaces m by its tangent at the clean text, with a
// forward and backward pass over the clean text and a pass over the corrupted
// one:
//
//   effect(head)  ~  sum (context of corrupted - context of clean) *
//   dm/dcontext
//
// Errors: those of the model and of the measure; bad_data for a model whose
// outputs are not finite; invalid_argument for effects that are not;
// out_of_memory. No bit depends on threads.
//
// Source: Vig et al. 2020, arXiv:2004.12265; Wang et al. 2022,
// arXiv:2211.00593 (patching); Nanda 2023, "Attribution patching", and Syed et
// al. 2023, arXiv:2310.10348 (by gradients).
//
// Example:
//   PatchTask task{*model, clean.ids, corrupted.ids, toward_corrupted()};
//   PatchEffects exact = patch_heads(task).value();
//   PatchEffects fast = approximate_patches(task).value();
//   correlation(exact, fast);
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/heads/hooked_model.h"
#include "headwise/run/executor.h"
#include "headwise/run/reports.h"
#include "headwise/steps/tokens.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// A number made of a model's outputs for one text.
struct OutputMeasure {
  std::function<double(std::span<const float> outputs)> value;
  // d value / d outputs
  std::function<std::vector<double>(std::span<const float> outputs)> gradient;
  std::optional<std::size_t> label{};  // whose log odds it is
};
// The measure of a pair of texts, from their outputs.
using MeasureOfTexts = std::function<Result<OutputMeasure>(
    std::span<const float> clean, std::span<const float> corrupted)>;

// ln(p / (1 - p)) of the probability p of a label, from logits; not given: of
// the label predicted for the clean text. Errors: out_of_range for a label that
// the outputs do not have.
MeasureOfTexts log_odds(std::optional<std::size_t> label = {});
// How far the output e is on the way from the clean text's e_0 to the corrupted
// text's e_1: (e - e_0).(e_1 - e_0) / |e_1 - e_0|^2, 0 for the clean text and 1
// for the corrupted one. Errors: invalid_argument for equal outputs.
MeasureOfTexts toward_corrupted();

struct PatchTask {
  const HookedModel& model;
  // At least one token each.
  std::vector<TokenId> clean;
  std::vector<TokenId> corrupted;
  MeasureOfTexts measure;
};

struct PatchOptions {
  bool positions = true;  // patch single positions, too
  // Counts patched texts; called by one thread at a time, but not always the
  // same.
  Progress progress{};
  const Executor* executor = nullptr;  // null: Executor::default_executor()
};

struct PatchEffects {
  // m of the two texts, and of which label.
  double clean = 0;
  double corrupted = 0;
  std::optional<std::size_t> label{};
  // By layer, for each head that the layer has.
  std::vector<std::vector<double>> heads;
  // By layer, (heads, tokens); empty if the numbers of tokens differ or
  // positions are not wanted.
  std::vector<Tensor<double, 2>> positions;
};

Result<PatchEffects> patch_heads(const PatchTask& task,
                                 const PatchOptions& options = {});
// Needs a model that was read for training. options.progress is not called.
Result<PatchEffects> approximate_patches(const PatchTask& task,
                                         const PatchOptions& options = {});

// Pearson's correlation of the effects of all heads; NaN where one side is
// constant.
double correlation(const PatchEffects& a, const PatchEffects& b);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
