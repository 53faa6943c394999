// Parameters by the names and in the forms of their files, where several lie in
// one tensor, or a matrix is transposed.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <string>

#include "headwise/base/any_view.h"
#include "headwise/base/half.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/version.h"
#include "transformer/description.h"

namespace headwise::inline HEADWISE_ABI::transformer {

struct FileParams {
  std::map<std::string, AnyView> views{};
  // What some of them look into.
  std::deque<Tensor<float, 2>> matrices{};
  std::deque<Tensor<float, 1>> vectors{};
  std::deque<Tensor<BFloat16, 1>> bfloats{};
  std::deque<Tensor<Float16, 1>> halves{};
};

// Of parameters by the names of ParamNames, those of attention or all; the
// layers have the heads that `stack` says. Errors: unsupported for a tensor by
// groups of heads of which the groups are uneven; out_of_memory.
Result<FileParams> file_params(const NamedStack& stack,
                               std::map<std::string, AnyView> params);

// The numbers of a view of floats in the type of the file, if that has all of
// them; otherwise as they are. Errors: out_of_memory.
Result<AnyView> in_type(DType type, const AnyView& view, FileParams& keep);

}  // namespace headwise::inline HEADWISE_ABI::transformer
