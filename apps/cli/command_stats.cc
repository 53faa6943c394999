// headwise stats
// What each head does, in numbers: a line a head, from the pass that computes
// attention.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "args.h"
#include "command.h"
#include "headwise/attention/statistics.h"
#include "headwise/version.h"
#include "option_errors.h"
#include "output.h"
#include "seen_heads.h"
#include "statistic_names.h"
#include "terminal_text.h"

namespace headwise::cli {
namespace {

constexpr std::string_view kExamples =
    R"(  headwise stats --model all-MiniLM-L6-v2 "The cat sat on the mat."
  headwise stats --model all-MiniLM-L6-v2 - --sort previous < page.txt
  headwise stats --query q.npy --key k.npy --causal --csv)";

constexpr std::string_view kFooter =
    R"(Means over the queries that have a key; shares go from 0 to 1:
  entropy    -sum w ln w, in nats: 0 for one key, ln n for n alike
  distance   how many keys away, by attention weight
  largest    the largest attention weight
  first, previous, self, next, separator   the share of that key)";

struct StatsFlags {
  SeenFlags seen;
  std::string sort;
  bool json = false;
  bool csv = false;
};

struct HeadLine {
  std::size_t layer;
  std::size_t head;
  std::array<double, kStatistics> mean;  // NaN where no query has a key
  std::int64_t queries;
  std::int64_t without_key;
};

Result<std::vector<HeadLine>> compute(const SeenHeads& heads,
                                      const SeenFlags& flags) {
  std::vector<HeadLine> lines;
  AttentionOptions options = heads.options();
  options.statistics.rows = true;
  const auto see = [&](const SeenLayer& layer) -> Status {
    Extents<4> no_value = layer.key.extents();
    Extents<4> no_output = layer.query.extents();
    no_value[3] = 0;
    no_output[3] = 0;
    const auto done = attention_statistics(
        layer.query, layer.key, TensorView<const float, 4>(nullptr, no_value),
        {.output = TensorView<float, 4>(nullptr, no_output)}, options);
    if (!done) {
      return as_data(in_option_words(done.error(), flags.operation));
    }
    const PooledStatistics& pooled = done->pooled;
    for (std::size_t h = 0; h < pooled.rows.size(); ++h) {
      HeadLine line{
          layer.number, h, {}, pooled.rows(h), pooled.rows_without_key(h)};
      for (std::size_t k = 0; k < kStatistics; ++k) {
        line.mean[k] = static_cast<double>(pooled.mean(h, k));
      }
      lines.push_back(line);
    }
    return ok();
  };
  if (Status s = heads.visit(false, see); !s) {
    return s.error();
  }
  return lines;
}

// The largest first; heads without the number last.
void sort_by(const std::string& name, std::vector<HeadLine>& lines) {
  const std::size_t k = find_statistic(name).value();
  std::ranges::stable_sort(lines, [&](const HeadLine& a, const HeadLine& b) {
    return !std::isnan(a.mean[k]) &&
           (std::isnan(b.mean[k]) || a.mean[k] > b.mean[k]);
  });
}

std::string table_text(const std::vector<HeadLine>& lines) {
  std::string text = fmt::format("{:>5} {:>5}", "layer", "head");
  for (const std::string& name : statistic_names()) {
    text += fmt::format(" {:>9}", name);
  }
  text += '\n';
  std::int64_t without_key = 0;
  std::int64_t queries = 0;
  for (const HeadLine& line : lines) {
    text += fmt::format("{:>5} {:>5}", line.layer, line.head);
    for (std::size_t k = 0; k < kStatistics; ++k) {
      const int digits = k == index_of(Statistic::distance) ? 2 : 4;
      text += std::isnan(line.mean[k])
                  ? fmt::format(" {:>9}", "-")
                  : fmt::format(" {:>9.{}f}", line.mean[k], digits);
    }
    text += '\n';
    without_key = std::max(without_key, line.without_key);
    queries = std::max(queries, line.queries + line.without_key);
  }
  if (without_key != 0) {
    text += fmt::format(
        "{} of {} queries see no key in some head, and are in none of its "
        "means\n",
        without_key, queries);
  }
  return text;
}

