// The forms that a parameter has in the layouts of others, and the way there
// and back.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "headwise/interop/array.h"
#include "headwise/interop/layouts.h"

namespace headwise::inline HEADWISE_ABI {

// A parameter as headwise has it: (out, in), or (out) of a bias.
struct ParamSizes {
  std::size_t out = 0;
  std::size_t in = 1;
  std::optional<std::size_t> heads{};  // where the form says it
};

// How many axes the form has.
std::size_t rank_of(ParamForm form);
bool is_bias(ParamForm form);
bool has_heads(ParamForm form);

// `shape` has rank_of(form) axes, and its product does not overflow.
ParamSizes sizes_of(ParamForm form, std::span<const std::size_t> shape);

// The rows [part * out / parts, ..) of a parameter that a file has in `form`.
// `parts` divides out.
Array from_form(ParamForm form, const Array& array, std::size_t part,
                std::size_t parts);

// A parameter of headwise in `form`; `heads` is read where the form has heads,
// and divides their axis.
Array to_form(ParamForm form, const Array& param, std::size_t heads);

}  // namespace headwise::inline HEADWISE_ABI
