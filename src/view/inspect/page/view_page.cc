#include "headwise/inspect/view_page.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "base/out_of_memory.h"
#include "headwise/json/json.h"
#include "inspect/page/encoded_layer.h"
#include "inspect/page/head_numbers.h"
#include "inspect/page/layer_parts.h"
#include "inspect/page/page_documents.h"
#include "inspect/page/page_json.h"
#include "inspect/page/score_terms.h"
#include "inspect/page/through_layers.h"
#include "inspect/page/view_block.h"
#include "inspect/page/view_html.h"
#include "inspect/page/view_mask.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

// A head's place in the layer, and the parts of the page that it shares.
struct HeadPlace {
  std::size_t h = 0;                 // in the tensors
  std::size_t number = 0;            // in the layer before pruning
  std::size_t mask = 0;              // index in the page's masks
  std::optional<std::size_t> key{};  // block of its key
};

// A mask that was found from the attention weights has no rules to name.
std::string name_of_mask(const ShownLayer& layer) {
  std::string name = mask_name(layer.spec());
  return layer.weights_only() && name != "none" ? "no_weight" : name;
}

std::string megabytes(std::size_t bytes) {
  constexpr std::size_t kMegabyte = std::size_t{1} << 20;
  return std::to_string((bytes + kMegabyte - 1) / kMegabyte) + " MB";
}

Status check_target(const ViewPageSettings& settings) {
  return settings.target
             ? check_finite("target.value", {}, settings.target->value)
             : ok();
}

}  // namespace

// ---- The page. ----

struct ViewPage::Parts {
  ViewPageSettings settings;
  Json sizes_of_all{};  // null before a layer that has heads
  std::vector<Json> layers{};
  std::vector<Json> masks{};
  std::vector<Json> trace{};
  double error = 0;
  bool maps = true;
  // What all heads so far have.
  bool norms = true;
  bool gradient = true;
  bool integrated = true;
  bool integrated_by_layer = true;
  Json through{};  // what goes through all layers; or null
  std::vector<EncodedMask> known_masks{};
  WeightsMemory memory{};  // of the layer before
  Extents<3> sizes{};      // Lq, Lkv, D of the first layer that has heads
  // Of all documents.
  std::vector<std::string> blocks{};
  std::size_t bytes = 0;    // of the blocks
  PageDocuments earlier{};  // the documents before this one
  std::vector<ViewedChange> changes{};

  // How much there was before a layer.
  struct Mark {
    std::size_t masks, blocks, trace, bytes;
    double error;
  };

  void add_through(EncodedThroughLayers encoded) {
    if (!encoded.any()) {
      return;
    }
    through = {{"token", encoded.output_token},
               {"rollout", add_optional(std::move(encoded.rollout))},
               {"flow", add_optional(std::move(encoded.flow))}};
  }

  Status check_complete() const {
    HEADWISE_TRY(check_at_least_one(kViewPage, "layers", layers.size()));
    if (settings.query_labels.empty() || settings.key_labels.empty()) {
      return value_error(
          kViewPage,
          settings.query_labels.empty() ? "query_labels" : "key_labels",
          "empty", "one label per token");
    }
    if (settings.token_types.empty()) {
      return ok();
    }
    return check_shape(
        kViewPage, "token_types",
        Extents<2>{settings.token_types.size(), settings.token_types.size()},
        "(queries, keys)",
        Extents<2>{settings.query_labels.size(), settings.key_labels.size()});
  }

  // Of this document, which is complete.
  Json json() const {
    Json json = page_json(settings);
    json.update(sizes_of_all.is_null() ? sizes_json(settings) : sizes_of_all);
    json["coding"] = {{"kind", maps ? "maps" : "tiles"}, {"error", error}};
    add_measures(json);
    json["masks"] = masks;
    json["layers"] = layers;
    json["trace"] = trace;
    if (!settings.token_types.empty()) {
      json["token_types"] = settings.token_types;
    }
    return json;
  }

