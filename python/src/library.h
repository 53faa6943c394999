// The array libraries that arguments come from and results go to. None of them
// is imported here before an array of it was given, except NumPy for results
// that have no array to follow.
#pragma once

#include <nanobind/nanobind.h>

#include <array>
#include <optional>

#include "dlpack_exchange.h"
#include "headwise/base/dtype.h"

namespace headwise::python {

namespace nb = nanobind;

enum class LibraryKind { numpy, torch, other };

// An object of Python's that lives as long as the process: modules are never
// unloaded.
class Forever {
 public:
  nb::handle operator*() const { return object_; }
  bool empty() const { return !object_.is_valid(); }
  void keep(nb::object object) { object_ = object.release(); }

 private:
  nb::handle object_;
};

inline constexpr std::size_t kDTypes = 13;  // those of DType

// What is used of torch, looked up once.
class TorchNames {
 public:
  // Nothing as long as nobody has imported torch.
  static const TorchNames* if_imported();

  Forever tensor, parameter, empty, empty_strided, is_grad_enabled, strided;
  Forever cpu;  // torch.device("cpu"): the default device may be another one
  std::array<Forever, kDTypes> dtypes;  // none for those that torch lacks

  nb::handle of(DType dtype) const {
    return *dtypes[static_cast<std::size_t>(dtype)];
  }
  std::optional<DType> dtype_of(nb::handle torch_dtype) const;

  // A tensor in one call. False where attributes have to be read: for types
  // derived from torch.Tensor, tensors without memory, and older versions.
  bool read(nb::handle array, nb::dlpack::dltensor& into) const;

  DlpackExchange exchange;
};

// What is used of NumPy. Its array type is known only once it was imported.
class NumpyNames {
 public:
  static const NumpyNames* if_imported();
  static const NumpyNames& imported();

  Forever array, empty, uint16;
  std::array<Forever, kDTypes> dtypes;  // no bfloat16

  nb::handle of(DType dtype) const {
    return *dtypes[static_cast<std::size_t>(dtype)];
  }
};

// ml_dtypes.bfloat16 as a dtype of NumPy's; nothing as long as nobody has
// imported ml_dtypes.
nb::handle numpy_bfloat16_if_imported();
// The same, imported. Errors: ImportError.
nb::handle numpy_bfloat16();

// By its type.
LibraryKind library_of(nb::handle array);
// Whether it is a numpy.ma.MaskedArray or a torch.masked.MaskedTensor: an array
// or tensor whose memory does not say which elements are valid.
bool is_masked(nb::handle array, LibraryKind library);

}  // namespace headwise::python
