#include "headwise/inspect/view_page.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "base/out_of_memory.h"
#include "headwise/version.h"
#include "inspect/position_statistics.h"
#include "inspect/step_formula.h"
#include "inspect/view_head.h"
#include "inspect/view_html.h"
#include "inspect/view_layer.h"
#include "inspect/view_mask.h"
#include "json/json.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kOperation = "view_page";

// ---- JSON of the parts. ----

// A step's formula. English, for the reader may change the page's language.
std::string formula_of(const TracedStep& step, const ViewedLayer& given,
                       const AttentionSpec& spec) {
  const StepInfo* const info = spec.additive() && step.name == "scores"
                                   ? &additive_scores_step()
                                   : find_step(step.name);
  const AttentionShape& shape = spec.shape;
  const bool even = shape.Hkv != 0 && shape.kv_groups.data() == nullptr;
  return info == nullptr
             ? ""
             : step_formula(*info, given.steps, even ? shape.Hq / shape.Hkv : 1,
                            Language::en);
}

Json step_json(const TracedStep& step, const ViewedLayer& given,
               const AttentionSpec& spec) {
  Json json = {
      {"step", step.name},     {"formula", formula_of(step, given, spec)},
      {"shape", step.extents}, {"axes", step.axes},
      {"min", nullptr},        {"max", nullptr},
      {"not_finite", 0},       {"layer", given.number}};
  if (step.has_data()) {
    const StepSummary summary = summarize(step);
    if (summary.finite != 0) {
      json["min"] = summary.min;
      json["max"] = summary.max;
    }
    json["not_finite"] = summary.count - summary.finite;
  }
  return json;
}

// Those that mean something.
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

// The names of those that `rows` of a head has.
Json row_statistics_json(bool maps) {
  Json json = Json::array();
  for (std::size_t k = 0; k < kStatistics; ++k) {
    const auto statistic = static_cast<Statistic>(k);
    if (!maps ||
        std::ranges::find(kRowsBesideMap, statistic) != kRowsBesideMap.end()) {
      json.push_back(name_of(statistic));
    }
  }
  return json;
}

Json separators_json(const ShownLayer& layer) {
  Json json = Json::array();
  for (std::size_t j = 0; j < layer.keys(); ++j) {
    if (layer.spec().statistics.separator(layer.sequence(), j)) {
      json.push_back(j);
    }
  }
  return json;
}

Json pooled_json(const EncodedHead& head) {
  Json json = Json::object();
  for (std::size_t k = 0; k < kStatistics; ++k) {
    json[std::string(name_of(static_cast<Statistic>(k)))] = head.pooled.mean[k];
  }
  return json;
}

// What is known before any layer.
Json page_json(const ViewPageSettings& settings) {
  return {{"format", "headwise.view"},
          {"version", 1},
          {"generator", std::string("headwise ") + version()},
          {"lang", settings.language == Language::ko ? "ko" : "en"},
          {"title", settings.title},
          {"command", settings.command},
          {"model", settings.model},
          {"text", settings.text},
          {"kind", settings.cross ? "cross" : "self"},
          {"query_tokens", settings.query_labels},
          {"key_tokens", settings.key_labels},
          {"query_special", settings.query_special},
          {"key_special", settings.key_special},
          {"statistics", statistics_json(settings.cross)}};
}

// What is the same for all layers that have heads.
Json sizes_json(const ShownLayer& layer) {
  return {{"num_queries", layer.queries()},
          {"num_keys", layer.keys()},
          {"head_dim", layer.head_dim()},
          {"query_start", layer.spec().mask.query_start(layer.sequence())},
          {"scale", layer.spec().scale},
          {"softcap", layer.spec().softcap},
          {"row_statistics", row_statistics_json(layer.maps())},
          {"first_key", layer.spec().mask.first_key(layer.sequence())},
          {"separators", separators_json(layer)}};
}

// The same where no layer has any.
Json sizes_json(const ViewPageSettings& settings) {
  return {{"num_queries", settings.query_labels.size()},
          {"num_keys", settings.key_labels.size()},
          {"head_dim", 0},
          {"query_start", 0},
          {"scale", 1},
          {"softcap", nullptr},
          {"row_statistics", row_statistics_json(/*maps=*/true)},
          {"first_key", 0},
          {"separators", Json::array()}};
}