  Status check_sizes(const ShownLayer& layer) const {
    const Extents<3> given = {layer.queries(), layer.keys(), layer.head_dim()};
    if (given[0] == 0 || given[1] == 0) {
      return value_error(kViewPage, given[0] == 0 ? "query" : "key", "empty",
                         "at least one row", ErrorCode::shape_mismatch);
    }
    if (!sizes_of_all.is_null()) {
      return check_shape(kViewPage, "layer", given, "(Lq, Lkv, D)", sizes);
    }
    HEADWISE_TRY(check_shape(kViewPage, "query_labels",
                             {{settings.query_labels.size()}}, "(queries)",
                             {{layer.queries()}}));
    return check_shape(kViewPage, "key_labels", {{settings.key_labels.size()}},
                       "(keys)", {{layer.keys()}});
  }

  // What a document holds once, for all its layers.
  Status check_shared(const ShownLayer& layer, const Json& of_this) const {
    if (sizes_of_all.is_null()) {
      return ok();
    }
    const auto same = [&](std::string_view key) {
      return *of_this.find(key) == *sizes_of_all.find(key);
    };
    const auto different = [](std::string_view name, std::string_view given) {
      return value_error(kViewPage, name, given,
                         message("the same in all layers of a page"));
    };
    for (const std::string_view key : std::to_array<std::string_view>(
             {"scale", "softcap", "query_start", "first_key"})) {
      if (!same(key)) {
        return different(key, of_this.find(key)->dump());
      }
    }
    if (!same("t5_steps")) {
      return different("t5_bias", "given");
    }
    // With a bias the page has more numbers of each row.
    return same("row_statistics")
               ? ok()
               : Status(different("bias",
                                  layer.all_numbers() ? "given" : "not given"));
  }

  Status check_fits(const ViewedLayer& layer,
                    const EncodedLayer& encoded) const {
    const std::size_t more = encoded.bytes();
    if (bytes + more <= settings.most_bytes) {
      return ok();
    }
    const std::size_t documents = earlier.size();
    const Message fits =
        documents == 0
            ? message(layers.size() == 1 ? "{} layer fits" : "{} layers fit",
                      layers.size())
            : message(documents == 1 ? "{} document fits" : "{} documents fit",
                      documents);
    return argument_error(
        kViewPage, "page",
        message("is {} with layer {}", megabytes(bytes + more), layer.number),
        message("at most {}: {}", megabytes(settings.most_bytes), fits),
        ErrorCode::out_of_range);
  }

  // Adds all of the layer or nothing.
  void add_layer(const ViewedLayer& given, const ShownLayer& layer,
                 EncodedLayer encoded) {
    const Mark before{known_masks.size(), blocks.size(), trace.size(), bytes,
                      error};
    try {
      add_parts(given, layer, std::move(encoded));
    } catch (...) {
      take_back_to(before);
      throw;
    }
  }

  // Adds to the JSON what heads have besides their attention weights.
  void add_measures(Json& json) const {
    json["measures"] = Json::array();
    const bool any = !sizes_of_all.is_null();
    const auto add = [&](bool have, std::string_view name, bool of_pairs) {
      if (!any || !have) {
        return;
      }
      json["statistics"].push_back({{"name", name}, {"unit", ""}});
      if (of_pairs) {
        json["measures"].push_back(name);
      }
    };
    add(norms, "norm", true);
    add(gradient, "gradient", true);
    add(integrated, "integrated", false);
    add(integrated_by_layer, "integrated-by-layer", false);
    if (settings.target) {
      json["target"] = {{"label", settings.target->label},
                        {"token", settings.target->token},
                        {"output_token", settings.target->output_token},
                        {"value", settings.target->value}};
    }
    if (!through.is_null()) {
      json["through"] = through;
    }
  }

  std::size_t add_block(std::string block) {
    bytes += block.size();
    blocks.push_back(std::move(block));
    return blocks.size() - 1;
  }

  Json add_optional(std::optional<std::string> block) {
    return block ? Json(add_block(*std::move(block))) : Json();
  }

