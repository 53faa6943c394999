#include "generate_files.h"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "headwise/attention/statistics_options.h"
#include "headwise/interop/atomic_file.h"
#include "headwise/interop/npy.h"
#include "headwise/interop/npz.h"
#include "shell/json.h"
#include "shell/models/attention_places.h"

namespace headwise::cli {
namespace {

std::string prefix_of(const Variant& variant, std::size_t n) {
  return variant.texts.size() > 1 ? fmt::format("{}/", n) : "";
}

Status write_weights(const std::string& path, const GenerateJob& job,
                     const Variant& variant) {
  std::map<std::string, AnyView> entries;
  for (std::size_t n = 0; n < variant.texts.size(); ++n) {
    const GeneratedText& text = variant.texts[n];
    for (std::size_t h = 0; h < text.attn_weights.size(); ++h) {
      entries.emplace(prefix_of(variant, n) + name_of(job.options.heads[h]),
                      text.attn_weights[h].view());
    }
  }
  return write_npz(path, entries);
}

Status write_received(const std::string& path, const Variant& variant) {
  std::map<std::string, AnyView> entries;
  for (std::size_t n = 0; n < variant.texts.size(); ++n) {
    const GeneratedText& text = variant.texts[n];
    for (std::size_t layer = 0; layer < text.received.size(); ++layer) {
      entries.emplace(prefix_of(variant, n) + std::to_string(layer),
                      text.received[layer].view());
    }
  }
  return write_npz(path, entries);
}

// Of a head, each statistic's values by step.
Json heads_json(const GenerateJob& job, const GeneratedText& text) {
  Json list = Json::array();
  if (text.statistics.empty()) {
    return list;
  }
  for (std::size_t n = 0; n < text.statistics[0].size(); ++n) {
    const HeadStatistics& first = text.statistics[0][n];
    const bool is_cross = first.place.kind == AttentionKind::cross;
    const auto& left = job.model.model().heads_in(first.place.layer);
    for (std::size_t h = 0; h < first.rows.extent(0); ++h) {
      const std::size_t number = is_cross ? h : left[h];
      Json head = {{"kind", is_cross ? "cross" : "self"},
                   {"layer", first.place.layer},
                   {"head", number}};
      for (std::size_t s = 0; s < kStatistics; ++s) {
        const auto statistic = static_cast<Statistic>(s);
        if ((is_cross && compares_positions(statistic)) ||
            statistic == Statistic::separator) {
          continue;
        }
        std::vector<double> values;
        for (const auto& step : text.statistics) {
          values.push_back(double{step[n].rows(h, s)});
        }
        head[std::string(name_of(statistic))] = values;
      }
      list.push_back(std::move(head));
    }
  }
  return list;
}

std::string stats_text(const GenerateJob& job, const Variant& variant) {
  Json texts = Json::array();
  for (const GeneratedText& text : variant.texts) {
    texts.push_back({{"ids", text.ids}, {"heads", heads_json(job, text)}});
  }
  return json_text(
      with_schema("headwise.generated_statistics", {{"texts", texts}}));
}

}  // namespace

Outcome write_generated(const GenerateFlags& flags, const GenerateJob& job,
                        const Variant& variant) {
  if (!flags.attn_weights.empty()) {
    HEADWISE_TRY(written(write_weights(flags.attn_weights, job, variant)));
  }
  if (!flags.received.empty()) {
    HEADWISE_TRY(written(write_received(flags.received, variant)));
  }
  if (!flags.logits.empty()) {
    HEADWISE_TRY(
        written(write_npy(flags.logits, variant.texts[0].logits.view())));
  }
  return flags.stats.empty() ? Outcome()
                             : written(write_file_atomically(
                                   flags.stats, stats_text(job, variant)));
}

}  // namespace headwise::cli
