#include "view_heads.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "headwise/inspect/weights_statistics.h"
#include "operation/option_errors.h"
#include "shell/error_of_option.h"
#include "shell/outcome.h"

namespace headwise::cli {
namespace {

// The layer as the library takes it.
ViewedLayer given_of(const NumberedLayer& layer) {
  ViewedLayer given = layer;
  given.head_numbers = layer.heads.numbers();
  given.num_heads = layer.heads.num_heads();
  return given;
}

Result<WholeHead> whole_of(const LayerHeads& layer, std::size_t h) {
  if (std::max(layer.queries(), layer.keys()) > kMostMapLength) {
    return option_error(
        "--head",
        message("shows {} queries and {} keys", layer.queries(), layer.keys()),
        message("at most {} for one head; the picture of all heads shows it in "
                "cells",
                kMostMapLength),
        ErrorCode::unsupported);
  }
  return layer.whole(h);
}

Error was_pruned(const HeadId& name, const KeptHeads& heads) {
  const std::string id = fmt::format("{}.{}", name.layer, name.head);
  return option_error(
      "--head",
      heads.none()
          ? message("is {}, which was pruned; no head of that layer is left",
                    id)
          : message("is {}, which was pruned; of that layer {} stay", id,
                    fmt::format("{}", fmt::join(heads.numbers(), ", "))));
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
Message expected_heads(const HeadId& name,
                       const std::vector<std::size_t>& layers,
                       const std::vector<DrawnHead>& heads) {
  const bool shown = std::ranges::find(layers, name.layer) != layers.end();
  if (!shown && layers.back() - layers.front() + 1 != layers.size()) {
    return message("a head of layers {}",
                   fmt::format("{}", fmt::join(layers, ", ")));
  }
  const auto offered = [&](const DrawnHead& head) {
    return !shown || head.name.layer == name.layer;
  };
  const HeadId& first = std::ranges::find_if(heads, offered)->name;
  const HeadId& last =
      std::find_if(heads.rbegin(), heads.rend(), offered)->name;
  return message("a head from {}.{} to {}.{}", first.layer, first.head,
                 last.layer, last.head);
}

}  // namespace

Error error_of_layer(const NumberedLayer& layer, std::string_view option,
                     const Error& error) {
  ErrorDetails details = error.details();
  if (!layer.of_text || details.operation != "view_page" ||
      error.code() != ErrorCode::bad_data) {
    return error;
  }
  details.argument =
      fmt::format("layers[{}].{}", layer.number, details.argument);
  return error_of_option(option, {error.code(), std::move(details)});
}

Status HeadDrawing::add(const NumberedLayer& seen, const LayerHeads* layer) {
  if (whole_ && whole_->layer == seen.number &&
      seen.heads.pruned(whole_->head)) {
    no_whole_ = was_pruned(*whole_, seen.heads);
  }
  for (const std::size_t number : seen.heads.pruned()) {
    drawn_.heads.push_back({.name = {seen.number, number}, .pruned = true});
  }
  for (std::size_t h = 0; layer != nullptr && h < layer->size(); ++h) {
    HEADWISE_ASSIGN(auto head, layer->head(h));
    const HeadId name{seen.number, head.number};
    drawn_.heads.push_back({.name = name,
                            .kv_head = head.kv_head,
                            .pooled = head.pooled,
                            .map = std::move(head.map)});
    if (whole_ == name) {
      auto kept = whole_of(*layer, h);
      if (kept) {
        drawn_.whole = *std::move(kept);
      } else {
        no_whole_ = kept.error();
      }
    }
  }
  return ok();
}

Result<DrawnHeads> HeadDrawing::finish(const ViewedHeads& heads) && {
  if (no_whole_) {
    return *no_whole_;
  }
  std::ranges::sort(drawn_.heads, {}, &DrawnHead::name);
  if (whole_ && !drawn_.whole) {
    return option_error("--head",
                        message("is {}.{}", whole_->layer, whole_->head),
                        expected_heads(*whole_, heads.layers(), drawn_.heads));
  }
  if (heads.text().cross) {
    leave_out_positions(drawn_.heads);
  }
  return std::move(drawn_);
}

Result<DrawnHeads> compute_heads(const ViewedHeads& heads, std::size_t sequence,
                                 const std::optional<HeadId>& whole) {
  HeadDrawing drawing(whole);
  const AttentionOptions options = heads.options();
  const OperationOptions operation_options = heads.operation_options();
  HEADWISE_TRY(heads.visit({}, [&](const NumberedLayer& seen) -> Status {
    if (seen.heads.none()) {
      return drawing.add(seen, nullptr);
    }
    const auto layer = LayerHeads::create(given_of(seen), options,
                                          operation_options, sequence);
    return layer ? drawing.add(seen, &*layer)
                 : Status(error_of_layer(seen, "--model", layer.error()));
  }));
  return std::move(drawing).finish(heads);
}

Status add_to_page(ViewPage& page, const NumberedLayer& layer,
                   const PageAttribution& attribution, HeadDrawing* drawing) {
  ViewedLayer given = given_of(layer);
  attribution.add_to(layer, given);
  if (drawing == nullptr || layer.heads.none()) {
    HEADWISE_TRY(page.add(given));
    return drawing == nullptr ? ok() : drawing->add(layer, nullptr);
  }
  const auto heads = page.add_heads(given);
  return heads ? drawing->add(layer, &*heads) : Status(heads.error());
}

}  // namespace headwise::cli
