#include "text_stats.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "kept_heads.h"
#include "operation/models/any_heads.h"
#include "operation/models/model_texts.h"
#include "shell/models/read_model.h"
#include "shell/progress_bar.h"
#include "shell/read_text.h"
#include "shell/threads.h"
#include "statistic_names.h"
#include "viewed_heads.h"

namespace headwise::cli {
namespace {

// Whether each head has a text with attention weights that are numbers.
Status check_text_numbers(const std::vector<AveragedHead>& heads) {
  const auto nan = std::ranges::find(heads, 0u, [](const AveragedHead& head) {
    return head.of(Statistic::entropy).count;
  });
  return nan == heads.end()
             ? ok()
             : Status(computes_nan("--model", {nan->layer, nan->head}));
}

void sort_text_heads(const std::string& name,
                     std::vector<AveragedHead>& heads) {
  const std::size_t k = find_statistic(name).value();
  std::ranges::stable_sort(heads, std::ranges::greater(),
                           [k](const AveragedHead& head) {
                             const double mean = head.means[k].mean;
                             return std::isnan(mean) ? -1 : mean;
                           });
}

}  // namespace

Status check_text_stats_flags(const ViewedFlags& seen) {
  using enum OptionRule::Kind;
  static constexpr OptionRule kRules[] = {
      {"--texts", needs, "--model", "--model DIR"},
      {"TEXT", apart, "--texts"},
      {"--texts", only,
       "--model|--texts|--layers|--max-tokens|--sort|--json|--csv|--out|"
       "--threads|--lang"}};
  return seen.line.check(kRules);
}

Result<TextStats> compute_text_stats(const ViewedFlags& seen,
                                     const std::string& texts,
                                     const std::string& sort) {
  HEADWISE_ASSIGN(const auto executor, executor_with(seen.operation.threads));
  HEADWISE_ASSIGN(const auto model, read_any_model(seen.model));
  HEADWISE_TRY(check_has_heads(heads_left(*model)));
  HEADWISE_ASSIGN(const auto layers,
                  parse_layers(seen.layers, model->shape().num_layers));
  HEADWISE_ASSIGN(const auto read,
                  read_model_texts(texts, seen.max_tokens, seen.model, *model));
  auto heads = [&] {
    ProgressBar bar{"stats", "texts"};
    return statistics_over_texts(
        *model, read.ids,
        {.layers = layers, .progress = bar.progress(), .executor = &executor});
  }();
  HEADWISE_TRY(heads);
  HEADWISE_TRY(check_text_numbers(*heads));
  if (!sort.empty()) {
    sort_text_heads(sort, *heads);
  }
  TextStats stats{.model = seen.model,
                  .texts = name_of_text(texts),
                  .count = read.ids.size(),
                  .tokens = read.tokens,
                  .cut = read.cut,
                  .empty_lines = read.empty_lines,
                  .max_tokens = read.limit.tokens,
                  .heads = *std::move(heads)};
  for (const std::size_t layer : layers) {
    KeptHeads kept = kept_heads(*model, layer);
    if (!kept.pruned().empty()) {
      stats.pruned.push_back({layer, std::move(kept)});
    }
  }
  return stats;
}

}  // namespace headwise::cli
