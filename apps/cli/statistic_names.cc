#include "statistic_names.h"

#include "headwise/attention/statistics_options.h"

namespace headwise::cli {

std::vector<std::string> statistic_names() {
  std::vector<std::string> names;
  for (std::size_t k = 0; k < kStatistics; ++k) {
    names.emplace_back(name_of(static_cast<Statistic>(k)));
  }
  return names;
}

std::optional<std::size_t> find_statistic(std::string_view name) {
  for (std::size_t k = 0; k < kStatistics; ++k) {
    if (name_of(static_cast<Statistic>(k)) == name) {
      return k;
    }
  }
  return std::nullopt;
}

}  // namespace headwise::cli
