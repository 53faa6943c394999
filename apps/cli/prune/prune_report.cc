#include "prune_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "shell/error_text.h"
#include "shell/json.h"
#include "shell/models/label_text.h"
#include "shell/say.h"
#include "shell/terminal_text.h"

namespace headwise::cli {
namespace {

// Less is the noise of a machine.
constexpr double kWon = 0.97;

double megabytes(std::size_t bytes) { return static_cast<double>(bytes) / 1e6; }

bool has_accuracy(const PruneReport& report) {
  return report.before && report.after;
}

std::string accuracy_line(const PruneReport& report) {
  if (report.next_tokens) {
    return text_of(*report.next_tokens);
  }
  if (report.cosine) {
    return say(
        "accuracy    not measured: {}; mean cosine similarity to the "
        "whole model's embeddings: {:.4f}\n",
        error_text(*report.why_no_accuracy), *report.cosine);
  }
  if (!has_accuracy(report)) {
    return say("accuracy    not measured: {}\n",
               error_text(*report.why_no_accuracy));
  }
  const AccuracyChange by = change_between(*report.before, *report.after);
  return say(
      "accuracy    {} before, {} after, on {} texts: {:+.1f} points ({:+.1f} "
      "to {:+.1f})\n",
      accuracy_text(*report.before), accuracy_text(*report.after),
      report.after->right.size(), 100 * by.change, 100 * by.low, 100 * by.high);
}

// Two significant digits where two decimals would have fewer.
std::string ratio_text(double ratio) {
  constexpr double kSmall = 0.1;
  return ratio < kSmall ? fmt::format("{:.2g}", ratio)
                        : fmt::format("{:.2f}", ratio);
}

std::string time_line(std::string_view name, const BeforeAndAfter& time) {
  return say("{:<12}{:.2f} ms before, {:.2f} ms after: {} of the time{}\n",
             name, 1e3 * time.before, 1e3 * time.after,
             ratio_text(time.ratio()),
             time.ratio() < kWon ? "" : say(", no gain"));
}

// transformers reads one number of heads for all layers.
std::string export_line(const PruneReport& report) {
  if (report.full_size) {
    return say(
        "export      full size: removed heads are zeros, and "
        "transformers loads the folder\n");
  }
  return report.sizes.heads_after == report.sizes.heads_before
             ? ""
             : say("export      pruned; for transformers use --export "
                   "full-size\n");
}

Json json_of(const Answers& answers) {
  const auto [low, high] = answers.interval();
  return {{"accuracy", answers.accuracy()},
          {"low", low},
          {"high", high},
          {"texts", answers.right.size()}};
}

Json json_of(const BeforeAndAfter& time) {
  return {{"before_s", time.before},
          {"after_s", time.after},
          {"ratio", time.ratio()}};
}

}  // namespace

std::string text_of(const PruneReport& report) {
  const auto& [heads_before, heads_after, bytes_before, bytes_after] =
      report.sizes;
  return say("{}: {} of {} heads kept, by {}{}; per layer {}\n",
             shown(report.out), heads_after, heads_before, shown(report.method),
             report.corrected ? say(", outputs corrected by least squares")
                              : "",
             fmt::join(report.kept, " ")) +
         export_line(report) + accuracy_line(report) +
         say("size        {:.1f} MB before, {:.1f} MB after\n",
             megabytes(bytes_before), megabytes(bytes_after)) +
         time_line(say("attention"), report.times.attention) +
         time_line(say("whole model"), report.times.model) +
         say("(medians of {} alternating rounds, {} sequences of {} "
             "tokens{})\n",
             report.times.rounds, report.times.sequences, report.times.tokens,
             has_accuracy(report) || report.next_tokens
                 ? say("; 95% confidence intervals in brackets")
                 : "");
}

std::string json_of(const PruneReport& report) {
  Json json = {{"out", report.out},
               {"method", report.method},
               {"corrected", report.corrected},
               {"export", report.full_size ? "full-size" : "pruned"},
               {"heads_before", report.sizes.heads_before},
               {"heads_after", report.sizes.heads_after},
               {"heads_of_layers", report.kept},
               {"bytes_before", report.sizes.bytes_before},
               {"bytes_after", report.sizes.bytes_after}};
  if (has_accuracy(report)) {
    const AccuracyChange by = change_between(*report.before, *report.after);
    json["before"] = json_of(*report.before);
    json["after"] = json_of(*report.after);
    json["change"] = {
        {"accuracy", by.change}, {"low", by.low}, {"high", by.high}};
  } else if (report.next_tokens) {
    json["next_tokens"] = json_of(*report.next_tokens);
  } else {
    json["accuracy_not_measured"] = report.why_no_accuracy->message();
  }
  if (report.cosine) {
    json["cosine"] = *report.cosine;
  }
  json["times"] = {{"sequences", report.times.sequences},
                   {"tokens", report.times.tokens},
                   {"rounds", report.times.rounds},
                   {"attention", json_of(report.times.attention)},
                   {"model", json_of(report.times.model)}};
  return json_text(json);
}

}  // namespace headwise::cli
