#include "inspect/page/page_json.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "headwise/inspect/trace.h"
#include "headwise/inspect/weights_statistics.h"
#include "headwise/version.h"
#include "inspect/page/score_terms.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

// In English, because the reader can change the page's language.
std::string formula_of(const TracedStep& step, const ViewedLayer& given,
                       const AttentionSpec& spec) {
  const AttentionShape& shape = spec.shape;
  const bool even = shape.Hkv != 0 && shape.kv_groups.even();
  return step_formula(step.name, {.steps = given.steps,
                                  .additive = spec.additive(),
                                  .group = even ? shape.Hq / shape.Hkv : 1});
}

// The statistics that are meaningful for such a page.
Json statistics_json(bool cross) {
  Json json = Json::array();
  for (std::size_t k = 0; k < kStatistics; ++k) {
    const auto statistic = static_cast<Statistic>(k);
    if (cross && compares_positions(statistic)) {
      continue;
    }
    json.push_back({{"name", name_of(statistic)},
                    {"unit", statistic == Statistic::entropy    ? "nats"
                             : statistic == Statistic::distance ? "tokens"
                                                                : ""}});
  }
  return json;
}

// The names of the statistics in a head's `rows`.
Json row_statistics_json(bool all) {
  Json json = Json::array();
  for (std::size_t k = 0; k < kStatistics; ++k) {
    const auto statistic = static_cast<Statistic>(k);
    if (all ||
        std::ranges::find(kRowsBesideMap, statistic) != kRowsBesideMap.end()) {
      json.push_back(name_of(statistic));
    }
  }
  return json;
}

Json number_json(double number) {
  return std::isnan(number) ? Json() : Json(number);
}

Json interval_json(const ViewedInterval& interval) {
  return {number_json(interval.mean), number_json(interval.low),
          number_json(interval.high)};
}

Json head_json(const HeadId& head) { return {head.layer, head.head}; }

}  // namespace

Json page_json(const ViewPageSettings& settings) {
  return {{"format", "headwise.view"},
          {"version", 1},
          {"generator", std::string("headwise ") + version()},
          {"lang", settings.language.code()},
          {"title", settings.title},
          {"command", settings.command},
          {"model", settings.model},
          {"text", settings.text},
          {"kind", settings.cross ? "cross" : "self"},
          {"query_tokens", settings.query_labels},
          {"key_tokens", settings.key_labels},
          {"query_special", settings.query_special},
          {"key_special", settings.key_special},
          {"generated_from", settings.generated_from},
          {"statistics", statistics_json(settings.cross)}};
}

Json sizes_json(const ShownLayer& layer) {
  Json json = {
      {"num_queries", layer.queries()},
      {"num_keys", layer.keys()},
      {"head_dim", layer.head_dim()},
      {"query_start", layer.spec().mask.query_start(layer.sequence())}};
  add_shared_terms(layer.spec(), json);
  json["row_statistics"] = row_statistics_json(layer.all_numbers());
  json["first_key"] = layer.spec().mask.first_key(layer.sequence());
  json["separators"] = layer.separators();
  if (const std::size_t B = layer.spec().shape.B; B > 1) {
    json["batch"] = {{"sequence", layer.sequence()}, {"sequences", B}};
  }
  return json;
}

Json sizes_json(const ViewPageSettings& settings) {
  return {{"num_queries", settings.query_labels.size()},
          {"num_keys", settings.key_labels.size()},
          {"head_dim", 0},
          {"query_start", 0},
          {"scale", 1},
          {"softcap", nullptr},
          {"t5_steps", nullptr},
          {"row_statistics", row_statistics_json(/*all=*/false)},
          {"first_key", 0},
          {"separators", Json::array()}};
}

Json step_json(const TracedStep& step, const ViewedLayer& given,
               const AttentionSpec& spec) {
  Json json = {
      {"step", step.name},     {"formula", formula_of(step, given, spec)},
      {"shape", step.extents}, {"axes", step.axes},
      {"min", nullptr},        {"max", nullptr},
      {"not_finite", 0},       {"layer", given.number}};
  if (step.summary || step.has_data()) {
    const StepSummary summary = summarize(step);
    if (summary.finite != 0) {
      json["min"] = summary.min;
      json["max"] = summary.max;
    }
    json["not_finite"] = summary.count - summary.finite;
  }
  return json;
}

Json pooled_json(const EncodedHead& head) {
  Json json = Json::object();
  for (std::size_t k = 0; k < kStatistics; ++k) {
    json[std::string(name_of(static_cast<Statistic>(k)))] = head.pooled.mean[k];
  }
  if (head.norms) {
    json["norm"] = head.mean_norm;
  }
  if (head.gradient) {
    json["gradient"] = head.gradient->total;
  }
  if (head.integrated) {
    json["integrated"] = *head.integrated;
  }
  if (head.integrated_by_layer) {
    json["integrated-by-layer"] = *head.integrated_by_layer;
  }
  return json;
}

Json pruned_json(std::size_t number) {
  return {{"number", number}, {"pruned", true}};
}

Json changes_json(std::span<const ViewedChange> changes) {
  Json list = Json::array();
  for (const ViewedChange& change : changes) {
    Json differences = Json::object();
    for (std::size_t k = 0; k < kStatistics; ++k) {
      differences[name_of(static_cast<Statistic>(k))] =
          interval_json(change.differences[k]);
    }
    list.push_back({{"head", head_json(change.head)},
                    {"other", head_json(change.other)},
                    {"match", change.match ? head_json(*change.match) : Json()},
                    {"similarity", interval_json(change.similarity)},
                    {"differences", std::move(differences)}});
  }
  return list;
}

}  // namespace headwise::inline HEADWISE_ABI
