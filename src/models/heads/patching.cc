#include "headwise/heads/patching.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "base/copy_of.h"
#include "base/out_of_memory.h"
#include "heads/batches.h"
#include "heads/finite_outputs.h"
#include "heads/token_partners.h"
#include "run/shared_progress.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kPatching = "patch";

const Executor& executor_of(const PatchOptions& options) {
  return options.executor ? *options.executor : Executor::default_executor();
}

// The contexts of one text, by layer: (tokens, heads, v_head_dim).
using PatchedContexts = std::vector<Tensor<float, 3>>;

// A copy of a batch of one, without the batch.
template <std::size_t Rank>
Status keep(TensorView<const float, Rank> view, Tensor<float, Rank - 1>& into) {
  HEADWISE_ASSIGN(auto copy, copy_of(view));
  into = std::move(copy).without_batch();
  return ok();
}

ModelHooks keeping(PatchedContexts& contexts) {
  return {.see = [&](std::size_t layer, TensorView<const float, 4> context) {
    return keep(context, contexts[layer]);
  }};
}

// What a clean token's context becomes: the mean over its partners, or its own
// if it has none.
Result<PatchedContexts> patched_contexts(const PatchTask& task,
                                         const PatchedContexts& clean,
                                         const PatchedContexts& corrupted) {
  const auto partners = partners_of(task.clean, task.corrupted);
  PatchedContexts patched(clean.size());
  for (std::size_t n = 0; n < clean.size(); ++n) {
    HEADWISE_ASSIGN(auto copy, clean[n].clone());
    const auto [L, H, D] = copy.extents();
    for (std::size_t i = 0; i < L; ++i) {
      const auto [begin, end] = partners[i];
      for (std::size_t at = 0; begin < end && at < H * D; ++at) {
        double sum = 0;
        for (std::size_t j = begin; j < end; ++j) {
          sum += static_cast<double>(corrupted[n](j, at / D, at % D));
        }
        copy(i, at / D, at % D) =
            static_cast<float>(sum / static_cast<double>(end - begin));
      }
    }
    patched[n] = std::move(copy);
  }
  return patched;
}

// ---- The two texts as they are. ----

struct TextPass {
  std::vector<Tensor<float, 2>> entries{};  // by layer, (tokens, hidden_size)
  PatchedContexts contexts{};
  std::vector<float> outputs{};
};

Result<TextPass> pass_of(const HookedModel& model,
                         const std::vector<TokenId>& text,
                         const Executor& executor) {
  TextPass pass;
  const std::size_t layers = model.heads().size();
  pass.contexts.resize(layers);
  pass.entries.resize(layers);
  const RaggedTokens ids = {text};
  const BeforeLayer see_entries = [&](std::size_t layer,
                                      TensorView<const float, 3> hidden) {
    return keep(hidden, pass.entries[layer]);
  };
  HEADWISE_ASSIGN(const auto hidden,
                  model.hidden(ids, {.see_entries = see_entries,
                                     .hooks = keeping(pass.contexts),
                                     .executor = &executor}));
  HEADWISE_ASSIGN(const auto outputs,
                  model.outputs(ids, hidden.view(), &executor));
  pass.outputs.assign(outputs.data(), outputs.data() + outputs.size());
  return pass;
}

Result<PatchEffects> no_effects(const PatchTask& task,
                                const PatchOptions& options) {
  PatchEffects effects;
  const bool positions =
      options.positions && task.clean.size() == task.corrupted.size();
  for (const auto& heads : task.model.heads()) {
    effects.heads.emplace_back(heads.size());
    if (positions) {
      HEADWISE_ASSIGN(auto made, Tensor<double, 2>::create(
                                     {heads.size(), task.clean.size()}));
      effects.positions.push_back(std::move(made));
    }
  }
  return effects;
}

Status check_outputs(std::span<const float> outputs) {
  return check_finite_outputs(kPatching, "model", outputs, ErrorCode::bad_data);
}

// Of patched models, or by gradients.
Status check_finite(const PatchEffects& effects) {
  bool finite =
      std::isfinite(effects.clean) && std::isfinite(effects.corrupted);
  for (const auto& of_layer : effects.heads) {
    for (const double effect : of_layer) {
      finite = finite && std::isfinite(effect);
    }
  }
  for (const auto& of_layer : effects.positions) {
    for (const double effect : of_layer.elements()) {
      finite = finite && std::isfinite(effect);
    }
  }
  return finite
             ? ok()
             : Status(argument_error(kPatching, "clean",
                                     "gives effects that are NaN or infinite",
                                     "finite effects"));
}

void put_values(const OutputMeasure& measure, std::span<const float> clean,
                std::span<const float> corrupted, PatchEffects& effects) {
  effects.label = measure.label;
  effects.clean = measure.value(clean);
  effects.corrupted = measure.value(corrupted);
}

