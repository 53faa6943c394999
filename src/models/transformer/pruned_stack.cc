#include "transformer/pruned_stack.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "interop/pruned_heads.h"
#include "transformer/kept_heads.h"

namespace headwise::inline HEADWISE_ABI::transformer {
namespace {

constexpr std::size_t kMostHeadsOfMemory = std::size_t{1} << 20U;

Status check_not_shared(std::string_view operation, std::size_t layer,
                        const StackParams& params) {
  return std::ranges::count(params.layers, params.layers[layer]) == 1
             ? ok()
             : Status(argument_error(
                   operation, "layer",
                   message("{} shares its heads with other layers", layer),
                   "layers with heads of their own", ErrorCode::unsupported));
}

// What a layer's heads have besides their attention, ready to take its place.
struct OfHeads {
  Tensor<float, 1> sinks{};
  Tensor<float, 2> relative{};
  std::vector<std::size_t> places{};  // among the heads that the layer had
};

Result<OfHeads> of_heads(const KeptAttention& kept, const StackSpec& stack,
                         const StackParams& params) {
  const Block& block = *params.layers[kept.layer];
  const std::vector<std::size_t> before = stack.heads_in(kept.layer);
  OfHeads made;
  for (const std::size_t head : kept.kept_heads) {
    made.places.push_back(static_cast<std::size_t>(
        std::ranges::lower_bound(before, head) - before.begin()));
  }
  if (block.sinks.size() != 0) {
    HEADWISE_ASSIGN(made.sinks,
                    Tensor<float, 1>::create_unset({made.places.size()}));
    for (std::size_t n = 0; n < made.places.size(); ++n) {
      made.sinks(n) = block.sinks(made.places[n]);
    }
  }
  if (stack.heads.relative) {
    HEADWISE_ASSIGN(made.relative,
                    Tensor<float, 2>::create_unset(
                        {params.relative.extent(0), kept.kept_heads.size()}));
    for (std::size_t bucket = 0; bucket < made.relative.extent(0); ++bucket) {
      for (std::size_t h = 0; h < kept.kept_heads.size(); ++h) {
        made.relative(bucket, h) = params.relative(bucket, kept.kept_heads[h]);
      }
    }
  }
  return made;
}

// `places` ascend.
void keep_places(const std::vector<std::size_t>& places,
                 std::vector<Linear>& tables) {
  if (!tables.empty()) {
    for (std::size_t n = 0; n < places.size(); ++n) {
      if (places[n] != n) {
        tables[n] = std::move(tables[places[n]]);
      }
    }
    tables.erase(tables.begin() + static_cast<std::ptrdiff_t>(places.size()),
                 tables.end());
  }
}

}  // namespace

Status take_pruned_heads(std::string_view config, const FileSubject& subject,
                         StackSpec& stack) {
  const std::size_t num_heads = stack.heads.num_heads;
  HEADWISE_ASSIGN(const auto pruned,
                  internal::parse_pruned_heads(config, subject, num_heads));
  if (pruned.empty()) {
    return ok();
  }
  if (pruned.rbegin()->first >= stack.layers.size()) {
    return subject.bad_data(
        message("has pruned heads of layer {}", pruned.rbegin()->first),
        message("a layer below {}", stack.layers.size()));
  }
  if (stack.layers.size() > kMostHeadsOfMemory / num_heads) {
    return subject.bad_data(
        message("has pruned heads in a model of more than {} heads",
                kMostHeadsOfMemory));
  }
  for (const auto& [layer, removed] : pruned) {
    std::vector<std::size_t> kept = stack.heads_in(layer);
    std::erase_if(kept, [&heads = removed](std::size_t head) {
      return heads.contains(head);
    });
    stack.layers[layer].kept_heads = std::move(kept);
  }
  return ok();
}

Status take_kept_heads(const SafetensorsMetadata& metadata,
                       const FileSubject& subject, StackSpec& stack) {
  KeptHeadLists lists;
  HEADWISE_TRY(read_kept_heads(metadata, subject, stack.layers.size(),
                               stack.heads.num_heads, lists));
  for (std::size_t n = 0; n < lists.size(); ++n) {
    if (lists[n].size() == stack.heads.num_heads) {
      stack.layers[n].kept_heads.reset();
    } else {
      stack.layers[n].kept_heads = std::move(lists[n]);
    }
  }
  return ok();
}

Status replace_attention_of(std::string_view operation,
                            std::span<KeptAttention> layers, StackSpec& stack,
                            StackParams& params) {
  std::vector<OfHeads> made;
  for (const KeptAttention& kept : layers) {
    HEADWISE_TRY(check_kept(
        operation, kept,
        {stack.layers.size(), stack.heads.num_heads, stack.hidden_size}));
    HEADWISE_TRY(check_not_shared(operation, kept.layer, params));
    HEADWISE_ASSIGN(made.emplace_back(), of_heads(kept, stack, params));
  }
  for (std::size_t n = 0; n < layers.size(); ++n) {  // nothing fails from here
    KeptAttention& kept = layers[n];
    Block& block = *params.layers[kept.layer];
    kept.attention.share_memory_with(block.attention);
    block.attention = std::move(kept.attention);
    block.sinks = std::move(made[n].sinks);
    block.relative = std::move(made[n].relative);
    keep_places(made[n].places, block.distances.keys);
    keep_places(made[n].places, block.distances.queries);
    stack.layers[kept.layer].kept_heads = std::move(kept.kept_heads);
  }
  return ok();
}

}  // namespace headwise::inline HEADWISE_ABI::transformer
