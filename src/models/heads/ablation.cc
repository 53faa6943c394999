#include "headwise/heads/ablation.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/copy_of.h"
#include "base/out_of_memory.h"
#include "heads/batches.h"
#include "heads/replaced_heads.h"
#include "headwise/models/text_model.h"
#include "run/shared_progress.h"
#include "transformer/pass_parts.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kAblation = "ablate";

// ---- Sets that begin with the same heads share a branch. ----

// Heads of one layer: their places in it.
using HeadsOfLayer = std::pair<std::size_t, std::vector<std::size_t>>;

struct Branch {
  std::optional<std::size_t> set{};                          // that ends here
  std::map<HeadsOfLayer, std::unique_ptr<Branch>> longer{};  // in later layers
};

// Its heads by layer.
Result<std::vector<HeadsOfLayer>> by_layer(const HeadsLeft& left, HeadSet set) {
  if (set.empty()) {
    return value_error(kAblation, "heads", "empty", "at least 1 head");
  }
  std::ranges::sort(set);
  if (const auto twice = std::ranges::adjacent_find(set); twice != set.end()) {
    return argument_error(kAblation, "heads",
                          message("has {}.{} twice", twice->layer, twice->head),
                          "each head once");
  }
  std::vector<HeadsOfLayer> layers;
  for (const HeadId& id : set) {
    HEADWISE_ASSIGN(const auto place,
                    place_of_head(kAblation, "heads", id, left));
    if (layers.empty() || layers.back().first != id.layer) {
      layers.push_back({id.layer, {}});
    }
    layers.back().second.push_back(place);
  }
  return layers;
}

// The tree of all sets. `first_of` receives, for each set, the first one with
// the same heads.
Result<Branch> tree_of(const HookedModel& model,
                       const std::vector<HeadSet>& sets,
                       std::vector<std::size_t>& first_of) {
  const HeadsLeft left = model.heads();
  Branch root;
  for (std::size_t n = 0; n < sets.size(); ++n) {
    HEADWISE_ASSIGN(const auto layers, by_layer(left, sets[n]));
    Branch* branch = &root;
    for (const HeadsOfLayer& heads : layers) {
      auto& longer = branch->longer[heads];
      if (!longer) {
        longer = std::make_unique<Branch>();
      }
      branch = longer.get();
    }
    branch->set = branch->set.value_or(n);
    first_of.push_back(*branch->set);
  }
  return root;
}

// ---- The mean contexts. ----

// By layer, (heads, v_head_dim).
using AblatedContexts = std::vector<std::vector<double>>;

RaggedTokens sequences_of(const RaggedTokens& ids, const Batch& batch) {
  return {ids.begin() + static_cast<std::ptrdiff_t>(batch.begin),
          ids.begin() + static_cast<std::ptrdiff_t>(batch.end)};
}

void add_context_rows(TensorView<const float, 4> context,
                      std::vector<double>& sums) {
  const auto [B, rows, H, D] = context.extents();
  sums.resize(H * D);
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t h = 0; h < H; ++h) {
      for (std::size_t d = 0; d < D; ++d) {
        sums[h * D + d] += static_cast<double>(context(0, row, h, d));
      }
    }
  }
}

// Sums of a batch, then of all batches in their order.
Result<AblatedContexts> mean_contexts(const AblationTask& task,
                                      const std::vector<Batch>& batches,
                                      const Executor& executor,
                                      SharedProgress& progress) {
  std::vector<AblatedContexts> sums(batches.size(),
                                    AblatedContexts(task.model.heads().size()));
  HEADWISE_TRY(run_batches(
      batches.size(), executor,
      [&](std::size_t n, const Executor& of_batch) -> Status {
        const ModelHooks hooks{
            .see = [&](std::size_t layer, TensorView<const float, 4> context) {
              add_context_rows(context, sums[n][layer]);
              return ok();
            }};
        const auto done =
            task.model.hidden(sequences_of(task.ids, batches[n]),
                              {.hooks = hooks, .executor = &of_batch});
        progress.add(batches[n].end - batches[n].begin);
        return done ? ok() : Status(done.error());
      }));
  const auto tokens = static_cast<double>(offsets_of(task.ids).back());
  AblatedContexts means = std::move(sums.front());
  for (std::size_t layer = 0; layer < means.size(); ++layer) {
    for (std::size_t at = 0; at < means[layer].size(); ++at) {
      for (std::size_t n = 1; n < sums.size(); ++n) {
        means[layer][at] += sums[n][layer][at];
      }
      means[layer][at] /= tokens;
    }
  }
  return means;
}