Status check_texts(const PatchTask& task) {
  HEADWISE_TRY(check_at_least_one(kPatching, "clean", task.clean.size()));
  return check_at_least_one(kPatching, "corrupted", task.corrupted.size());
}

// ---- One patch after another. ----

// A head in the tokens [begin, end), and where its effect goes.
struct Patch {
  std::size_t layer;
  std::size_t head;
  std::size_t begin;
  std::size_t end;
  double* effect;
};

std::vector<Patch> patches_of(PatchEffects& effects, std::size_t tokens) {
  std::vector<Patch> patches;
  for (std::size_t n = 0; n < effects.heads.size(); ++n) {
    for (std::size_t h = 0; h < effects.heads[n].size(); ++h) {
      patches.push_back({n, h, 0, tokens, &effects.heads[n][h]});
      for (std::size_t i = 0; !effects.positions.empty() && i < tokens; ++i) {
        patches.push_back({n, h, i, i + 1, &effects.positions[n](h, i)});
      }
    }
  }
  return patches;
}

// Patches [begin, end) of one layer, that run as copies of the clean text.
std::vector<Batch> batches_of(const std::vector<Patch>& patches,
                              std::size_t tokens) {
  constexpr std::size_t kMostTokens = 512;
  const std::size_t most = std::max<std::size_t>(kMostTokens / tokens, 1);
  std::vector<Batch> batches;
  for (std::size_t n = 0; n < patches.size(); ++n) {
    if (batches.empty() || n - batches.back().begin == most ||
        patches[n].layer != patches[n - 1].layer) {
      batches.push_back({n, n});
    }
    batches.back().end = n + 1;
  }
  return batches;
}

class PatchedTexts {
 public:
  PatchedTexts(const PatchTask& task, const TextPass& clean,
               const PatchedContexts& patched, const OutputMeasure& measure,
               double clean_value)
      : task_(task),
        clean_(clean),
        patched_(patched),
        measure_(measure),
        clean_value_(clean_value) {}

  Status run(std::span<const Patch> patches, const Executor& executor) const {
    const std::size_t layer = patches.front().layer;
    const RaggedTokens ids(patches.size(), task_.clean);
    HEADWISE_ASSIGN(const auto entry,
                    copies_of(clean_.entries[layer], patches.size()));
    ModelPass pass{.from = LayerEntry{layer, entry.view()},
                   .executor = &executor};
    pass.hooks.edit = [&](HookPlace at, const HeadContext& heads) {
      if (at.layer == layer) {
        patch(patches, at.first_row, heads.context);
      }
      return ok();
    };
    HEADWISE_ASSIGN(const auto hidden, task_.model.hidden(ids, pass));
    HEADWISE_ASSIGN(const auto outputs,
                    task_.model.outputs(ids, hidden.view(), &executor));
    for (std::size_t n = 0; n < patches.size(); ++n) {
      *patches[n].effect =
          measure_.value({&outputs(n, 0), outputs.extent(1)}) - clean_value_;
    }
    return ok();
  }

 private:
  static Result<Tensor<float, 2>> copies_of(const Tensor<float, 2>& entry,
                                            std::size_t count) {
    auto copies = Tensor<float, 2>::create_unset(
        {count * entry.extent(0), entry.extent(1)});
    for (std::size_t n = 0; copies && n < count; ++n) {
      std::ranges::copy(entry.elements(), copies->data() + n * entry.size());
    }
    return copies;
  }

  // The texts of `context`, of which the first begins in this row.
  void patch(std::span<const Patch> patches, std::size_t first_row,
             TensorView<float, 4> context) const {
    const std::size_t L = task_.clean.size();
    const std::size_t first = first_row / L;
    for (std::size_t n = first; n < first + context.extent(1) / L; ++n) {
      const auto [layer, h, begin, end, effect] = patches[n];
      for (std::size_t i = begin; i < end; ++i) {
        for (std::size_t d = 0; d < context.extent(3); ++d) {
          context(0, (n - first) * L + i, h, d) = patched_[layer](i, h, d);
        }
      }
    }
  }

  const PatchTask& task_;
  const TextPass& clean_;
  const PatchedContexts& patched_;
  const OutputMeasure& measure_;
  double clean_value_;
};

// ---- All of them at once, by the gradient. ----

// Adds up (patched - clean) d_context of one layer.
void add_effects(const Tensor<float, 3>& clean, const Tensor<float, 3>& patched,
                 TensorView<const float, 4> d_context, std::size_t layer,
                 PatchEffects& effects) {
  const auto [L, H, D] = clean.extents();
  for (std::size_t h = 0; h < H; ++h) {
    for (std::size_t i = 0; i < L; ++i) {
      double sum = 0;
      for (std::size_t d = 0; d < D; ++d) {
        sum += (static_cast<double>(patched(i, h, d)) -
                static_cast<double>(clean(i, h, d))) *
               static_cast<double>(d_context(0, i, h, d));
      }
      effects.heads[layer][h] += sum;
      if (!effects.positions.empty()) {
        effects.positions[layer](h, i) = sum;
      }
    }
  }
}

