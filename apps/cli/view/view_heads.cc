#include "view_heads.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "headwise/inspect/position_statistics.h"
#include "operation/option_errors.h"
#include "shell/error_of_option.h"
#include "shell/outcome.h"

namespace headwise::cli {
namespace {

// The layer as the library takes it.
headwise::ViewedLayer given_of(const ViewedLayer& layer) {
  return {.number = layer.number,
          .query = layer.query,
          .key = layer.key,
          .steps = layer.steps,
          .head_numbers = layer.heads.numbers(),
          .num_heads = layer.heads.num_heads(),
          .attn_weights = layer.attn_weights};
}

Result<WholeHead> whole_of(const LayerHeads& layer, std::size_t h) {
  if (std::max(layer.queries(), layer.keys()) > kMostMapLength) {
    return option_error(
        "--head",
        fmt::format("shows {} queries and {} keys", layer.queries(),
                    layer.keys()),
        fmt::format("at most {} for one head; the picture of all heads shows "
                    "it in cells",
                    kMostMapLength),
        ErrorCode::unsupported);
  }
  return layer.whole(h);
}

Error was_pruned(const HeadId& name, const KeptHeads& heads) {
  return option_error(
      "--head",
      fmt::format("is {}.{}, which was pruned; {}", name.layer, name.head,
                  heads.none()
                      ? "no head of that layer is left"
                      : fmt::format("of that layer {} stay",
                                    fmt::join(heads.numbers(), ", "))));
}

// Adds the heads that the layer still has, and keeps `whole` if it is one.
Status draw_layer(const ViewedLayer& seen, const AttentionOptions& options,
                  const OperationOptions& operation_options,
                  std::size_t sequence, const std::optional<HeadId>& whole,
                  DrawnHeads& drawn) {
  const auto layer =
      LayerHeads::create(given_of(seen), options, operation_options, sequence);
  if (!layer) {
    return error_of_layer(seen, "--model", layer.error());
  }
  for (std::size_t h = 0; h < layer->size(); ++h) {
    auto head = layer->head(h);
    HEADWISE_TRY(head);
    const HeadId name{seen.number, head->number};
    drawn.heads.push_back({.name = name,
                           .kv_head = head->kv_head,
                           .pooled = head->pooled,
                           .map = std::move(head->map)});
    if (whole == name) {
      auto kept = whole_of(*layer, h);
      HEADWISE_TRY(kept);
      drawn.whole = *std::move(kept);
    }
  }
  return ok();
}

// Of cross-attention: numbers that mean nothing there.
void leave_out_positions(std::vector<DrawnHead>& heads) {
  for (DrawnHead& head : heads) {
    for (std::size_t k = 0; k < kStatistics; ++k) {
      if (compares_positions(static_cast<Statistic>(k))) {
        head.pooled.mean[k].reset();
      }
    }
  }
}

// The heads that could be asked for in its place: those of its layer, if that
// is shown.
std::string expected_heads(const HeadId& name,
                           const std::vector<std::size_t>& layers,
                           const std::vector<DrawnHead>& heads) {
  const bool shown = std::ranges::find(layers, name.layer) != layers.end();
  if (!shown && layers.back() - layers.front() + 1 != layers.size()) {
    return fmt::format("a head of layers {}", fmt::join(layers, ", "));
  }
  const auto offered = [&](const DrawnHead& head) {
    return !shown || head.name.layer == name.layer;
  };
  const HeadId& first = std::ranges::find_if(heads, offered)->name;
  const HeadId& last =
      std::find_if(heads.rbegin(), heads.rend(), offered)->name;
  return fmt::format("a head from {}.{} to {}.{}", first.layer, first.head,
                     last.layer, last.head);
}

}  // namespace

Error error_of_layer(const ViewedLayer& layer, std::string_view option,
                     const Error& error) {
  ErrorDetails details = error.details();
  if (layer.attention == nullptr || details.operation != "view_page" ||
      error.code() != ErrorCode::bad_data) {
    return error;
  }
  details.argument =
      fmt::format("layers[{}].{}", layer.number, details.argument);
  return error_of_option(option, {error.code(), std::move(details)});
}

Result<DrawnHeads> compute_heads(const ViewedHeads& heads, std::size_t sequence,
                                 const std::optional<HeadId>& whole) {
  DrawnHeads drawn;
  const AttentionOptions options = heads.options();
  const OperationOptions operation_options = heads.operation_options();
  const auto see = [&](const ViewedLayer& seen) -> Status {
    if (whole && whole->layer == seen.number &&
        seen.heads.pruned(whole->head)) {
      return was_pruned(*whole, seen.heads);
    }
    for (const std::size_t number : seen.heads.pruned()) {
      drawn.heads.push_back({.name = {seen.number, number}, .pruned = true});
    }
    return seen.heads.none() ? ok()
                             : draw_layer(seen, options, operation_options,
                                          sequence, whole, drawn);
  };
  HEADWISE_TRY(heads.visit(/*steps=*/false, see));
  std::ranges::sort(drawn.heads, {}, &DrawnHead::name);
  if (whole && !drawn.whole) {
    return bad_option("--head", fmt::format("{}.{}", whole->layer, whole->head),
                      expected_heads(*whole, heads.layers(), drawn.heads));
  }
  if (heads.text().cross) {
    leave_out_positions(drawn.heads);
  }
  return drawn;
}

Status add_to_page(ViewPage& page, const ViewedLayer& layer,
                   const AttentionOptions& options,
                   const PageAttribution& attribution) {
  if (layer.heads.none()) {
    return page.add_pruned(layer.number, layer.heads.num_heads());
  }
  headwise::ViewedLayer given = given_of(layer);
  const auto more = attribution.add_to(layer, options, given);
  HEADWISE_TRY(more);
  return page.add(given);
}

}  // namespace headwise::cli
