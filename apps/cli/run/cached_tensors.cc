#include "cached_tensors.h"

#include <utility>

#include "cached_run.h"

namespace headwise::cli {

Result<RunResult> empty_result(const RunFlags& flags,
                               const Operands<float, 4>& in,
                               const AttentionOptions& options,
                               const AttentionShape& shape) {
  HEADWISE_ASSIGN(auto result, cached_result(options, shape));
  Extents<4> extents = in.query.extents();
  extents[3] = shape.Dv;
  HEADWISE_ASSIGN(result.output_by_heads, Tensor<float, 4>::create(extents));
  if (!flags.present_dir.empty()) {
    HEADWISE_ASSIGN(auto key, Tensor<float, 4>::create(in.key.extents()));
    HEADWISE_ASSIGN(auto value, Tensor<float, 4>::create(in.value.extents()));
    result.present_key = std::move(key);
    result.present_value = std::move(value);
  }
  return result;
}

}  // namespace headwise::cli
