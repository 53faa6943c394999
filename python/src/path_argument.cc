#include "path_argument.h"

#include "error.h"

namespace headwise::python {

std::string path_argument(nb::handle value, ArgumentName name) {
  PyObject* bytes = nullptr;
  if (PyUnicode_FSConverter(value.ptr(), &bytes) == 0) {
    if (PyErr_ExceptionMatches(PyExc_TypeError) == 0) {
      nb::raise_python_error();
    }
    PyErr_Clear();
    raise_kind(value, name, "a str, bytes or os.PathLike");
  }
  const nb::object owned = nb::steal(bytes);
  return {PyBytes_AsString(bytes),
          static_cast<std::size_t>(PyBytes_Size(bytes))};
}

}  // namespace headwise::python
