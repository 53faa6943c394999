#include "texts_argument.h"

#include <string>

#include "error.h"

namespace headwise::python {

std::string_view text_argument(nb::handle string, ArgumentName name) {
  if (!nb::isinstance<nb::str>(string)) {
    raise_kind(string, name, "a str");
  }
  Py_ssize_t size = 0;
  const char* text = PyUnicode_AsUTF8AndSize(string.ptr(), &size);
  if (text == nullptr) {
    if (PyErr_ExceptionMatches(PyExc_UnicodeError) == 0) {
      nb::raise_python_error();
    }
    PyErr_Clear();
    raise_value(name, "has half of a surrogate pair", "characters of Unicode");
  }
  return {text, static_cast<std::size_t>(size)};
}

nb::list list_argument(nb::handle items, ArgumentName name,
                       std::string_view expected) {
  if (nb::isinstance<nb::str>(items) || nb::isinstance<nb::bytes>(items)) {
    raise_kind(items, name, expected);
  }
  const nb::object iterator = nb::steal(PyObject_GetIter(items.ptr()));
  if (!iterator.is_valid()) {
    PyErr_Clear();
    raise_kind(items, name, expected);
  }
  return nb::list(iterator);
}

TextsArgument::TextsArgument(nb::handle texts, ArgumentName name,
                             std::string_view expected)
    : strings_(list_argument(texts, name, expected)) {
  views_.reserve(nb::len(strings_));
  for (const nb::handle string : strings_) {
    const std::string item =
        std::string(name.argument) + "[" + std::to_string(views_.size()) + "]";
    views_.push_back(text_argument(string, {name.operation, item}));
  }
}

}  // namespace headwise::python