// Nothing else is known of a head that is gone.
Json pruned_json(std::size_t number) {
  return {{"number", number}, {"pruned", true}};
}

// ---- A layer's heads, encoded. ----

struct EncodedLayer {
  std::vector<EncodedHead> heads;
  std::vector<std::string> keys;  // by key head; empty without elements

  // Of all blocks, and of those with query, key and log-sum-exp.
  std::size_t bytes() const;
  std::size_t element_bytes() const;
};

std::size_t EncodedLayer::element_bytes() const {
  std::size_t bytes = 0;
  for (const std::string& key : keys) {
    bytes += key.size();
  }
  for (const EncodedHead& head : heads) {
    bytes += head.query ? head.query->size() + head.lse->size() : 0;
  }
  return bytes;
}

std::size_t EncodedLayer::bytes() const {
  std::size_t bytes = element_bytes();
  for (const EncodedHead& head : heads) {
    bytes += head.rows.size();
    for (const auto* block :
         {&head.columns, &head.top, &head.small, &head.map}) {
      bytes += *block ? (*block)->size() : 0;
    }
  }
  return bytes;
}

EncodedLayer encode(const ShownLayer& layer) {
  const AttentionShape& shape = layer.spec().shape;
  EncodedLayer encoded{
      std::vector<EncodedHead>(shape.Hq),
      std::vector<std::string>(layer.elements() ? shape.Hkv : 0)};
  const auto encode_one = [&](std::size_t h) {
    encoded.heads[h] = encode_head(layer.head(h));
    const std::size_t kv_head = shape.kv_head(h);
    if (layer.elements() && h == shape.first_query_head(kv_head)) {
      encoded.keys[kv_head] = encode_halves(layer.key(kv_head));
    }
  };
  layer.spec().executor->parallel_for(
      shape.Hq, 1, [&](std::size_t begin, std::size_t end) {
        for (std::size_t h = begin; h < end; ++h) {
          encode_one(h);
        }
      });
  return encoded;
}

// Where a head stands, and what of the layer's it uses.
struct HeadPlace {
  std::size_t h = 0;                 // of the tensors
  std::size_t number = 0;            // in the layer as it was
  std::size_t mask = 0;              // of the page's
  std::optional<std::size_t> key{};  // its block
};

Status check_head_numbers(const ViewedLayer& layer) {
  const std::span<const std::size_t> numbers = layer.head_numbers;
  const std::size_t heads = layer.query.extent(2);
  if (numbers.empty() && (layer.num_heads == 0 || layer.num_heads == heads)) {
    return ok();
  }
  HEADWISE_TRY(check_shape(kOperation, "head_numbers", {{numbers.size()}},
                           "(Hq)", {{heads}}));
  for (std::size_t h = 0; h < heads; ++h) {
    const std::string name = "head_numbers[" + std::to_string(h) + "]";
    if (h > 0 && numbers[h] <= numbers[h - 1]) {
      return value_error(
          kOperation, name, std::to_string(numbers[h]),
          "more than " + std::to_string(numbers[h - 1]) + ": they ascend");
    }
    if (numbers[h] >= layer.num_heads) {
      return value_error(
          kOperation, name, std::to_string(numbers[h]),
          "less than num_heads = " + std::to_string(layer.num_heads));
    }
  }
  return ok();
}

std::string megabytes(std::size_t bytes) {
  constexpr std::size_t kMegabyte = std::size_t{1} << 20;
  return std::to_string((bytes + kMegabyte - 1) / kMegabyte) + " MB";
}

}  // namespace

// ---- The page. ----

struct ViewPage::Parts {
  ViewPageSettings settings;
  Json sizes_of_all{};  // null before a layer that has heads
  Json layers = Json::array();
  Json masks = Json::array();
  Json trace = Json::array();
  double error = 0;
  bool maps = true;
  std::vector<EncodedMask> known_masks{};
  std::vector<std::string> blocks{};
  std::size_t bytes = 0;  // of the blocks
  Extents<3> sizes{};     // Lq, Lkv, D of the first layer that has heads

