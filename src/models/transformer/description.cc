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

}  // namespace headwise::inline HEADWISE_ABI::transformer
