#include "two_models.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string_view>
#include <utility>

#include "ablated_gates.h"
#include "headwise/models/text_model.h"
#include "operation/models/text_file.h"
#include "operation/models/token_limit.h"
#include "shell/models/head_list.h"
#include "shell/models/read_model.h"
#include "shell/progress_bar.h"
#include "shell/threads.h"
#include "statistic_names.h"

namespace headwise::cli {
namespace {

// TEXT as if it were a file.
Result<TextFile> read_one_text(const std::string& text) {
  HEADWISE_ASSIGN(auto bytes, read_text_argument(text));
  TextFile file{.bytes = std::make_shared<const std::string>(std::move(bytes)),
                .lines = {1}};
  file.texts = {*file.bytes};
  return file;
}

// That both models have positions for.
Result<std::size_t> limit_of_both(const ViewedFlags& seen, const TextModel& a,
                                  const TextModel& b) {
  HEADWISE_ASSIGN(const auto of_a,
                  token_limit(seen.max_tokens, seen.model, a.shape()));
  HEADWISE_ASSIGN(
      const auto of_b,
      token_limit(seen.max_tokens,
                  seen.against.empty() ? seen.model : seen.against, b.shape()));
  return std::min(of_a.tokens, of_b.tokens);
}

// Of ModelComparison::of(), whose models are a and b.
Error error_of_models(const Error& error, const ViewedFlags& seen) {
  ErrorDetails details = error.details();
  if (details.argument == "a" || details.argument == "b") {
    details.operation.clear();
    details.argument = details.argument == "a" || seen.against.empty()
                           ? "--model"
                           : "--against";
  }
  return {error.code(), std::move(details)};
}

std::optional<SimilarHead> similar_head(const ModelComparison& changes,
                                        std::size_t a,
                                        std::optional<std::size_t> b) {
  return b ? std::optional(SimilarHead{changes.heads_b()[*b],
                                       changes.similarity(a, *b).mean})
           : std::nullopt;
}

void add_compared_heads(const ModelComparison& changes, TwoModels& models) {
  const auto others =
      changes.others(models.matched ? HeadPairing::match : HeadPairing::place);
  const auto matches = changes.others(HeadPairing::match);
  std::vector<bool> compared(changes.heads_b().size());
  for (std::size_t a = 0; a < others.size(); ++a) {
    if (!others[a]) {
      models.only_model.push_back(changes.heads_a()[a]);
      continue;
    }
    compared[*others[a]] = true;
    models.heads.push_back({changes.pair(a, *others[a]),
                            similar_head(changes, a, matches[a]),
                            similar_head(changes, a, changes.nearest()[a])});
  }
  for (std::size_t b = 0; b < compared.size(); ++b) {
    if (!compared[b]) {
      models.only_against.push_back(changes.heads_b()[b]);
    }
  }
}

// Those that changed most first; heads without the number last. Differences as
// small as rounding are equal.
void sort_compared_heads(const std::string& sort,
                         std::vector<ComparedHead>& heads) {
  const auto statistic = find_statistic(sort);
  const auto change = [&](const ComparedHead& head) {
    return std::round(
        1e6 * (statistic ? std::abs(head.pair.difference[*statistic].mean)
                         : 1 - head.pair.similarity.mean));
  };
  std::ranges::stable_sort(
      heads, [&](const ComparedHead& a, const ComparedHead& b) {
        return !std::isnan(change(a)) &&
               (std::isnan(change(b)) || change(a) > change(b));
      });
}

}  // namespace

Status check_against_flags(const ViewedFlags& seen) {
  using enum OptionRule::Kind;
  static constexpr OptionRule kRules[] = {
      {"--matched", needs, "--against", "--against DIR"},
      {"--against", needs, "--model", "--model DIR"},
      {"--against", only,
       "--model|TEXT|--against|--texts|--max-tokens|--sort|--json|--csv|--out|"
       "--matched|--lang|--title|--open|--elements|--no-elements|--threads"},
      {"TEXT+--against", apart, "--texts"},
      {"--against", needs, "TEXT|--texts", "TEXT or --texts FILE"}};
  return seen.line.check(kRules);
}

Result<TwoModels> compare_two_models(const ViewedFlags& seen,
                                     const std::string& sort) {
  HEADWISE_ASSIGN(const auto texts, seen.text ? read_one_text(*seen.text)
                                              : read_text_file(seen.texts));
  HEADWISE_ASSIGN(const auto a, read_any_model(seen.model));
  HEADWISE_ASSIGN(const auto b, read_any_model(seen.against, "--against"));
  HEADWISE_ASSIGN(auto models, compare_two_models(seen, *a, *b, texts.texts));
  models.empty = texts.empty_lines;
  if (models.first_different) {
    models.first_different = texts.lines[*models.first_different - 1];
  }
  sort_compared_heads(sort, models.heads);
  return models;
}

Result<TwoModels> compare_two_models(const ViewedFlags& seen,
                                     const TextModel& a, const TextModel& b,
                                     std::span<const std::string_view> texts) {
  HEADWISE_ASSIGN(const auto executor, executor_with(seen.operation.threads));
  std::vector<Tensor<float, 1>> gates;
  if (seen.against.empty()) {
    HEADWISE_ASSIGN(const auto ablated,
                    parse_head_list("--ablate", seen.ablate));
    HEADWISE_ASSIGN(gates, ablated_gates(b, ablated));
  }
  HEADWISE_ASSIGN(const auto limit, limit_of_both(seen, a, b));
  ProgressBar bar{seen.command, "texts"};
  const auto changes = ModelComparison::of(a, b, texts,
                                           {.max_tokens = limit,
                                            .head_gates_b = gates,
                                            .progress = bar.progress(),
                                            .executor = &executor});
  if (!changes) {
    return error_of_models(changes.error(), seen);
  }
  TwoModels models{.model = seen.model,
                   .against = seen.against,
                   .matched = seen.matched,
                   .texts = changes->texts(),
                   .cut = changes->cut_texts(),
                   .max_tokens = limit,
                   .same_tokens = changes->same_tokens()};
  if (changes->first_different()) {
    models.first_different = *changes->first_different() + 1;
  }
  add_compared_heads(*changes, models);
  sort_compared_heads("", models.heads);
  return models;
}

}  // namespace headwise::cli
