// Whether a file is read or mapped, by its name in FileAccess.
#pragma once

#include <nanobind/nanobind.h>

#include "headwise/interop/safetensors.h"
#include "number_arguments.h"

namespace headwise::python {

inline FileAccess file_access(nb::handle value, ArgumentName name) {
  static constexpr EnumWord<FileAccess> kWords[] = {
      {"mapped", FileAccess::mapped}, {"read", FileAccess::read}};
  return one_of(value, name, kWords);
}

}  // namespace headwise::python
