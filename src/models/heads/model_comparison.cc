#include "headwise/heads/model_comparison.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/check.h"
#include "base/out_of_memory.h"
#include "heads/batches.h"
#include "heads/head_matches.h"
#include "heads/known_sums.h"
#include "heads/map_overlap.h"
#include "heads/numbered_heads.h"
#include "heads/text_heads.h"
#include "run/shared_progress.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr const char* kModelComparison = "compare_models";

// Texts whose overlaps are held at a time, at least.
constexpr std::size_t kGroup = 16;

struct OfText {
  std::vector<float> statistics_a;
  std::vector<float> statistics_b;
  bool same_tokens = false;
  bool cut = false;
  std::optional<Tensor<double, 2>> overlaps{};  // of the same tokens
};

Result<std::size_t> token_limit(const TextModel& a, const TextModel& b,
                                std::optional<std::size_t> wanted) {
  const std::size_t most =
      std::min(a.shape().max_positions, b.shape().max_positions);
  const std::size_t limit = wanted.value_or(
      std::min({a.shape().max_tokens, b.shape().max_tokens, most}));
  if (limit > most) {
    return value_error(
        kModelComparison, "max_tokens", std::to_string(limit),
        message("at most {}, the positions that both models have", most));
  }
  return limit;
}

// A head of NaN would be compared with nothing and counted nowhere.
Status check_numbers(const TextModel& model, std::string_view name,
                     const TextHeads& on) {
  const NumberedHeads heads(model, {});
  for (std::size_t h = 0; h < heads.size() && !on.ids.empty(); ++h) {
    if (std::isnan(
            on.statistics[h * kStatistics + index_of(Statistic::entropy)])) {
      return argument_error(
          kModelComparison, name,
          message("computes NaN in head {}.{}", heads[h].layer, heads[h].head),
          "attention weights that are numbers", ErrorCode::bad_data);
    }
  }
  return ok();
}

bool same_tokens(const TextModel& a, const TextHeads& on_a, const TextModel& b,
                 const TextHeads& on_b) {
  return std::ranges::equal(on_a.ids, on_b.ids, [&](TokenId x, TokenId y) {
    return a.token(x) == b.token(y);
  });
}

// Of b, whose gates have a name of their own.
Error error_of_b(const Error& error) {
  ErrorDetails details = error.details();
  constexpr std::string_view kName = "head_gates";
  if (details.argument.starts_with(kName)) {
    details.operation = kModelComparison;
    details.argument.insert(kName.size(), "_b");
  }
  return {error.code(), std::move(details)};
}

Result<OfText> compare(const TextModel& a, const TextModel& b,
                       std::string_view text, std::size_t max_tokens,
                       HeadGateSpan gates_b, const Executor& executor) {
  HEADWISE_ASSIGN(auto on_a, text_heads(a, text, max_tokens, {}, executor));
  auto on_b = text_heads(b, text, max_tokens, gates_b, executor);
  if (!on_b) {
    return error_of_b(on_b.error());
  }
  HEADWISE_TRY(check_numbers(a, "a", on_a));
  HEADWISE_TRY(check_numbers(b, "b", *on_b));
  OfText found{.statistics_a = std::move(on_a.statistics),
               .statistics_b = std::move(on_b->statistics),
               .same_tokens = same_tokens(a, on_a, b, *on_b),
               .cut = on_a.cut != 0 || on_b->cut != 0};
  if (found.same_tokens && !on_a.ids.empty()) {
    const auto layers_a = on_a.compared();
    const auto layers_b = on_b->compared();
    HEADWISE_ASSIGN(found.overlaps,
                    map_overlaps(layers_a, layers_b, &executor));
  }
  return found;
}

// Welford's update of the mean and of the squared deviations.
void add_number(double number, std::size_t count, double& mean,
                double& squares) {
  const double before = number - mean;
  mean += before / static_cast<double>(count);
  squares += before * (number - mean);
}

}  // namespace

// Compares the texts in groups; those of a group at the same time.
class ModelComparison::Texts {
 public:
  Texts(const TextModel& a, const TextModel& b,
        std::span<const std::string_view> texts,
        const ModelComparisonOptions& options, std::size_t max_tokens)
      : a_(a),
        b_(b),
        texts_(texts),
        executor_(options.executor ? *options.executor
                                   : Executor::default_executor()),
        gates_b_(options.head_gates_b),
        progress_(options.progress, texts.size()),
        max_tokens_(max_tokens) {}

