#include "error.h"

namespace headwise::python {
namespace {

PyObject* exception_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_argument:
    case ErrorCode::shape_mismatch:
    case ErrorCode::out_of_range:
    case ErrorCode::bad_data:
      return PyExc_ValueError;
    case ErrorCode::out_of_memory:
      return PyExc_MemoryError;
    case ErrorCode::io_error:
      return PyExc_OSError;
    case ErrorCode::unsupported:
      return PyExc_NotImplementedError;
    case ErrorCode::device_error:
    case ErrorCode::rank_failure:
      return PyExc_RuntimeError;
  }
  return PyExc_RuntimeError;
}

// A path in it may be no UTF-8.
nb::object text_of(const std::string& message) {
  return nb::steal(PyUnicode_DecodeUTF8(message.data(),
                                        static_cast<Py_ssize_t>(message.size()),
                                        "surrogateescape"));
}

Error error_of(ArgumentName name, std::string given,
               std::string_view expected) {
  return {ErrorCode::invalid_argument,
          {.operation = std::string(name.operation),
           .argument = std::string(name.argument),
           .given = std::move(given),
           .expected = std::string(expected)}};
}

}  // namespace

void raise_as(PyObject* exception, const std::string& message) {
  PyErr_SetObject(exception, text_of(message).ptr());
  throw nb::python_error();
}

void raise(const Error& error) {
  const int system_error = error.details().system_error;
  if (error.code() == ErrorCode::io_error && system_error != 0) {
    // The number makes it a FileNotFoundError, a PermissionError, ...
    const nb::tuple parts =
        nb::make_tuple(system_error, text_of(error.message()));
    PyErr_SetObject(PyExc_OSError, parts.ptr());
    throw nb::python_error();
  }
  raise_as(exception_of(error.code()), error.message());
}

void raise_type(ArgumentName name, std::string given,
                std::string_view expected) {
  raise_as(PyExc_TypeError,
           error_of(name, std::move(given), expected).message());
}

void raise_value(ArgumentName name, std::string given,
                 std::string_view expected) {
  raise(error_of(name, std::move(given), expected));
}

void raise_kind(nb::handle value, ArgumentName name,
                std::string_view expected) {
  raise_type(name, std::string("is ") + nb::repr(value).c_str(), expected);
}

}  // namespace headwise::python
