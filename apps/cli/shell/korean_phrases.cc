#include "korean_phrases.h"

#include <array>

namespace headwise::cli {

std::span<const std::span<const Translation>> korean_phrases() {
  static const std::array tables = {
      korean_value_phrases(), korean_dialect_phrases(), korean_file_phrases(),
      korean_model_phrases(), korean_onnx_phrases(),    korean_option_phrases(),
      korean_rank_phrases()};
  return tables;
}

}  // namespace headwise::cli
