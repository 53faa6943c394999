// Errors of the library as Python's exceptions, with the library's messages:
//
//   ValueError           invalid_argument, shape_mismatch, out_of_range and
//                        bad_data
//   TypeError            an argument of the wrong type (raise_type)
//   MemoryError          out_of_memory
//   OSError              io_error; by the system's number FileNotFoundError
//                        and others
//   NotImplementedError  unsupported
//   RuntimeError         device_error, rank_failure
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <string_view>
#include <utility>

#include "headwise/base/result.h"

namespace headwise::python {

namespace nb = nanobind;

[[noreturn]] void raise(const Error& error);
// As another exception than that of its code.
[[noreturn]] void raise_as(PyObject* exception, const std::string& message);
// The argument as the errors of the library name it: mask.key_lengths. "" where
// `given` is a whole clause.
struct ArgumentName {
  std::string_view operation;
  std::string_view argument;
};

[[noreturn]] void raise_type(ArgumentName name, std::string given,
                             std::string_view expected);
[[noreturn]] void raise_value(ArgumentName name, std::string given,
                              std::string_view expected);
// TypeError for a value of the wrong type.
[[noreturn]] void raise_kind(nb::handle value, ArgumentName name,
                             std::string_view expected);

inline void check(const Status& status) {
  if (!status) {
    raise(status.error());
  }
}
template <class T>
T value_of(Result<T> result) {
  if (!result) {
    raise(result.error());
  }
  return *std::move(result);
}

}  // namespace headwise::python