  std::size_t add_mask(const ShownLayer& layer, std::size_t h) {
    EncodedMask mask =
        encode_mask(layer.spec(), layer.sequence(), h, layer.queries());
    const auto found = std::ranges::find(known_masks, mask);
    const auto place = static_cast<std::size_t>(found - known_masks.begin());
    if (found == known_masks.end()) {
      masks.push_back({{"name", name_of_mask(layer)},
                       {"ranges", add_block(mask.ranges)},
                       {"bits", add_optional(mask.bits)}});
      known_masks.push_back(std::move(mask));
    }
    return place;
  }

  Json add_head(const ShownLayer& layer, const HeadPlace& place,
                EncodedHead head) {
    const AttentionSpec& spec = layer.spec();
    error = std::max(error, head.error);
    Json json = {{"number", place.number},
                 {"kv_head", kv_head_number(spec.shape, place.h, place.number)},
                 {"pruned", false},
                 {"mask", place.mask}};
    add_head_terms(spec, place.h, json);
    json.update({{"error", head.error},
                 {"pooled", pooled_json(head)},
                 {"empty_rows", head.pooled.empty_rows},
                 {"rows", add_block(std::move(head.rows))},
                 {"columns", add_optional(std::move(head.columns))},
                 {"top",
                  {{"count", kPageTopKeys},
                   {"block", add_optional(std::move(head.top))}}},
                 {"small",
                  {{"rows", map_size(layer.queries())},
                   {"columns", map_size(layer.keys())},
                   {"block", add_optional(std::move(head.small))}}},
                 {"map", add_optional(std::move(head.map))},
                 {"query", add_optional(std::move(head.query))},
                 {"key", place.key ? Json(*place.key) : Json(nullptr)},
                 {"lse", add_optional(std::move(head.lse))},
                 {"lse_error", head.lse_error},
                 {"norms", add_optional(std::move(head.norms))}});
    if (head.norm_small) {
      json["norm_small"] = add_block(*std::move(head.norm_small));
    }
    if (head.gradient) {
      json["gradient"] = {
          {"scale", head.gradient->scale},
          {"query", add_block(std::move(head.gradient->query))},
          {"key", add_block(std::move(head.gradient->key))},
          {"columns", add_block(std::move(head.gradient->columns))},
          {"small", add_optional(std::move(head.gradient->small))}};
    }
    if (head.uneven) {
      json["uneven_rows"] = head.uneven->uneven;
      json["farthest_sum"] = head.uneven->sum;
    }
    if (head.uneven_sums) {
      json["uneven_sums"] = add_block(*std::move(head.uneven_sums));
    }
    return json;
  }

  void add_parts(const ViewedLayer& given, const ShownLayer& layer,
                 EncodedLayer encoded) {
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
      heads.push_back(
          add_head(layer, place, std::move(encoded.heads[place.h])));
    }
    for (; place.number < given.num_heads; ++place.number) {
      heads.push_back(pruned_json(place.number));
    }
    for (const TracedStep& step : given.steps) {
      trace.push_back(step_json(step, given, layer.spec()));
    }
    layers.push_back({{"number", given.number}, {"heads", std::move(heads)}});
  }

  // Adds a layer that has heads.
  Result<ShownLayer> see(const ViewedLayer& layer) {
    HEADWISE_ASSIGN(
        auto shown,
        ShownLayer::of(layer, layer.options(settings.attention),
                       settings.operation, settings.sequence, settings.elements,
                       std::exchange(memory, {})));
    HEADWISE_TRY(check_sizes(shown));
    Json sizes_of_this = sizes_json(shown);
    HEADWISE_TRY(check_shared(shown, sizes_of_this));
    HEADWISE_TRY(check_head_numbers(layer));
    EncodedLayer encoded = encode(shown);
    HEADWISE_TRY(check_fits(layer, encoded));
    add_layer(layer, shown, std::move(encoded));
    norms = norms && shown.has_norms();
    gradient = gradient && shown.has_gradient();
    integrated = integrated && shown.has_integrated();
    integrated_by_layer =
        integrated_by_layer && shown.has_integrated_by_layer();
    if (sizes_of_all.is_null()) {
      sizes_of_all = std::move(sizes_of_this);
      settings.elements = shown.elements();  // as all layers of a document
      sizes = {shown.queries(), shown.keys(), shown.head_dim()};
      maps = shown.maps();
    }
    return shown;
  }

  void take_back_to(const Mark& mark) {
    masks.resize(mark.masks);
    known_masks.resize(mark.masks);
    blocks.resize(mark.blocks);
    trace.resize(mark.trace);
    bytes = mark.bytes;
    error = mark.error;
  }
};