  Status add_to(ModelComparison& to) {
    const std::size_t group = std::max(kGroup, executor_.threads());
    for (std::size_t first = 0; first < texts_.size(); first += group) {
      const std::size_t count = std::min(group, texts_.size() - first);
      std::vector<OfText> found(count);
      const Status done = run_batches(
          count, executor_,
          [&](std::size_t n, const Executor& of_text) -> Status {
            HEADWISE_ASSIGN(found[n], compare(a_, b_, texts_[first + n],
                                              max_tokens_, gates_b_, of_text));
            progress_.add(1);
            return ok();
          });
      HEADWISE_TRY(done);
      for (std::size_t n = 0; n < count; ++n) {
        add(found[n], first + n, to);
      }
    }
    return ok();
  }

 private:
  static void add(const OfText& found, std::size_t text, ModelComparison& to) {
    std::ranges::copy(found.statistics_a, to.a_.statistics.data() +
                                              text * found.statistics_a.size());
    std::ranges::copy(found.statistics_b, to.b_.statistics.data() +
                                              text * found.statistics_b.size());
    to.cut_ += found.cut ? 1 : 0;
    if (!found.same_tokens && !to.different_) {
      to.different_ = text;
    }
    if (!found.overlaps) {
      return;
    }
    ++to.same_tokens_;
    for (std::size_t n = 0; n < found.overlaps->size(); ++n) {
      add_number(found.overlaps->data()[n], to.same_tokens_,
                 to.similarity_.data()[n], to.squares_.data()[n]);
    }
  }

  const TextModel& a_;
  const TextModel& b_;
  std::span<const std::string_view> texts_;
  const Executor& executor_;
  HeadGateSpan gates_b_;
  SharedProgress progress_;
  std::size_t max_tokens_;
};

Result<ModelComparison> ModelComparison::of(
    const TextModel& a, const TextModel& b,
    std::span<const std::string_view> texts,
    const ModelComparisonOptions& options) try {
  HEADWISE_ASSIGN(const auto limit, token_limit(a, b, options.max_tokens));
  ModelComparison made;
  made.texts_ = texts.size();
  for (auto [model, to] : {std::pair(&a, &made.a_), std::pair(&b, &made.b_)}) {
    to->heads = NumberedHeads(*model, {}).all();
    HEADWISE_ASSIGN(to->statistics,
                    Tensor<float, 3>::create(
                        {texts.size(), to->heads.size(), kStatistics}));
  }
  const Extents<2> pairs{made.a_.heads.size(), made.b_.heads.size()};
  for (auto* const sums : {&made.similarity_, &made.squares_}) {
    HEADWISE_ASSIGN(*sums, Tensor<double, 2>::create(pairs));
  }
  HEADWISE_TRY(Texts(a, b, texts, options, limit).add_to(made));
  if (made.same_tokens_ != 0) {
    HeadMatches matches =
        match_heads(made.similarity_, made.a_.heads, made.b_.heads);
    made.partners_ = std::move(matches.partners);
    made.nearest_ = std::move(matches.nearest);
  } else {
    made.partners_.resize(pairs[0]);
    made.nearest_.resize(pairs[0]);
  }
  return made;
} catch (...) {
  return caught_out_of_memory();
}

std::vector<std::optional<std::size_t>> ModelComparison::others(
    HeadPairing pairing) const {
  if (pairing == HeadPairing::match) {
    return partners_;
  }
  std::vector<std::optional<std::size_t>> found;
  for (const HeadId& head : a_.heads) {
    const auto at = std::ranges::lower_bound(b_.heads, head);
    found.push_back(at != b_.heads.end() && *at == head
                        ? std::optional<std::size_t>(at - b_.heads.begin())
                        : std::nullopt);
  }
  return found;
}

MeanInterval ModelComparison::similarity(std::size_t a, std::size_t b) const {
  return same_tokens_ == 0
             ? mean_interval({})
             : mean_interval(same_tokens_, similarity_(a, b), squares_(a, b));
}

HeadPair ModelComparison::pair(std::size_t a, std::size_t b) const {
  HeadPair pair{a_.heads[a], b_.heads[b], similarity(a, b), {}, {}, {}};
  for (std::size_t k = 0; k < kStatistics; ++k) {
    std::vector<double> of_a;
    std::vector<double> of_b;
    std::vector<double> difference;
    for (std::size_t text = 0; text < texts_; ++text) {
      of_a.push_back(static_cast<double>(a_.statistics(text, a, k)));
      of_b.push_back(static_cast<double>(b_.statistics(text, b, k)));
      difference.push_back(of_a.back() - of_b.back());
    }
    pair.mean_a[k] = mean_interval(of_a).mean;
    pair.mean_b[k] = mean_interval(of_b).mean;
    pair.difference[k] = mean_interval(difference);
  }
  return pair;
}

}  // namespace headwise::inline HEADWISE_ABI
