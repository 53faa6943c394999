// The words for Arithmetic.
#pragma once

#include "headwise/base/arithmetic.h"
#include "number_arguments.h"

namespace headwise::python {

inline constexpr EnumWord<Arithmetic> kArithmetics[] = {
    {name_of(Arithmetic::exact), Arithmetic::exact},
    {name_of(Arithmetic::bf16), Arithmetic::bf16}};

}  // namespace headwise::python
