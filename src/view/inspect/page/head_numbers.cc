#include "inspect/page/head_numbers.h"

#include <cmath>
#include <cstddef>
#include <span>
#include <string>

#include "base/check.h"

namespace headwise::inline HEADWISE_ABI {

Status check_head_numbers(const ViewedLayer& layer) {
  const std::span<const std::size_t> numbers = layer.head_numbers;
  const std::size_t heads = layer.has_weights() ? layer.attn_weights.extent(1)
                                                : layer.query.extent(2);
  if (numbers.empty() && (layer.num_heads == 0 || layer.num_heads == heads)) {
    return ok();
  }
  HEADWISE_TRY(check_shape(kViewPage, "head_numbers", {{numbers.size()}},
                           "(Hq)", {{heads}}));
  for (std::size_t h = 0; h < heads; ++h) {
    const std::string name = "head_numbers[" + std::to_string(h) + "]";
    if (h > 0 && numbers[h] <= numbers[h - 1]) {
      return value_error(
          kViewPage, name, std::to_string(numbers[h]),
          message("more than {} (ascending numbers)", numbers[h - 1]));
    }
    if (numbers[h] >= layer.num_heads) {
      return value_error(kViewPage, name, std::to_string(numbers[h]),
                         message("less than num_heads = {}", layer.num_heads));
    }
  }
  return ok();
}

Status check_finite(std::string_view name,
                    std::initializer_list<std::size_t> indices, double number) {
  if (std::isfinite(number)) {
    return ok();
  }
  std::string place(name);
  for (const std::size_t index : indices) {
    place += (place.size() == name.size() ? "[" : ", ") + std::to_string(index);
  }
  place += indices.size() == 0 ? "" : "]";
  return value_error(kViewPage, place, number_text(number), "a finite number",
                     ErrorCode::bad_data);
}

}  // namespace headwise::inline HEADWISE_ABI