Result<Tensor<float, 2>> gradient_of(const OutputMeasure& measure,
                                     const Tensor<float, 2>& outputs) {
  HEADWISE_ASSIGN(auto d, Tensor<float, 2>::create(outputs.extents()));
  std::ranges::transform(measure.gradient(outputs.elements()), d.data(),
                         [](double x) { return static_cast<float>(x); });
  return d;
}

}  // namespace

Result<PatchEffects> patch_heads(const PatchTask& task,
                                 const PatchOptions& options) {
  return catching_out_of_memory([&]() -> Result<PatchEffects> {
    HEADWISE_TRY(check_texts(task));
    const Executor& executor = executor_of(options);
    HEADWISE_ASSIGN(const auto clean,
                    pass_of(task.model, task.clean, executor));
    HEADWISE_TRY(check_outputs(clean.outputs));
    HEADWISE_ASSIGN(const auto corrupted,
                    pass_of(task.model, task.corrupted, executor));
    HEADWISE_TRY(check_outputs(corrupted.outputs));
    HEADWISE_ASSIGN(const auto measure,
                    task.measure(clean.outputs, corrupted.outputs));
    HEADWISE_ASSIGN(const auto patched,
                    patched_contexts(task, clean.contexts, corrupted.contexts));
    HEADWISE_ASSIGN(auto effects, no_effects(task, options));
    put_values(measure, clean.outputs, corrupted.outputs, effects);
    const std::vector<Patch> patches = patches_of(effects, task.clean.size());
    const std::vector<Batch> batches = batches_of(patches, task.clean.size());
    SharedProgress progress(options.progress, patches.size());
    const PatchedTexts texts(task, clean, patched, measure, effects.clean);
    const Status done = run_batches(
        batches.size(), executor,
        [&](std::size_t n, const Executor& of_batch) -> Status {
          const auto [begin, end] = batches[n];
          HEADWISE_TRY(texts.run(std::span(patches).subspan(begin, end - begin),
                                 of_batch));
          progress.add(end - begin);
          return ok();
        });
    HEADWISE_TRY(done);
    HEADWISE_TRY(check_finite(effects));
    return effects;
  });
}

Result<PatchEffects> approximate_patches(const PatchTask& task,
                                         const PatchOptions& options) {
  return catching_out_of_memory([&]() -> Result<PatchEffects> {
    HEADWISE_TRY(check_texts(task));
    const Executor& executor = executor_of(options);
    HEADWISE_ASSIGN(const auto corrupted,
                    pass_of(task.model, task.corrupted, executor));
    HEADWISE_TRY(check_outputs(corrupted.outputs));
    HEADWISE_ASSIGN(auto effects, no_effects(task, options));
    PatchedContexts clean(effects.heads.size());
    PatchedContexts patched;
    ModelPass pass{.hooks = keeping(clean), .executor = &executor};
    pass.hooks.see_gradient = [&](std::size_t layer,
                                  TensorView<const float, 4> d_context) {
      add_effects(clean[layer], patched[layer], d_context, layer, effects);
      return ok();
    };
    const Status done = task.model.differentiate(
        {task.clean}, pass,
        [&](const Tensor<float, 2>& outputs) -> Result<Tensor<float, 2>> {
          HEADWISE_TRY(check_outputs(outputs.elements()));
          HEADWISE_ASSIGN(const auto measure,
                          task.measure(outputs.elements(), corrupted.outputs));
          HEADWISE_ASSIGN(patched,
                          patched_contexts(task, clean, corrupted.contexts));
          put_values(measure, outputs.elements(), corrupted.outputs, effects);
          return gradient_of(measure, outputs);
        });
    HEADWISE_TRY(done);
    HEADWISE_TRY(check_finite(effects));
    return effects;
  });
}

double correlation(const PatchEffects& a, const PatchEffects& b) {
  std::vector<double> x;
  std::vector<double> y;
  for (std::size_t n = 0; n < a.heads.size(); ++n) {
    x.insert(x.end(), a.heads[n].begin(), a.heads[n].end());
    y.insert(y.end(), b.heads[n].begin(), b.heads[n].end());
  }
  const auto mean_of = [](const std::vector<double>& v) {
    double sum = 0;
    for (const double value : v) {
      sum += value;
    }
    return sum / static_cast<double>(v.size());
  };
  const double mean_x = mean_of(x);
  const double mean_y = mean_of(y);
  double xy = 0;
  double xx = 0;
  double yy = 0;
  for (std::size_t n = 0; n < x.size(); ++n) {
    xy += (x[n] - mean_x) * (y[n] - mean_y);
    xx += (x[n] - mean_x) * (x[n] - mean_x);
    yy += (y[n] - mean_y) * (y[n] - mean_y);
  }
  return xx > 0 && yy > 0 ? xy / std::sqrt(xx * yy)
                          : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace headwise::inline HEADWISE_ABI