Result<ViewPage> ViewPage::create(ViewPageSettings settings) {
  return catching_out_of_memory([&]() -> Result<ViewPage> {
    auto parts = std::make_unique<Parts>();
    HEADWISE_TRY(check_target(settings));
    HEADWISE_ASSIGN(auto through, encode_through_layers(settings));
    parts->settings = std::move(settings);
    parts->add_through(std::move(through));
    return ViewPage(std::move(parts));
  });
}

Status ViewPage::add(const ViewedLayer& layer) {
  if (layer.pruned()) {
    return add_pruned(layer.number, layer.num_heads);
  }
  return catching_out_of_memory([&]() -> Status {
    HEADWISE_ASSIGN(auto shown, parts_->see(layer));
    parts_->memory = shown.take_memory();
    return ok();
  });
}

Result<LayerHeads> ViewPage::add_heads(const ViewedLayer& layer) {
  return catching_out_of_memory([&]() -> Result<LayerHeads> {
    HEADWISE_ASSIGN(auto shown, parts_->see(layer));
    return LayerHeads(std::make_unique<LayerHeads::Parts>(LayerHeads::Parts{
        std::move(shown),
        {layer.head_numbers.begin(), layer.head_numbers.end()}}));
  });
}

Status ViewPage::add_pruned(std::size_t number, std::size_t num_heads) {
  return catching_out_of_memory([&]() -> Status {
    HEADWISE_TRY(check_at_least_one(kViewPage, "num_heads", num_heads));
    Json heads = Json::array();
    for (std::size_t head = 0; head < num_heads; ++head) {
      heads.push_back(pruned_json(head));
    }
    parts_->layers.push_back({{"number", number}, {"heads", std::move(heads)}});
    return ok();
  });
}

Status ViewPage::next(ViewPageSettings settings) {
  return catching_out_of_memory([&]() -> Status {
    Parts& now = *parts_;
    HEADWISE_TRY(now.check_complete());
    auto fresh = std::make_unique<Parts>();
    settings.most_bytes = now.settings.most_bytes;
    HEADWISE_TRY(check_target(settings));
    HEADWISE_ASSIGN(auto through, encode_through_layers(settings));
    const Json json = now.json();
    std::string block = encoded_text(json.dump());
    now.blocks.reserve(now.blocks.size() + 3);
    now.earlier.add(json, now.settings.variant, now.blocks.size());
    now.add_block(std::move(block));
    fresh->settings = std::move(settings);
    fresh->blocks = std::move(now.blocks);
    fresh->bytes = now.bytes;
    fresh->earlier = std::move(now.earlier);
    fresh->changes = std::move(now.changes);
    fresh->add_through(std::move(through));
    parts_ = std::move(fresh);
    return ok();
  });
}

void ViewPage::set_changes(std::vector<ViewedChange> changes) {
  parts_->changes = std::move(changes);
}

Result<std::string> ViewPage::html() const {
  return catching_out_of_memory([&]() -> Result<std::string> {
    const Parts& now = *parts_;
    HEADWISE_TRY(now.check_complete());
    Json json = now.json();
    std::string text = json.dump();
    std::string last;
    std::vector<std::string_view> blocks(now.blocks.begin(), now.blocks.end());
    if (now.earlier.size() != 0) {
      last = encoded_text(text);
      PageDocuments documents = now.earlier;
      documents.add(json, now.settings.variant, blocks.size());
      blocks.push_back(last);
      json = documents.json();
      if (!now.changes.empty()) {
        json["changes"] = changes_json(now.changes);
      }
      text = json.dump();
    }
    std::string title;
    json.find("title")->get(title);
    return page_html({title, text, blocks});
  });
}

}  // namespace headwise::inline HEADWISE_ABI
