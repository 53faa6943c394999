// The C functions that a library of arrays offers with its type
// (DLPackExchangeAPI of DLPack 1.3): what an array is, in one call, where its
// attributes take ten.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

namespace headwise::python {

namespace nb = nanobind;

class DlpackExchange {
 public:
  DlpackExchange() = default;  // of a library without such functions
  // `type` is the type of the library's arrays.
  explicit DlpackExchange(nb::handle type);

  // False if the array cannot be described like this. `array` must be of the
  // type itself, since a derived type may hide memory that it does not have.
  // `into` looks at the array, which must not change meanwhile.
  bool read(nb::handle array, nb::dlpack::dltensor& into) const;

 private:
  struct Functions;

  const Functions* functions_ = nullptr;
};

}  // namespace headwise::python
