#include "explain_text.h"

#include <fmt/format.h>

#include "number_format.h"
#include "sentence_text.h"
#include "step_words.h"
#include "words.h"

namespace headwise::cli {
namespace {

constexpr std::string_view kIndent = "    ";

template <class... Args>
std::string say(Word word, Language language, const Args&... args) {
  return fmt::format(fmt::runtime(text_of(word, language)), args...);
}

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

// Weights that dropout made 0.
std::size_t dropped(const ExplainedJob& job, const TracedStep& step) {
  const TracedStep* before = job.find("attn_weights");
  std::size_t count = 0;
  for (std::size_t n = 0; before != nullptr && n < step.size(); ++n) {
    count += before->at(n) != 0 && step.at(n) == 0 ? 1 : 0;
  }
  return count;
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
    add(say(Word::allowed, language, allowed, summary.count,
            percent(allowed, summary.count)));
    return text;
  }
  add(summary.finite == 0
          ? say(Word::no_range, language)
          : say(Word::range, language, range_text(step, summary.min),
                range_text(step, summary.max)));
  if (step.name == "scores" && !job.additive) {
    add(say(Word::scale, language, job.scale));
  }
  if (step.name == "capped_scores") {
    add(say(Word::softcap, language, job.softcap.value_or(0)));
  }
  if (step.name == "masked_scores" ||
      (step.name == "biased_scores" && summary.masked != 0)) {
    add(say(Word::masked, language, summary.masked, summary.count,
            percent(summary.masked, summary.count)));
  }
  if (step.name == "dropped_weights") {
    add(say(Word::dropout, language, job.dropout, dropped(job, step),
            summary.count));
  }
  if (summary.nan != 0) {
    add(say(Word::has_nan, language, summary.nan));
  }
  return text;
}

std::string head_lines(const ExplainedJob& job, const TracedStep& step,
                       std::size_t number, Language language) {
  return fmt::format(
      "{:>2}. {}: {}\n{}{}\n{}{} {}  {}\n", number, step.name,
      operation_of(job, step, language), kIndent, formula_of(job, step),
      kIndent, text_of(Word::shape, language), shape_line(step),
      step.has_data() && step.size() != 0 ? summary_line(job, step, language)
                                          : std::string(name_of(step.dtype)));
}

std::string title(const ExplainedJob& job, Language language) {
  if (job.sentence) {
    return sentence_title(job, language);
  }
  const bool one = job.batch == 1;
  const Word word = !job.batched       ? Word::title_unbatched
                    : !job.from_tokens ? Word::title_vectors
                    : job.cross && one ? Word::title_cross_one
                    : job.cross        ? Word::title_cross
                    : one              ? Word::title_one
                                       : Word::title_tokens;
  const std::string heads =
      job.group() != 1
          ? say(Word::grouped_heads, language, job.num_heads, job.num_kv_heads)
          : say(Word::heads, language, job.num_heads);
  std::string text =
      say(word, language, job.batch, job.vocab_size, heads, job.embed_dim) +
      "\n";
  if (!job.from_tokens) {
    return text;
  }
  if (job.cross) {
    text += say(Word::max_target_length, language, job.query_length) + "\n" +
            say(Word::max_source_length, language, job.key_length) + "\n";
  } else {
    text += say(Word::max_length, language, job.query_length) + "\n";
  }
  return text;
}

std::string numbers_of(const ExplainedJob& job, const TracedStep& step,
                       bool corners, const std::string& indent) {
  return job.sentence && is_token_table(step)
             ? token_table(*job.sentence, step, corners, indent)
             : tensor_text(step, corners, indent);
}

}  // namespace

std::string explain_text(const ExplainedJob& job, Language language) {
  std::string text = title(job, language);
  bool computed = true;
  for (std::size_t n = 0; n < job.steps.size(); ++n) {
    const TracedStep& step = job.steps[n];
    text += "\n" + head_lines(job, step, n + 1, language);
    computed = computed && step.has_data();
    if (step.has_data()) {
      text += numbers_of(job, step, true, std::string(kIndent));
    }
  }
  text += "\n";
  if (!computed) {
    text += say(Word::shapes_only, language) + "\n";
  }
  text += say(Word::axes, language) + "\n";
  if (job.sentence && computed) {
    text += say(Word::token_axes, language) + "\n";
  }
  if (job.group() != 1) {
    text += say(Word::grouped_axis, language, job.group()) + "\n";
  }
  return text;
}

std::string step_text(const ExplainedJob& job, const TracedStep& step,
                      Language language) {
  const auto number = static_cast<std::size_t>(&step - job.steps.data()) + 1;
  std::string text = head_lines(job, step, number, language);
  if (step.has_data()) {
    text += numbers_of(job, step, false, "");
  }
  return text;
}

}  // namespace headwise::cli
