// The configuration of a layer: from keyword arguments with the names of
// MultiHeadAttentionConfig, and as a dict.
#pragma once

#include <nanobind/nanobind.h>

#include <optional>

#include "array_argument.h"
#include "headwise/module/multi_head_attention.h"
#include "named_fields.h"

namespace headwise::python {

// A size; "open" is kOpenSize.
std::size_t size_or_open(nb::handle value, ArgumentName name);
void take_size(NamedFields& fields, std::string_view name,
               std::optional<std::size_t>& place);

// {"kind": "rms", "eps": 1e-6, "over": "head", "plus_one": False, "bias":
// False}
QkNorm qk_norm_argument(nb::handle value, ArgumentName name);

// Takes all fields of the configuration.
MultiHeadAttentionConfig take_config(NamedFields& fields);
// Takes all fields of HeadCounts.
HeadCounts take_head_counts(NamedFields& fields);

nb::dict config_dict(const MultiHeadAttentionConfig& config);

}  // namespace headwise::python
