#include "new_array.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "error.h"

namespace headwise::python {
namespace {

nb::object tuple_of(std::span<const std::size_t> extents) {
  nb::object tuple =
      nb::steal(PyTuple_New(static_cast<Py_ssize_t>(extents.size())));
  for (std::size_t axis = 0; axis < extents.size(); ++axis) {
    PyTuple_SetItem(tuple.ptr(), static_cast<Py_ssize_t>(axis),
                    PyLong_FromSize_t(extents[axis]));
  }
  return tuple;
}

nb::dlpack::dtype dlpack_of(DType dtype) {
  using enum nb::dlpack::dtype_code;
  const auto of = [dtype](nb::dlpack::dtype_code code) {
    return nb::dlpack::dtype{static_cast<std::uint8_t>(code),
                             static_cast<std::uint8_t>(8 * size_of(dtype)), 1};
  };
  switch (dtype) {
    case DType::boolean:
      return of(Bool);
    case DType::bfloat16:
      return of(Bfloat);
    case DType::float16:
    case DType::float32:
    case DType::float64:
      return of(Float);
    case DType::uint8:
    case DType::uint16:
    case DType::uint32:
    case DType::uint64:
      return of(UInt);
    default:
      return of(Int);
  }
}

void* data_of(nb::handle numpy_array) {
  nb::ndarray<> memory;
  if (!nb::try_cast(numpy_array, memory, false)) {
    raise(ErrorCode::out_of_memory);
  }
  return memory.data();
}

// (B, H, L, D) with the strides of (B, L, H, D) in C order, where an empty axis
// counts as one element.
nb::object empty_heads_first(const TorchNames& torch, DType dtype,
                             nb::handle device,
                             std::span<const std::size_t> extents) {
  std::array<std::size_t, 4> shape, strides;
  std::size_t dense = 1;
  for (std::size_t axis = 4; axis-- > 0;) {
    shape[axis] = extents[axis];
    strides[axis] = dense;
    dense *= std::max<std::size_t>(extents[axis], 1);
  }
  std::swap(shape[1], shape[2]);
  std::swap(strides[1], strides[2]);
  return (*torch.empty_strided)(tuple_of(shape), tuple_of(strides),
                                nb::arg("dtype") = torch.of(dtype),
                                nb::arg("device") = device);
}

// Who makes arrays of the library that `like` is from: a function that takes an
// object with __dlpack__; nothing if it has none.
nb::object from_dlpack_of(nb::handle like) {
  nb::object library;
  if (nb::hasattr(like, "__array_namespace__")) {
    library = like.attr("__array_namespace__")();
  } else {
    const nb::object place = like.type().attr("__module__").attr("split")(".");
    library = nb::module_::import_(nb::str(place[0]).c_str());
  }
  return nb::hasattr(library, "from_dlpack") ? library.attr("from_dlpack")
                                             : nb::object();
}

}  // namespace

NewArray::NewArray(const ArrayArgument& like, DType dtype,
                   std::span<const std::size_t> extents, AxisOrder order)
    : library_(like.library()), dtype_(dtype) {
  set_extents(extents);
  switch (library_) {
    case LibraryKind::numpy: {
      const NumpyNames& numpy = NumpyNames::imported();
      const bool bfloat16 = dtype == DType::bfloat16;
      object_ = (*numpy.empty)(tuple_of(extents),
                               bfloat16 ? *numpy.uint16 : numpy.of(dtype));
      data_ = data_of(object_);
      if (bfloat16) {
        object_ = object_.attr("view")(numpy_bfloat16());
      }
      break;
    }
    case LibraryKind::torch: {
      const TorchNames& torch = *TorchNames::if_imported();
      // Else it would be on torch's default device.
      const nb::object device = like.gpu() == ArrayArgument::kCpu
                                    ? nb::borrow(*torch.cpu)
                                    : like.object().attr("device");
      object_ = order == AxisOrder::heads_first
                    ? empty_heads_first(torch, dtype, device, extents)
                    : (*torch.empty)(tuple_of(extents),
                                     nb::arg("dtype") = torch.of(dtype),
                                     nb::arg("device") = device);
      data_ = PyLong_AsVoidPtr(nb::object(object_.attr("data_ptr")()).ptr());
      if (data_ == nullptr && has_elements(extents)) {
        raise(Error(ErrorCode::unsupported,
                    {.operation = std::string(like.name().operation),
                     .given = "torch.empty() gives tensors without memory",
                     .expected = "a call outside of FakeTensorMode"}));
      }
      break;
    }
    case LibraryKind::other: {
      const std::size_t bytes = size_of(dtype) * element_count(extents);
      auto* memory = new Tensor<std::uint64_t, 1>(
          value_of(Tensor<std::uint64_t, 1>::create({(bytes + 7) / 8})));
      object_ = nb::capsule(memory, [](void* owned) noexcept {
        delete static_cast<Tensor<std::uint64_t, 1>*>(owned);
      });
      like_ = nb::borrow(like.object());
      data_ = memory->data();
      break;
    }
  }
  if (data_ == nullptr) {
    data_ = no_elements();
  }
}

NewArray::NewArray(nb::handle like, DType dtype,
                   std::span<const std::size_t> extents, void* data,
                   nb::object owner)
    : object_(std::move(owner)),
      like_(nb::borrow(like)),
      library_(LibraryKind::other),
      dtype_(dtype),
      data_(data) {
  set_extents(extents);
}

void NewArray::set_extents(std::span<const std::size_t> extents) {
  rank_ = extents.size();
  std::copy(extents.begin(), extents.end(), extents_.begin());
}

nb::object NewArray::object() && {
  if (data_ == nullptr) {
    return nb::none();
  }
  if (library_ != LibraryKind::other) {
    return std::move(object_);
  }
  const nb::ndarray<> memory(data_, rank_, extents_.data(), object_, nullptr,
                             dlpack_of(dtype_), nb::device::cpu::value);
  switch (like_.is_valid() ? library_of(like_) : LibraryKind::numpy) {
    case LibraryKind::torch:
      return nb::cast(nb::ndarray<nb::pytorch>(memory));
    case LibraryKind::numpy:
      return nb::cast(nb::ndarray<nb::numpy>(memory));
    case LibraryKind::other:
      break;
  }
  const nb::object from_dlpack = from_dlpack_of(like_);
  return from_dlpack.is_valid()
             ? from_dlpack(nb::cast(nb::ndarray<nb::array_api>(memory)))
             : nb::cast(nb::ndarray<nb::numpy>(memory));
}

nb::object read_only_array(const AnyView& view,
                           std::shared_ptr<const void> owner) {
  using Owner = std::shared_ptr<const void>;
  const bool bfloat16 = view.dtype() == DType::bfloat16;
  const nb::capsule capsule(
      new Owner(std::move(owner)),
      [](void* owned) noexcept { delete static_cast<Owner*>(owned); });
  const std::vector<std::int64_t> strides(view.strides().begin(),
                                          view.strides().end());
  const nb::ndarray<nb::ro, nb::numpy> memory(
      view.data() != nullptr ? view.data() : no_elements(), view.rank(),
      view.extents().data(), capsule, strides.data(),
      dlpack_of(bfloat16 ? DType::uint16 : view.dtype()),
      nb::device::cpu::value);
  const nb::object array = nb::cast(memory);
  return bfloat16 ? array.attr("view")(numpy_bfloat16()) : array;
}

}  // namespace headwise::python
