#include "explain_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "sentence_text.h"
#include "shell/number_format.h"
#include "shell/say.h"
#include "step_words.h"

namespace headwise::cli {
namespace {

constexpr std::string_view kStepIndent = "    ";

// "(B=10, H=8, Lq=20, Lkv=20)"
std::string shape_line(const TracedStep& step) {
  std::string text = "(";
  for (std::size_t axis = 0; axis < step.axes.size(); ++axis) {
    text += axis == 0 ? "" : ", ";
    text += step.axes[axis] == "1"
                ? "1"
                : fmt::format("{}={}", step.axes[axis], step.extents[axis]);
  }
  return text + ")";
}

double percent(std::size_t part, std::size_t whole) {
  return whole == 0
             ? 0
             : 100 * static_cast<double>(part) / static_cast<double>(whole);
}

std::string range_text(const TracedStep& step, double value) {
  return step.dtype == DType::int64 ? fmt::format("{:.0f}", value)
                                    : fmt::format("{:.4g}", value);
}

// Of the weights that may attend, those that dropout made 0.
struct Dropped {
  std::size_t count = 0;
  std::size_t of = 0;
};
Dropped dropped(const ExplainedJob& job, const TracedStep& step) {
  const TracedStep& before = *job.find("attn_weights");
  const TracedStep* const masked = job.masked_scores();
  Dropped dropped;
  for (std::size_t n = 0; n < step.size(); ++n) {
    if (masked == nullptr ||
        masked->at(n) != -std::numeric_limits<double>::infinity()) {
      ++dropped.of;
      dropped.count += before.at(n) != 0 && step.at(n) == 0 ? 1 : 0;
    }
  }
  return dropped;
}

std::string summary_line(const ExplainedJob& job, const TracedStep& step,
                         Language language) {
  const StepSummary summary = summarize(step);
  std::string text;
  const auto add = [&](const std::string& part) {
    text += text.empty() ? part : "; " + part;
  };
  if (step.dtype == DType::boolean) {
    const std::size_t allowed = summary.count - summary.masked;
    add(say(language, "{} of {} may attend ({:.1f}%)", allowed, summary.count,
            percent(allowed, summary.count)));
    return text;
  }
  add(summary.finite == 0
          ? say(language, "no finite number")
          : say(language, "min {}, max {}", range_text(step, summary.min),
                range_text(step, summary.max)));
  if (step.name == "scores" && !job.additive) {
    add(fmt::format("scale = {:.6g}", job.scale));
  }
  if (step.name == "capped_scores") {
    add(fmt::format("softcap = {:.6g}", job.softcap.value_or(0)));
  }
  if (step.name == "masked_scores" ||
      (step.name == "biased_scores" && summary.masked != 0)) {
    add(say(language, "{} of {} masked ({:.1f}%)", summary.masked,
            summary.count, percent(summary.masked, summary.count)));
  }
  if (step.name == "dropped_weights") {
    const auto [count, of] = dropped(job, step);
    add(say(language, "p = {:.6g}, {} of {} weights dropped ({:.1f}%)",
            job.dropout, count, of, percent(count, of)));
  }
  if (summary.nan != 0) {
    add(say(language, "{} NaN", summary.nan));
  }
  return text;
}

std::string head_lines(const ExplainedJob& job, const TracedStep& step,
                       std::size_t number, Language language) {
  return fmt::format("{:>2}. {}: {}\n{}{}\n{}{} {}  {}\n", number, step.name,
                     operation_of(job, step, language), kStepIndent,
                     formula_of(job, step, language), kStepIndent,
                     say(language, "shape"), shape_line(step),
                     step.has_data() && step.size() != 0
                         ? summary_line(job, step, language)
                         : std::string(name_of(step.dtype)));
}

// Of the batch, the vocabulary, the heads and embed_dim.
using Title =
    fmt::format_string<std::size_t, std::size_t, std::string, std::size_t>;

constexpr Title kSelf =
    "{0} sequences of token ids (vocabulary {1}) attend to themselves: {2}, "
    "embed_dim {3}.";
constexpr Title kSelfOfOne =
    "One sequence of token ids (vocabulary {1}) attends to itself: {2}, "
    "embed_dim {3}.";
constexpr Title kCross =
    "{0} target sequences (queries) attend to {0} source sequences (keys and "
    "values), vocabulary {1}: {2}, embed_dim {3}.";
constexpr Title kCrossOfOne =
    "One target sequence (queries) attends to one source sequence (keys and "
    "values), vocabulary {1}: {2}, embed_dim {3}.";
constexpr Title kVectors =
    "Queries attend to keys and values, all given as vectors (batch of {0}): "
    "{2}, embed_dim {3}.";
constexpr Title kUnbatched =
    "The queries of one sequence attend to its keys and values, given as "
    "vectors without a batch: {2}, embed_dim {3}.";

const Title& title_of(const ExplainedJob& job) {
  const bool one = job.batch == 1;
  return !job.batched       ? kUnbatched
         : !job.from_tokens ? kVectors
         : job.cross && one ? kCrossOfOne
         : job.cross        ? kCross
         : one              ? kSelfOfOne
                            : kSelf;
}

// Whether there is padding and neither a mask nor a bias that could hide it.
bool attends_to_padding(const ExplainedJob& job) {
  return job.masked_scores() == nullptr &&
         std::ranges::any_of(job.key_ids, [&](const auto& sequence) {
           return sequence.size() < job.key_length;
         });
}

std::string step_title(const ExplainedJob& job, Language language) {
  if (job.sentence) {
    return sentence_title(job, language);
  }
  const std::string heads =
      job.group() != 1 ? say(language, "{} query heads, {} key/value heads",
                             job.num_heads, job.num_kv_heads)
                       : heads_text(job.num_heads, language);
  std::string text = say(language, title_of(job), job.batch, job.vocab_size,
                         heads, job.embed_dim) +
                     "\n";
  if (!job.from_tokens) {
    return text;
  }
  if (job.decode) {
    return text + say(language,
                      "One decode step: the cache has {} tokens; the new "
                      "token is appended and attends to all {}.\n",
                      job.key_length - 1, job.key_length);
  }
  if (job.cross) {
    text += say(language,
                "Maximum target sequence length: {}\n"
                "Maximum source sequence length: {}\n",
                job.query_length, job.key_length);
  } else {
    text += say(language, "Maximum sequence length: {}\n", job.query_length);
  }
  if (attends_to_padding(job)) {
    text += say(language,
                "Padding is attended to like any token; --mask-kind padding "
                "masks it.\n");
  }
  return text;
}

std::string numbers_of(const ExplainedJob& job, const TracedStep& step,
                       bool corners, const std::string& indent) {
  return job.sentence && is_token_table(step)
             ? token_table(*job.sentence, step, corners, indent)
             : tensor_text(step, corners, indent);
}

// What the axes' letters and the tables stand for.
std::string axes_text(const ExplainedJob& job, bool computed,
                      Language language) {
  std::string text = say(
      language,
      "Axes: B batch, L tokens, Lq queries, Lkv keys, H heads, D size of a "
      "query or key head,\nDv size of a value head, E embed_dim; 1 = the same "
      "along this axis (broadcast).\n");
  if (job.decode) {
    text += say(language,
                "P tokens in the cache before this step, Lkv = P + Lq.\n");
  }
  if (job.sentence && computed) {
    text += say(
        language,
        "Token tables: a row is a query, the token that attends; a column is "
        "a key, the\ntoken attended to. --step attn_weights prints the whole "
        "table of every head.\n");
  }
  if (job.group() != 1) {
    text += say(language,
                "Hkv key/value heads: query head h reads head floor(h/{}).\n",
                job.group());
  }
  return text;
}

std::string param_text(const ExplainedJob& job, const TracedStep& param,
                       Language language) {
  return fmt::format("{}: {}\n{}{} {}  {}\n", param.name,
                     say(language, "a parameter of the layer"), kStepIndent,
                     say(language, "shape"), shape_line(param),
                     summary_line(job, param, language)) +
         numbers_of(job, param, false, "");
}

}  // namespace

std::string explain_text(const ExplainedJob& job, Language language) {
  std::string text = step_title(job, language);
  bool computed = true;
  for (std::size_t n = 0; n < job.steps.size(); ++n) {
    const TracedStep& step = job.steps[n];
    text += "\n" + head_lines(job, step, n + 1, language);
    computed = computed && step.has_data();
    if (step.has_data()) {
      text += numbers_of(job, step, true, std::string(kStepIndent));
    }
  }
  text += "\n";
  if (!computed) {
    text += say(language, "Shapes only: nothing was computed.\n");
  }
  text += axes_text(job, computed, language);
  return text;
}

std::string step_text(const ExplainedJob& job, const TracedStep& step,
                      Language language) {
  if (job.find(step.name) != &step) {
    return param_text(job, step, language);
  }
  const auto number = static_cast<std::size_t>(&step - job.steps.data()) + 1;
  std::string text = head_lines(job, step, number, language);
  if (step.has_data()) {
    text += numbers_of(job, step, false, "");
  }
  return text;
}

}  // namespace headwise::cli