// ---- A batch. ----

// All sets of a tree on the examples of a batch.
class BatchRun {
 public:
  BatchRun(const AblationTask& task, Replacement replacement,
           const AblatedContexts& means, const Batch& batch, std::size_t sets,
           const Executor& executor)
      : task_(task),
        replacement_(replacement),
        means_(means),
        begin_(batch.begin),
        ids_(sequences_of(task.ids, batch)),
        executor_(executor),
        offsets_(offsets_of(ids_)) {
    scores_.ablated.resize(sets);
  }

  Result<AblationScores> run(const Branch& root) {
    HEADWISE_ASSIGN(auto pass, passed(root, {}, {}));
    whole_ = std::move(pass.hidden);
    HEADWISE_TRY(score(whole_, scores_.whole));
    HEADWISE_TRY(run_longer(root, pass.entries));
    return std::move(scores_);
  }

 private:
  using Entries = std::map<std::size_t, Tensor<float, 2>>;
  struct Pass {
    Tensor<float, 2> hidden;
    Entries entries;  // of the layers that longer branches begin at
  };

  Result<Pass> passed(const Branch& branch, std::optional<LayerEntry> from,
                      const HeadsOfLayer& ablated) {
    Pass pass;
    for (const auto& [heads, longer] : branch.longer) {
      pass.entries.try_emplace(heads.first);
    }
    ModelPass options{.from = from, .executor = &executor_};
    options.see_entries = [&](std::size_t layer,
                              TensorView<const float, 3> hidden) -> Status {
      const auto entry = pass.entries.find(layer);
      if (entry == pass.entries.end()) {
        return ok();
      }
      HEADWISE_ASSIGN(auto copy, copy_of(hidden));
      entry->second = std::move(copy).without_batch();
      return ok();
    };
    options.hooks.edit = [&](HookPlace at, const HeadContext& context) {
      if (!ablated.second.empty() && at.layer == ablated.first) {
        replace_heads({ablated.second, replacement_, offsets_,
                       task_.model.causal(), means_of(at.layer), at.first_row},
                      context);
      }
      return ok();
    };
    HEADWISE_ASSIGN(pass.hidden, task_.model.hidden(ids_, options));
    return pass;
  }

  Status run_longer(const Branch& branch, const Entries& entries) {
    for (const auto& [heads, longer] : branch.longer) {
      HEADWISE_ASSIGN(
          const auto pass,
          passed(*longer,
                 LayerEntry{heads.first, entries.at(heads.first).view()},
                 heads));
      if (longer->set) {
        HEADWISE_TRY(score(pass.hidden, scores_.ablated[*longer->set]));
      }
      HEADWISE_TRY(run_longer(*longer, pass.entries));
    }
    return ok();
  }

  Status score(const Tensor<float, 2>& hidden, ExampleScores& into) const {
    HEADWISE_ASSIGN(into, task_.scores({begin_, ids_, hidden.view(),
                                        whole_.view(), &executor_}));
    return ok();
  }

  std::span<const double> means_of(std::size_t layer) const {
    return means_.empty() ? std::span<const double>() : means_[layer];
  }

  const AblationTask& task_;
  Replacement replacement_;
  const AblatedContexts& means_;
  std::size_t begin_;
  RaggedTokens ids_;
  const Executor& executor_;
  std::vector<std::int64_t> offsets_;
  Tensor<float, 2> whole_;
  AblationScores scores_;
};

void append(const ExampleScores& from, ExampleScores& to) {
  for (const auto scores :
       {&ExampleScores::loss, &ExampleScores::correct,
        &ExampleScores::loss_on_repeats, &ExampleScores::correct_on_repeats}) {
    (to.*scores)
        .insert((to.*scores).end(), (from.*scores).begin(),
                (from.*scores).end());
  }
}

