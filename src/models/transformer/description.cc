#include "transformer/description.h"

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
