// Inputs that are lists of axes or extents, as the operators that change shapes
// take them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/interop/file_subject.h"
#include "onnx/node_call.h"

namespace headwise::inline HEADWISE_ABI {

// An input that is a list of int64 or int32.
Result<std::vector<std::int64_t>> list_input(const NodeCall& node,
                                             std::size_t input);

// Whether a tensor may have that many axes.
Status check_axis_count(const NodeCall& node, std::size_t axes);

// Numbers of axes, sorted; each at most once. Errors are about `given_by`.
Result<std::vector<std::size_t>> distinct_axes(
    const NodeCall& node, const FileSubject& given_by,
    const std::vector<std::int64_t>& given, std::size_t rank);

}  // namespace headwise::inline HEADWISE_ABI