  Status check_sizes(const ShownLayer& layer) const;
  Status check_fits(const ViewedLayer& layer, const EncodedLayer& encoded,
                    bool could_do_without) const;
  std::size_t add_block(std::string block);
  std::size_t add_mask(const ShownLayer& layer, std::size_t h);
  Json add_head(const ShownLayer& layer, const HeadPlace& place,
                EncodedHead head);
  void add_layer(const ViewedLayer& given, const ShownLayer& layer,
                 EncodedLayer encoded);
};

Status ViewPage::Parts::check_sizes(const ShownLayer& layer) const {
  const Extents<3> given = {layer.queries(), layer.keys(), layer.head_dim()};
  if (given[0] == 0 || given[1] == 0) {
    return value_error(kOperation, given[0] == 0 ? "query" : "key", "empty",
                       "at least one row", ErrorCode::shape_mismatch);
  }
  if (!sizes_of_all.is_null()) {
    return check_shape(kOperation, "layer", given, "(Lq, Lkv, D)", sizes);
  }
  HEADWISE_TRY(check_shape(kOperation, "query_labels",
                           {{settings.query_labels.size()}}, "(queries)",
                           {{layer.queries()}}));
  return check_shape(kOperation, "key_labels", {{settings.key_labels.size()}},
                     "(keys)", {{layer.keys()}});
}

Status ViewPage::Parts::check_fits(const ViewedLayer& layer,
                                   const EncodedLayer& encoded,
                                   bool could_do_without) const {
  const std::size_t more = encoded.bytes();
  if (bytes + more <= settings.most_bytes) {
    return ok();
  }
  std::string fits = std::to_string(layers.size()) + " layer(s) fit";
  const std::size_t bare = more - encoded.element_bytes();
  if (could_do_without && encoded.element_bytes() != 0 && bare != 0) {
    fits += ", or about " + std::to_string(settings.most_bytes / bare) +
            " without query and key";
  }
  return value_error(
      kOperation, "page",
      megabytes(bytes + more) + " with layer " + std::to_string(layer.number),
      "at most " + megabytes(settings.most_bytes) + ": " + fits,
      ErrorCode::out_of_range);
}

std::size_t ViewPage::Parts::add_block(std::string block) {
  bytes += block.size();
  blocks.push_back(std::move(block));
  return blocks.size() - 1;
}

std::size_t ViewPage::Parts::add_mask(const ShownLayer& layer, std::size_t h) {
  EncodedMask mask =
      encode_mask(layer.spec(), layer.sequence(), h, layer.queries());
  const auto found = std::ranges::find(known_masks, mask);
  const auto place = static_cast<std::size_t>(found - known_masks.begin());
  if (found == known_masks.end()) {
    Json entry = {{"name", mask_name(layer.spec())},
                  {"ranges", add_block(mask.ranges)},
                  {"bits", nullptr}};
    if (mask.bits) {
      entry["bits"] = add_block(*mask.bits);
    }
    masks.push_back(std::move(entry));
    known_masks.push_back(std::move(mask));
  }
  return place;
}

Json ViewPage::Parts::add_head(const ShownLayer& layer, const HeadPlace& place,
                               EncodedHead head) {
  const AttentionSpec& spec = layer.spec();
  const auto add_optional = [&](std::optional<std::string>& block) {
    return block ? Json(add_block(*std::move(block))) : Json();
  };
  error = std::max(error, head.error);
  return {{"number", place.number},
          {"kv_head", kv_head_number(spec.shape, place.h, place.number)},
          {"pruned", false},
          {"mask", place.mask},
          {"alibi", spec.alibi.given() ? Json(spec.alibi.slope(place.h))
                                       : Json(nullptr)},
          {"error", head.error},
          {"pooled", pooled_json(head)},
          {"empty_rows", head.pooled.empty_rows},
          {"rows", add_block(std::move(head.rows))},
          {"columns", add_optional(head.columns)},
          {"top", {{"count", kPageTopKeys}, {"block", add_optional(head.top)}}},
          {"small",
           {{"rows", map_size(layer.queries())},
            {"columns", map_size(layer.keys())},
            {"block", add_optional(head.small)}}},
          {"map", add_optional(head.map)},
          {"query", add_optional(head.query)},
          {"key", place.key ? Json(*place.key) : Json(nullptr)},
          {"lse", add_optional(head.lse)}};
}

