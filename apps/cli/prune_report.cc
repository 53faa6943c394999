#include "prune_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "json/json.h"

namespace headwise::cli {
namespace {

// Less is the noise of a machine.
constexpr double kWon = 0.97;

double megabytes(std::size_t bytes) { return static_cast<double>(bytes) / 1e6; }

std::string accuracy_line(const PruneReport& report) {
  if (report.cosine) {
    return fmt::format(
        "accuracy    not measured: {}; the embeddings' mean cosine with "
        "those of the whole model is {:.4f}\n",
        report.why_no_accuracy, *report.cosine);
  }
  if (!report.before || !report.after) {
    return fmt::format("accuracy    not measured: {}\n",
                       report.why_no_accuracy);
  }
  const AccuracyChange by = change_between(*report.before, *report.after);
  return fmt::format(
      "accuracy    {} before, {} after, on {} texts: {:+.1f} points ({:+.1f} "
      "to "
      "{:+.1f})\n",
      accuracy_text(*report.before), accuracy_text(*report.after),
      report.after->right.size(), 100 * by.change, 100 * by.low, 100 * by.high);
}

std::string time_line(std::string_view name, const BeforeAndAfter& time) {
  return fmt::format(
      "{:<12}{:.2f} ms before, {:.2f} ms after: {:.2f} of it{}\n", name,
      1e3 * time.before, 1e3 * time.after, time.ratio(),
      time.ratio() < kWon ? "" : ", nothing is won");
}

// transformers reads one number of heads for all layers.
std::string export_line(const PruneReport& report) {
  if (report.full_size) {
    return "export      full size: removed heads are zeros, and transformers "
           "loads the folder\n";
  }
  return report.sizes.heads_after == report.sizes.heads_before
             ? ""
             : "export      pruned; for transformers use --export full-size\n";
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
  return fmt::format(
             "{}: {} of {} heads, by {}{}; of each layer {}\n", report.out,
             heads_after, heads_before, report.method,
             report.corrected ? ", outputs corrected by least squares" : "",
             fmt::join(report.kept, " ")) +
         export_line(report) + accuracy_line(report) +
         fmt::format("size        {:.1f} MB before, {:.1f} MB after\n",
                     megabytes(bytes_before), megabytes(bytes_after)) +
         time_line("attention", report.times.attention) +
         time_line("whole model", report.times.model) +
         fmt::format(
             "(medians of {} rounds in turns, {} sequences of {} tokens; 95 of "
             "100 such intervals hold the accuracy)\n",
             report.times.rounds, report.times.sequences, report.times.tokens);
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
  if (report.before && report.after) {
    const AccuracyChange by = change_between(*report.before, *report.after);
    json["before"] = json_of(*report.before);
    json["after"] = json_of(*report.after);
    json["change"] = {
        {"accuracy", by.change}, {"low", by.low}, {"high", by.high}};
  } else {
    json["accuracy_not_measured"] = report.why_no_accuracy;
  }
  if (report.cosine) {
    json["cosine"] = *report.cosine;
  }
  json["times"] = {{"sequences", report.times.sequences},
                   {"tokens", report.times.tokens},
                   {"rounds", report.times.rounds},
                   {"attention", json_of(report.times.attention)},
                   {"model", json_of(report.times.model)}};
  return json.dump() + "\n";
}

}  // namespace headwise::cli
