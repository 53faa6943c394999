#include "statistic_names.h"

#include "headwise/inspect/weights_statistics.h"
#include "headwise/words/language.h"
#include "operation/option_errors.h"

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

std::string_view statistic_word(Statistic statistic, Language language) {
  return translated(language, name_of(statistic), "statistic");
}

Status check_sort(const std::string& name, bool cross) {
  const auto k = find_statistic(name);
  if (!cross || !k || !compares_positions(static_cast<Statistic>(*k))) {
    return ok();
  }
  std::string others;
  for (std::size_t n = 0; n < kStatistics; ++n) {
    if (const auto of = static_cast<Statistic>(n); !compares_positions(of)) {
      others += (others.empty() ? "" : ", ") + std::string(name_of(of));
    }
  }
  return bad_option("--sort", name,
                    message("one of {} for cross-attention, where queries and "
                            "keys have no positions in common",
                            others));
}

}  // namespace headwise::cli