void ViewPage::Parts::add_layer(const ViewedLayer& given,
                                const ShownLayer& layer, EncodedLayer encoded) {
  const AttentionShape& shape = layer.spec().shape;
  std::vector<std::size_t> keys;
  for (std::string& key : encoded.keys) {
    keys.push_back(add_block(std::move(key)));
  }
  const bool own_masks = masks_differ_by_head(layer.spec());
  Json heads = Json::array();
  HeadPlace place;
  for (; place.h < shape.Hq; ++place.h, ++place.number) {
    if (!given.head_numbers.empty()) {
      for (; place.number < given.head_numbers[place.h]; ++place.number) {
        heads.push_back(pruned_json(place.number));
      }
    }
    if (place.h == 0 || own_masks) {
      place.mask = add_mask(layer, place.h);
    }
    if (!keys.empty()) {
      place.key = keys[shape.kv_head(place.h)];
    }
    heads.push_back(add_head(layer, place, std::move(encoded.heads[place.h])));
  }
  for (; place.number < given.num_heads; ++place.number) {
    heads.push_back(pruned_json(place.number));
  }
  layers.push_back({{"number", given.number}, {"heads", std::move(heads)}});
  for (const TracedStep& step : given.steps) {
    trace.push_back(step_json(step, given, layer.spec()));
  }
}

Result<ViewPage> ViewPage::create(ViewPageSettings settings) {
  return catching_out_of_memory([&]() -> Result<ViewPage> {
    auto parts = std::make_unique<Parts>();
    parts->settings = std::move(settings);
    return ViewPage(std::move(parts));
  });
}

ViewPage::ViewPage(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
ViewPage::ViewPage(ViewPage&& other) noexcept = default;
ViewPage& ViewPage::operator=(ViewPage&& other) noexcept = default;
ViewPage::~ViewPage() = default;

Status ViewPage::add(const ViewedLayer& layer) {
  return catching_out_of_memory([&]() -> Status {
    Parts& parts = *parts_;
    const ViewPageSettings& settings = parts.settings;
    const auto shown =
        ShownLayer::create(layer.query, layer.key, settings.attention,
                           settings.sequence, settings.elements);
    HEADWISE_TRY(shown);
    HEADWISE_TRY(parts.check_sizes(*shown));
    HEADWISE_TRY(check_head_numbers(layer));
    EncodedLayer encoded = encode(*shown);
    HEADWISE_TRY(parts.check_fits(layer, encoded, shown->maps()));
    if (parts.sizes_of_all.is_null()) {
      parts.sizes_of_all = sizes_json(*shown);
      parts.sizes = {shown->queries(), shown->keys(), shown->head_dim()};
      parts.maps = shown->maps();
    }
    parts.add_layer(layer, *shown, std::move(encoded));
    return ok();
  });
}

Status ViewPage::add_pruned(std::size_t number, std::size_t num_heads) {
  return catching_out_of_memory([&]() -> Status {
    HEADWISE_TRY(check_at_least_one(kOperation, "num_heads", num_heads));
    Json heads = Json::array();
    for (std::size_t head = 0; head < num_heads; ++head) {
      heads.push_back(pruned_json(head));
    }
    parts_->layers.push_back({{"number", number}, {"heads", std::move(heads)}});
    return ok();
  });
}

Result<std::string> ViewPage::html() const {
  return catching_out_of_memory([&]() -> Result<std::string> {
    if (parts_->layers.size() == 0) {
      return argument_error(kOperation, "page", "has no layers", "at least 1");
    }
    const ViewPageSettings& settings = parts_->settings;
    if (settings.query_labels.empty() || settings.key_labels.empty()) {
      return value_error(
          kOperation,
          settings.query_labels.empty() ? "query_labels" : "key_labels",
          "empty", "one for each of the sequence");
    }
    Json json = page_json(settings);
    json.update(parts_->sizes_of_all.is_null() ? sizes_json(settings)
                                               : parts_->sizes_of_all);
    json["coding"] = {{"kind", parts_->maps ? "maps" : "tiles"},
                      {"error", parts_->error}};
    json["masks"] = parts_->masks;
    json["layers"] = parts_->layers;
    json["trace"] = parts_->trace;
    const std::string text = json.dump();
    return page_html({settings.title, text, parts_->blocks});
  });
}

}  // namespace headwise::inline HEADWISE_ABI
