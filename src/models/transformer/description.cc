#include "transformer/description.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace headwise::inline HEADWISE_ABI::transformer {

RotaryConfig RotarySpec::config_of(std::size_t length) const {
  RotaryConfig made = config;
  if (limit != 0 && length > limit) {
    made.scaling = longer;
    if (auto* const ntk = std::get_if<NtkScaling>(&made.scaling)) {
      const double stretch =
          static_cast<double>(length) / static_cast<double>(limit);
      ntk->factor = ntk->factor * stretch - (ntk->factor - 1);
    }
  }
  return made;
}

bool RotarySpec::differs(std::size_t length, std::size_t grown) const {
  if (limit == 0 || grown <= limit) {
    return false;
  }
  return std::holds_alternative<NtkScaling>(longer) ? length != grown
                                                    : length <= limit;
}

void Description::keep_encoder() {
  if (encoder) {
    static_cast<NamedStack&>(*this) = *std::move(encoder);
    encoder.reset();
    unembedding.reset();
  }
}

std::vector<std::size_t> StackSpec::heads_in(std::size_t layer) const {
  if (const auto& kept = layers[layer].kept_heads) {
    return *kept;
  }
  std::vector<std::size_t> all(heads.num_heads);
  std::iota(all.begin(), all.end(), std::size_t{0});
  return all;
}

std::vector<StackSpec::KeyHead> StackSpec::key_heads_in(
    std::size_t layer) const {
  const std::size_t group = heads.num_heads / heads.num_kv_heads;
  std::vector<KeyHead> found;
  for (const std::size_t head : heads_in(layer)) {
    if (found.empty() || found.back().number != head / group) {
      found.push_back({head / group});
    }
    ++found.back().queries;
  }
  return found;
}

bool StackSpec::has_even_groups(std::size_t layer) const {
  const std::vector<KeyHead> keys = key_heads_in(layer);
  return std::ranges::all_of(keys, [&](const KeyHead& key) {
    return key.queries == keys.front().queries;
  });
}

HeadsSpec StackSpec::heads_of(std::size_t layer) const {
  HeadsSpec left = heads;
  if (layers[layer].kept_heads) {
    left.num_heads = heads_in(layer).size();
    left.num_kv_heads = key_heads_in(layer).size();
  }
  return left;
}

std::string numbered_name(const TensorName& row, const StackSpec& stack,
                          std::string_view end, std::size_t layer) {
  std::string name(row.name);
  const auto put = [&name](std::string_view mark, std::size_t number) {
    if (const std::size_t at = name.find(mark); at != name.npos) {
      name.replace(at, mark.size(), std::to_string(number));
    }
  };
  if (layer != kNoLayer) {
    put("{N}", stack.layers[layer].params);
    put("{K}", stack.layers[layer].inner);
  }
  return name + std::string(row.whole_name ? "" : end);
}

}  // namespace headwise::inline HEADWISE_ABI::transformer