std::string csv_text(const std::vector<HeadLine>& lines) {
  std::string text = "layer,head,queries,queries_without_key";
  for (const std::string& name : statistic_names()) {
    text += "," + name;
  }
  text += "\n";
  for (const HeadLine& line : lines) {
    text += fmt::format("{},{},{},{}", line.layer, line.head, line.queries,
                        line.without_key);
    for (const double mean : line.mean) {
      // All digits of a float; an empty field where there is none.
      text +=
          std::isnan(mean) ? "," : fmt::format(",{}", static_cast<float>(mean));
    }
    text += "\n";
  }
  return text;
}

std::string json_text(const SeenText& seen,
                      const std::vector<HeadLine>& lines) {
  nlohmann::ordered_json json = {{"schema", "headwise.stats"},
                                 {"schema_version", 1},
                                 {"headwise_version", version()}};
  if (seen.model) {
    json["model"] = *seen.model;
    json["text"] = *seen.text;
    json["tokens"] = seen.query_labels;
    json["cut_tokens"] = seen.cut_tokens;
  }
  json["units"] = {{"entropy", "nats"}, {"distance", "keys"}};
  json["heads"] = nlohmann::ordered_json::array();
  for (const HeadLine& line : lines) {
    nlohmann::ordered_json head = {{"layer", line.layer},
                                   {"head", line.head},
                                   {"queries", line.queries},
                                   {"queries_without_key", line.without_key}};
    for (std::size_t k = 0; k < kStatistics; ++k) {
      const double mean = line.mean[k];
      head[std::string(name_of(static_cast<Statistic>(k)))] =
          std::isnan(mean) ? nlohmann::ordered_json(nullptr)
                           : nlohmann::ordered_json(static_cast<float>(mean));
    }
    json["heads"].push_back(std::move(head));
  }
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) +
         "\n";
}

Outcome run_stats(const StatsFlags& flags, const Streams& streams) {
  if (flags.json && flags.csv) {
    return usage("--json and --csv exclude each other");
  }
  const auto heads = read_seen_heads(flags.seen);
  if (!heads) {
    return failure_of(heads.error());
  }
  auto lines = compute(**heads, flags.seen);
  if (!lines) {
    return failure_of(lines.error());
  }
  if (!flags.sort.empty()) {
    sort_by(flags.sort, *lines);
  }
  const SeenText& seen = (*heads)->text();
  if (flags.json || flags.csv) {
    return print(streams.out,
                 flags.json ? json_text(seen, *lines) : csv_text(*lines));
  }
  std::string head;
  if (seen.model) {
    head = fmt::format(
        "{}: {} tokens{}\n\n", shown(*seen.model), seen.query_labels.size(),
        seen.cut_tokens == 0 ? ""
                             : fmt::format("; {} more did not fit and were cut",
                                           seen.cut_tokens));
  }
  return print(streams.out, head + table_text(*lines));
}

}  // namespace

void add_stats(CLI::App& app, Command& chosen) {
  CLI::App* command = add_command(
      app, "stats", "what each head does, in numbers", std::string(kExamples));
  command->footer(std::string(kFooter));
  auto flags = std::make_shared<StatsFlags>();
  flags->seen.command = "stats";
  add_seen_options(*command, flags->seen);
  command->add_option("--sort", flags->sort, "the largest of this number first")
      ->type_name("NUMBER")
      ->check(one_of(statistic_names()));
  command->add_flag("--json", flags->json, "print JSON")
      ->disable_flag_override();
  command->add_flag("--csv", flags->csv, "print comma separated values")
      ->disable_flag_override();
  command->callback([flags, command, &chosen] {
    flags->seen.given = given_options(*command);
    chosen = [flags](const Streams& s) { return run_stats(*flags, s); };
  });
}

}  // namespace headwise::cli
