#include "library.h"

#include <string>

namespace headwise::python {
namespace {

// A module that somebody has imported already, or nothing.
nb::object imported_module(const char* name) {
  const nb::handle modules = PyImport_GetModuleDict();  // borrowed
  return nb::borrow(PyDict_GetItemString(modules.ptr(), name));
}

// A module may be in sys.modules while it is still being imported.
bool usable(const nb::object& module, const char* name) {
  return module.is_valid() && nb::hasattr(module, name);
}

bool is_a(nb::handle object, nb::handle wanted) {
  const nb::handle type = object.type();
  return type.is(wanted) ||
         PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(type.ptr()),
                          reinterpret_cast<PyTypeObject*>(wanted.ptr())) != 0;
}

// Of a type in a module that nobody may have imported.
bool is_a(nb::handle object, const char* module_name, const char* type) {
  const nb::object module = imported_module(module_name);
  return usable(module, type) && is_a(object, nb::object(module.attr(type)));
}

std::string text_of(DType dtype) { return std::string(name_of(dtype)); }

TorchNames make_torch_names(const nb::object& torch) {
  TorchNames names;
  names.tensor.keep(torch.attr("Tensor"));
  names.parameter.keep(torch.attr("nn").attr("Parameter"));
  names.empty.keep(torch.attr("empty"));
  names.empty_strided.keep(torch.attr("empty_strided"));
  names.is_grad_enabled.keep(torch.attr("is_grad_enabled"));
  names.strided.keep(torch.attr("strided"));
  names.cpu.keep(torch.attr("device")("cpu"));
  names.exchange = DlpackExchange(*names.tensor);
  for (std::size_t n = 0; n < kDTypes; ++n) {
    const std::string name = text_of(static_cast<DType>(n));
    if (nb::hasattr(torch, name.c_str())) {
      names.dtypes[n].keep(torch.attr(name.c_str()));
    }
  }
  return names;
}

NumpyNames make_numpy_names(const nb::object& numpy) {
  NumpyNames names;
  names.array.keep(numpy.attr("ndarray"));
  names.empty.keep(numpy.attr("empty"));
  names.uint16.keep(numpy.attr("dtype")("uint16"));
  for (std::size_t n = 0; n < kDTypes; ++n) {
    const auto dtype = static_cast<DType>(n);
    if (dtype != DType::bfloat16) {
      names.dtypes[n].keep(numpy.attr("dtype")(text_of(dtype).c_str()));
    }
  }
  return names;
}

}  // namespace

const TorchNames* TorchNames::if_imported() {
  static TorchNames names;
  if (names.tensor.empty()) {
    const nb::object torch = imported_module("torch");
    if (!usable(torch, "Tensor") || !usable(torch, "empty") ||
        !usable(torch, "empty_strided") || !usable(torch, "device") ||
        !usable(torch, "is_grad_enabled") || !usable(torch, "float32") ||
        !usable(torch, "strided") ||
        !usable(imported_module("torch.nn"), "Parameter")) {
      return nullptr;
    }
    names = make_torch_names(torch);
  }
  return &names;
}

std::optional<DType> TorchNames::dtype_of(nb::handle torch_dtype) const {
  for (std::size_t n = kDTypes; n-- > 0;) {  // the floats are last
    if ((*dtypes[n]).is(torch_dtype)) {
      return static_cast<DType>(n);
    }
  }
  return {};
}

bool TorchNames::read(nb::handle array, nb::dlpack::dltensor& into) const {
  const nb::handle type = array.type();
  return (type.is(*tensor) || type.is(*parameter)) &&
         exchange.read(array, into);
}

const NumpyNames* NumpyNames::if_imported() {
  static NumpyNames names;
  if (names.array.empty()) {
    const nb::object numpy = imported_module("numpy");
    if (!usable(numpy, "dtype") || !usable(numpy, "empty") ||
        !usable(numpy, "ndarray")) {
      return nullptr;
    }
    names = make_numpy_names(numpy);
  }
  return &names;
}

const NumpyNames& NumpyNames::imported() {
  const NumpyNames* names = if_imported();
  if (names == nullptr) {
    nb::module_::import_("numpy");
    names = if_imported();
  }
  return *names;
}

nb::handle numpy_bfloat16_if_imported() {
  static Forever dtype;
  if (dtype.empty()) {
    const nb::object module = imported_module("ml_dtypes");
    if (!usable(module, "bfloat16")) {
      return {};
    }
    const nb::module_ numpy = nb::module_::import_("numpy");
    dtype.keep(numpy.attr("dtype")(module.attr("bfloat16")));
  }
  return *dtype;
}

nb::handle numpy_bfloat16() {
  if (!nb::steal(PyImport_ImportModule("ml_dtypes")).is_valid()) {
    nb::chain_error(PyExc_ImportError,
                    "NumPy has no bfloat16: pip install ml_dtypes");
    nb::raise_python_error();
  }
  return numpy_bfloat16_if_imported();
}

LibraryKind library_of(nb::handle array) {
  const NumpyNames* numpy = NumpyNames::if_imported();
  if (numpy != nullptr && is_a(array, *numpy->array)) {
    return LibraryKind::numpy;
  }
  const TorchNames* torch = TorchNames::if_imported();
  if (torch != nullptr && is_a(array, *torch->tensor)) {
    return LibraryKind::torch;
  }
  return LibraryKind::other;
}

bool is_masked(nb::handle array, LibraryKind library) {
  switch (library) {
    case LibraryKind::numpy:
      return !array.type().is(*NumpyNames::imported().array) &&
             is_a(array, "numpy.ma", "MaskedArray");
    case LibraryKind::torch:
      return !array.type().is(*TorchNames::if_imported()->tensor) &&
             is_a(array, "torch.masked", "MaskedTensor");
    case LibraryKind::other:
      return false;
  }
  return false;
}

}  // namespace headwise::python
