#include "view_heads.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>

#include "inspect/position_statistics.h"
#include "inspect/view_layer.h"
#include "operation/option_errors.h"
#include "shell/outcome.h"

namespace headwise::cli {
namespace {

// Whether any pair of the cell may attend.
bool cell_is_allowed(const ShownLayer& layer, std::size_t h,
                     const std::array<std::size_t, 4>& cell) {
  const auto [first_query, queries, first_key, keys] = cell;
  const BoundMask& mask = layer.spec().mask;
  const std::size_t b = layer.sequence();
  for (std::size_t i = first_query; i < first_query + queries; ++i) {
    const std::size_t begin = std::max(mask.visible_begin(b, i, 1), first_key);
    const std::size_t end =
        std::min(mask.visible_end(b, i, 1), first_key + keys);
    for (std::size_t j = begin; j < end; ++j) {
      if (mask.may_attend(b, h, i, j)) {
        return true;
      }
    }
  }
  return false;
}

Result<Tensor<float, 2>> map_of(const ShownLayer& layer, std::size_t h) {
  const TensorView<const float, 2> given = layer.head(h).map_largest;
  auto map = Tensor<float, 2>::create(given.extents());
  HEADWISE_TRY(map);
  std::size_t first_query = 0;
  for (std::size_t r = 0; r < given.extent(0); ++r) {
    const std::size_t queries = map_cell_size(r, layer.queries());
    std::size_t first_key = 0;
    for (std::size_t c = 0; c < given.extent(1); ++c) {
      const std::size_t keys = map_cell_size(c, layer.keys());
      // What was attended to was allowed.
      const bool allowed =
          given(r, c) > 0 ||
          cell_is_allowed(layer, h, {first_query, queries, first_key, keys});
      (*map)(r, c) =
          allowed ? given(r, c) : std::numeric_limits<float>::quiet_NaN();
      first_key += keys;
    }
    first_query += queries;
  }
  return map;
}

Result<WholeHead> whole_of(const ShownLayer& layer, std::size_t h) {
  if (!layer.maps()) {
    return option_error(
        "--head",
        fmt::format("shows {} queries and {} keys", layer.queries(),
                    layer.keys()),
        fmt::format("at most {} for one head whole; the picture of all heads "
                    "shows it in cells",
                    kMostMapLength),
        ErrorCode::unsupported);
  }
  const TensorView<const float, 2> weights = layer.head(h).attn_weights;
  const auto [Lq, Lkv] = weights.extents();
  auto attn_weights = Tensor<float, 3>::create({1, Lq, Lkv});
  auto allowed = Tensor<bool, 3>::create({1, Lq, Lkv});
  if (!attn_weights || !allowed) {
    return attn_weights ? allowed.error() : attn_weights.error();
  }
  for (std::size_t i = 0; i < Lq; ++i) {
    for (std::size_t j = 0; j < Lkv; ++j) {
      (*attn_weights)(0, i, j) = weights(i, j);
      (*allowed)(0, i, j) =
          layer.spec().mask.may_attend(layer.sequence(), h, i, j);
    }
  }
  return WholeHead{*std::move(attn_weights), *std::move(allowed)};
}

// Head h of the tensors.
Result<DrawnHead> draw(const ShownLayer& layer, std::size_t h,
                       const HeadName& name) {
  DrawnHead head{.name = name,
                 .kv_head = kv_head_number(layer.spec().shape, h, name.head),
                 .pooled = pool_rows(layer.head(h).rows)};
  auto map = map_of(layer, h);
  HEADWISE_TRY(map);
  head.map = *std::move(map);
  return head;
}

Error was_pruned(const HeadName& name, const KeptHeads& heads) {
  return option_error(
      "--head",
      fmt::format("is {}.{}, which was pruned; {}", name.layer, name.head,
                  heads.none()
                      ? "no head of that layer is left"
                      : fmt::format("of that layer {} stay",
                                    fmt::join(heads.numbers(), ", "))));
}

// Adds the heads of a layer that stay, and keeps `whole` where it is one.
Status draw_layer(const ViewedLayer& seen, const AttentionOptions& options,
                  std::size_t sequence, const std::optional<HeadName>& whole,
                  DrawnHeads& drawn) {
  const auto layer = ShownLayer::create(seen.query, seen.key, options, sequence,
                                        /*elements=*/false);
  HEADWISE_TRY(layer);
  for (std::size_t h = 0; h < layer->spec().shape.Hq; ++h) {
    const HeadName name{seen.number, seen.heads.numbers()[h]};
    auto head = draw(*layer, h, name);
    HEADWISE_TRY(head);
    drawn.heads.push_back(*std::move(head));
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

}  // namespace

Result<HeadName> parse_head(const std::string& text) {
  const auto number = [](std::string_view digits) {
    std::size_t value = 0;
    const char* const last = digits.data() + digits.size();
    const auto [end, error] = std::from_chars(digits.data(), last, value);
    return error == std::errc{} && end == last ? std::optional(value)
                                               : std::nullopt;
  };
  const std::string_view whole = text;
  const std::size_t dot = std::min(whole.find('.'), whole.size());
  const auto layer = number(whole.substr(0, dot));
  const auto head = number(whole.substr(std::min(dot + 1, whole.size())));
  if (!layer || !head) {
    return bad_option("--head", text, "LAYER.HEAD, such as 0.3");
  }
  return HeadName{*layer, *head};
}

Result<DrawnHeads> compute_heads(const ViewedHeads& heads, std::size_t sequence,
                                 const std::optional<HeadName>& whole) {
  DrawnHeads drawn;
  const AttentionOptions options = heads.options();
  const auto see = [&](const ViewedLayer& seen) -> Status {
    if (whole && whole->layer == seen.number &&
        seen.heads.pruned(whole->head)) {
      return was_pruned(*whole, seen.heads);
    }
    for (const std::size_t number : seen.heads.pruned()) {
      drawn.heads.push_back({.name = {seen.number, number}, .pruned = true});
    }
    return seen.heads.none()
               ? ok()
               : draw_layer(seen, options, sequence, whole, drawn);
  };
  HEADWISE_TRY(heads.visit(/*steps=*/false, see));
  if (whole && !drawn.whole) {
    return bad_option("--head", fmt::format("{}.{}", whole->layer, whole->head),
                      "a head of the layers that are shown");
  }
  if (heads.text().cross) {
    leave_out_positions(drawn.heads);
  }
  std::ranges::sort(drawn.heads, {}, [](const DrawnHead& head) {
    return std::pair(head.name.layer, head.name.head);
  });
  return drawn;
}

Status add_to_page(ViewPage& page, const ViewedLayer& layer) {
  return layer.heads.none()
             ? page.add_pruned(layer.number, layer.heads.num_heads())
             : page.add({.number = layer.number,
                         .query = layer.query,
                         .key = layer.key,
                         .steps = layer.steps,
                         .head_numbers = layer.heads.numbers(),
                         .num_heads = layer.heads.num_heads()});
}

}  // namespace headwise::cli
