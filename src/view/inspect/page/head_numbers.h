// The numbers of the heads that a layer still has.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <string_view>

#include "headwise/base/result.h"
#include "headwise/inspect/view_page.h"

namespace headwise::inline HEADWISE_ABI {

// The operation that errors of a page and of its layers name.
inline constexpr std::string_view kViewPage = "view_page";

// Errors: shape_mismatch for numbers that do not fit the query's heads,
// invalid_argument for those that do not ascend or are not below num_heads.
Status check_head_numbers(const ViewedLayer& layer);

// Errors: bad_data for `name[2, 5]`, or `name`, that is NaN or infinite.
Status check_finite(std::string_view name,
                    std::initializer_list<std::size_t> indices, double number);

}  // namespace headwise::inline HEADWISE_ABI