// The scores of all batches, each of which is released. `first_of` as tree_of()
// gives it.
AblationScores joined(std::vector<AblationScores> batches,
                      const std::vector<std::size_t>& first_of) {
  AblationScores all{{}, std::vector<ExampleScores>(first_of.size())};
  for (AblationScores& batch : batches) {
    append(batch.whole, all.whole);
    for (std::size_t n = 0; n < first_of.size(); ++n) {
      append(batch.ablated[first_of[n]], all.ablated[n]);
    }
    batch = {};
  }
  return all;
}

// Scores are kept until the intervals are known.
Status check_size(std::size_t sets, std::size_t examples) {
  constexpr std::size_t kMost = 50'000'000;
  return examples <= kMost / std::max<std::size_t>(sets, 1)
             ? ok()
             : Status(argument_error(
                   kAblation, "ids",
                   message("has {} sequences for {} sets of heads", examples,
                           sets),
                   message("at most {} in all", kMost)));
}

// ---- Effects. ----

template <class Difference>
AblationEffect interval_of(const ExampleScores& whole,
                           const Difference& difference) {
  const auto mean_of = [&](const std::vector<double> ExampleScores::*scores) {
    std::vector<double> differences;
    for (std::size_t n = 0; n < (whole.*scores).size(); ++n) {
      differences.push_back(difference(scores, n));
    }
    return mean_interval(differences);
  };
  AblationEffect effect{mean_of(&ExampleScores::loss), {}};
  if (!whole.correct.empty()) {
    effect.accuracy = mean_of(&ExampleScores::correct);
  }
  if (!whole.loss_on_repeats.empty()) {
    effect.loss_on_repeats = mean_of(&ExampleScores::loss_on_repeats);
  }
  if (!whole.correct_on_repeats.empty()) {
    effect.accuracy_on_repeats = mean_of(&ExampleScores::correct_on_repeats);
  }
  return effect;
}

}  // namespace

Result<AblationScores> ablate(const AblationTask& task,
                              const std::vector<HeadSet>& sets,
                              const AblationOptions& options) {
  return catching_out_of_memory([&]() -> Result<AblationScores> {
    HEADWISE_TRY(check_at_least_one(kAblation, "ids", task.ids.size()));
    HEADWISE_TRY(check_size(sets.size(), task.ids.size()));
    std::vector<std::size_t> first_of;
    HEADWISE_ASSIGN(const auto tree, tree_of(task.model, sets, first_of));
    const Executor& executor =
        options.executor ? *options.executor : Executor::default_executor();
    const std::vector<Batch> batches = batches_of(task.ids);
    const bool means = options.replacement == Replacement::mean;
    SharedProgress progress(options.progress,
                            task.ids.size() * (means ? 2 : 1));
    AblatedContexts contexts;
    if (means) {
      HEADWISE_ASSIGN(contexts,
                      mean_contexts(task, batches, executor, progress));
    }
    std::vector<AblationScores> scores(batches.size());
    const Status done = run_batches(
        batches.size(), executor,
        [&](std::size_t n, const Executor& of_batch) -> Status {
          HEADWISE_ASSIGN(scores[n],
                          BatchRun(task, options.replacement, contexts,
                                   batches[n], sets.size(), of_batch)
                              .run(tree));
          progress.add(batches[n].end - batches[n].begin);
          return ok();
        });
    HEADWISE_TRY(done);
    return joined(std::move(scores), first_of);
  });
}

AblationEffect effect_of(const ExampleScores& whole,
                         const ExampleScores& ablated) {
  return interval_of(whole, [&](auto scores, std::size_t n) {
    return (ablated.*scores)[n] - (whole.*scores)[n];
  });
}

AblationEffect interaction_of(const ExampleScores& whole,
                              const ExampleScores& first,
                              const ExampleScores& second,
                              const ExampleScores& both) {
  return interval_of(whole, [&](auto scores, std::size_t n) {
    return ((both.*scores)[n] - (first.*scores)[n]) -
           ((second.*scores)[n] - (whole.*scores)[n]);
  });
}

}  // namespace headwise::inline HEADWISE_ABI
