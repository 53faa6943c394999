#include "cached_tensors.h"

#include <utility>

#include "cached_run.h"

namespace headwise::cli {

Result<RunResult> empty_result(const RunFlags& flags,
                               const Operands<float, 4>& in,
                               const AttentionOptions& options,
                               const AttentionShape& shape) {
  auto result = cached_result(options, shape);
  HEADWISE_TRY(result);
  Extents<4> extents = in.query.extents();
  extents[3] = shape.Dv;
  auto output = Tensor<float, 4>::create(extents);
  HEADWISE_TRY(output);
  result->output_by_heads = *std::move(output);
  if (!flags.present_dir.empty()) {
    auto key = Tensor<float, 4>::create(in.key.extents());
    auto value = Tensor<float, 4>::create(in.value.extents());
    HEADWISE_TRY(key);
    HEADWISE_TRY(value);
    result->present_key = *std::move(key);
    result->present_value = *std::move(value);
  }
  return result;
}

}  // namespace headwise::cli
