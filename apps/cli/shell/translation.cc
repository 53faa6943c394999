#include "translation.h"

#include <algorithm>
#include <array>

#include "language.h"
#include "translation_tables.h"

namespace headwise::cli {

std::span<const std::span<const Translation>> translations() {
  static const std::array tables = {
      korean_help(),    korean_words(),    korean_operation(), korean_bench(),
      korean_convert(), korean_dialects(), korean_encode(),    korean_explain(),
      korean_heads(),   korean_info(),     korean_intervene(), korean_onnx(),
      korean_plan(),    korean_prune(),    korean_run(),       korean_train(),
      korean_view()};
  return tables;
}

std::string_view korean_of(std::string_view english) {
  for (const std::span<const Translation> table : translations()) {
    const auto found =
        std::ranges::lower_bound(table, english, {}, &Translation::en);
    if (found != table.end() && found->en == english) {
      return found->ko;
    }
  }
  return {};
}

std::string in_language(std::string_view english) {
  const std::string_view korean =
      language() == Language::ko ? korean_of(english) : std::string_view();
  return std::string(korean.empty() ? english : korean);
}

}  // namespace headwise::cli
