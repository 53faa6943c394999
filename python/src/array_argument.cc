#include "array_argument.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "error.h"

namespace headwise::python {
namespace {

constexpr std::string_view kArrays =
    "a NumPy array, a PyTorch tensor or another array with __dlpack__";

std::string name_of_type(nb::handle object) {
  return nb::str(object.type().attr("__name__")).c_str();
}

std::string text_of(nb::handle object) { return nb::str(object).c_str(); }

std::optional<DType> dtype_of(nb::dlpack::dtype dtype) {
  using enum DType;
  if (dtype.lanes != 1) {
    return {};
  }
  const auto by_size = [&](DType of8, DType of16, DType of32, DType of64) {
    return dtype.bits == 8    ? std::optional(of8)
           : dtype.bits == 16 ? std::optional(of16)
           : dtype.bits == 32 ? std::optional(of32)
           : dtype.bits == 64 ? std::optional(of64)
                              : std::nullopt;
  };
  switch (static_cast<nb::dlpack::dtype_code>(dtype.code)) {
    case nb::dlpack::dtype_code::Int:
      return by_size(int8, int16, int32, int64);
    case nb::dlpack::dtype_code::UInt:
      return by_size(uint8, uint16, uint32, uint64);
    case nb::dlpack::dtype_code::Float:
      return dtype.bits == 8 ? std::nullopt
                             : by_size(float16, float16, float32, float64);
    case nb::dlpack::dtype_code::Bfloat:
      return dtype.bits == 16 ? std::optional(bfloat16) : std::nullopt;
    case nb::dlpack::dtype_code::Bool:
      return dtype.bits == 8 ? std::optional(boolean) : std::nullopt;
    default:
      return {};
  }
}

bool is_cpu(int device_type) {
  return device_type == nb::device::cpu::value ||
         device_type == nb::device::cuda_host::value;
}

// A NumPy array whose memory nanobind could not read.
[[noreturn]] void raise_numpy(nb::handle array, ArgumentName name) {
  const nb::object dtype = array.attr("dtype");
  if (!nb::cast<bool>(dtype.attr("isnative"))) {
    raise_type(name,
               "has the bytes of its elements in the other order (" +
                   text_of(dtype.attr("str")) + ")",
               "array.astype(array.dtype.newbyteorder('='))");
  }
  const auto itemsize = nb::cast<std::ptrdiff_t>(dtype.attr("itemsize"));
  for (const nb::handle stride : array.attr("strides")) {
    if (itemsize == 0 || nb::cast<std::ptrdiff_t>(stride) % itemsize != 0) {
      raise_value(name,
                  "has strides that are not multiples of its elements, " +
                      text_of(array.attr("strides")) + " bytes",
                  "a copy of it: array.copy()");
    }
  }
  raise_type(name, "has the element type " + text_of(dtype),
             "a plain number type");
}

}  // namespace

void* no_elements() {
  alignas(64) static std::byte memory[64];
  return memory;
}

bool has_elements(std::span<const std::size_t> extents) {
  return std::ranges::find(extents, 0U) == extents.end();
}

std::string shape_text(std::span<const std::size_t> extents) {
  std::string text = "(";
  for (std::size_t axis = 0; axis < extents.size(); ++axis) {
    text += (axis == 0 ? "" : ", ") + std::to_string(extents[axis]);
  }
  return text + (extents.size() == 1 ? ",)" : ")");
}

ArrayArgument::ArrayArgument(nb::handle array, ArgumentName name, Graph graph)
    : object_(nb::borrow(array)), name_(name), library_(library_of(array)) {
  if (is_masked(array, library_)) {
    raise_type(
        name_, "is a " + name_of_type(array) + ", whose mask is not read",
        library_ == LibraryKind::numpy ? "a plain array: array.filled(0)"
                                       : "a plain tensor: tensor.to_tensor(0)");
  }
  if (library_ == LibraryKind::torch) {
    read_torch(*TorchNames::if_imported(), graph);
  } else {
    read_dlpack();
  }
  if (reinterpret_cast<std::uintptr_t>(data_) % size_of(dtype_) != 0) {
    raise_value(name_,
                "is not aligned to its elements of " +
                    std::to_string(size_of(dtype_)) + " bytes",
                "a copy of it: array.copy()");
  }
}

void ArrayArgument::set_rank(std::size_t rank) {
  rank_ = rank;
  if (rank > kMostAxes) {
    raise_value(name_, "has " + std::to_string(rank) + " axes",
                "at most " + std::to_string(kMostAxes));
  }
}

// Null if there is nothing to point to, but also in tensors that only stand for
// others, as under FakeTensorMode, and in those whose memory was given back.
void ArrayArgument::set_data(void* data) {
  if (data == nullptr && has_elements(extents())) {
    raise_value(name_, "has no memory", "an array that has its elements");
  }
  data_ = data != nullptr ? data : no_elements();
}

// Never by __dlpack__: it is slow, and refuses tensors that require a gradient
// even where no graph is recorded.
void ArrayArgument::read_torch(const TorchNames& torch, Graph graph) {
  const nb::handle tensor = object_;
  nb::dlpack::dltensor plain;
  if (!torch.read(tensor, plain) || !set_plain(plain)) {
    read_torch_attributes(torch, graph);
  }
  if (graph == Graph::refused && nb::cast<bool>(tensor.attr("requires_grad")) &&
      nb::cast<bool>((*torch.is_grad_enabled)())) {
    raise_type(name_,
               "requires a gradient, which headwise." +
                   std::string(name_.operation) + "() does not record",
               "a call of headwise.torch, tensor.detach() or "
               "torch.no_grad()");
  }
  if (nb::cast<bool>(tensor.attr("is_neg")())) {
    raise_no_plain_memory();
  }
}

// False for what has a better error among the attributes.
bool ArrayArgument::set_plain(const nb::dlpack::dltensor& plain) {
  const std::optional<DType> known = dtype_of(plain.dtype);
  if (plain.device.device_type != nb::device::cpu::value || !known ||
      plain.ndim > static_cast<std::int32_t>(kMostAxes)) {
    return false;
  }
  dtype_ = *known;
  rank_ = static_cast<std::size_t>(plain.ndim);
  std::copy_n(plain.shape, rank_, extents_.begin());
  std::copy_n(plain.strides, rank_, strides_.begin());
  set_data(static_cast<std::byte*>(plain.data) + plain.byte_offset);
  return true;
}

void ArrayArgument::read_torch_attributes(const TorchNames& torch,
                                          Graph graph) {
  const nb::handle tensor = object_;
  if (graph == Graph::kept_by_caller &&
      nb::cast<bool>(tensor.attr("is_cuda"))) {
    gpu_ = nb::cast<int>(tensor.attr("device").attr("index"));
  } else if (!nb::cast<bool>(tensor.attr("is_cpu"))) {
    raise_device(kCpu);
  }
  const nb::object dtype = tensor.attr("dtype");
  const std::optional<DType> known = torch.dtype_of(dtype);
  if (!known) {
    raise_type(name_, "has the element type " + text_of(dtype),
               "a plain number type");
  }
  dtype_ = *known;
  if (!tensor.attr("layout").is(*torch.strided)) {
    raise_no_plain_memory();
  }
  const nb::object shape = tensor.attr("shape");
  const nb::object strides = tensor.attr("stride")();
  set_rank(nb::len(shape));
  for (std::size_t axis = 0; axis < rank_; ++axis) {
    extents_[axis] = nb::cast<std::size_t>(shape[axis]);
    strides_[axis] = nb::cast<std::ptrdiff_t>(strides[axis]);
  }
  set_data(PyLong_AsVoidPtr(nb::object(tensor.attr("data_ptr")()).ptr()));
}

void ArrayArgument::raise_device(int expected) const {
  raise_type(
      name_, "is a tensor on the device " + text_of(object_.attr("device")),
      expected == kCpu ? "one on the CPU: tensor.cpu()"
                       : "one on the device cuda:" + std::to_string(expected));
}

void ArrayArgument::raise_no_plain_memory() const {
  raise_type(name_, "has no plain memory",
             "a dense tensor: tensor.to_dense().resolve_neg()");
}

void ArrayArgument::read_dlpack() {
  nb::object plain = object_;
  std::optional<DType> viewed_as;
  if (library_ == LibraryKind::numpy) {
    // Neither DLPack nor buffers know NumPy's bfloat16.
    const nb::handle bfloat16 = numpy_bfloat16_if_imported();
    if (bfloat16.is_valid() && object_.attr("dtype").is(bfloat16)) {
      plain = object_.attr("view")(*NumpyNames::imported().uint16);
      viewed_as = DType::bfloat16;
    }
  }
  if (!nb::try_cast(plain, memory_, false)) {
    if (library_ == LibraryKind::numpy) {
      raise_numpy(object_, name_);
    }
    raise_type(name_, "is a " + name_of_type(object_), kArrays);
  }
  if (!is_cpu(memory_.device_type())) {
    raise_type(name_, "is an array on another device",
               "one in the CPU's memory");
  }
  const std::optional<DType> known =
      viewed_as ? viewed_as : dtype_of(memory_.dtype());
  if (!known) {
    raise_type(name_,
               "has elements of " + std::to_string(memory_.dtype().bits) +
                   " bits that headwise does not know",
               "a plain number type");
  }
  dtype_ = *known;
  set_rank(memory_.ndim());
  const std::int64_t* strides = memory_.stride_ptr();
  std::ptrdiff_t dense = 1;
  for (std::size_t axis = rank_; axis-- > 0;) {
    extents_[axis] = memory_.shape(axis);
    strides_[axis] = strides != nullptr ? strides[axis] : dense;
    dense *= static_cast<std::ptrdiff_t>(extents_[axis]);
  }
  set_data(const_cast<void*>(memory_.data()));
}

void ArrayArgument::expect(DType dtype) const {
  if (dtype_ != dtype) {
    raise_dtype(name_of(dtype));
  }
}

void ArrayArgument::expect(std::size_t rank, std::string_view axes) const {
  if (rank_ != rank) {
    raise_shape(axes);
  }
}

// torch has no read-only tensors; others say it when they lend memory, but
// NumPy lends no bfloat16.
void ArrayArgument::expect_writable() const {
  bool writable = true;
  if (library_ == LibraryKind::numpy) {
    writable = nb::cast<bool>(object_.attr("flags").attr("writeable"));
  } else if (library_ == LibraryKind::other) {
    nb::ndarray<> memory;
    writable = nb::try_cast(object_, memory, false);
  }
  if (!writable) {
    raise_value(name_, "is read-only", "an array to write to");
  }
}

void ArrayArgument::put_rows_first(std::string_view axes) {
  expect(4, axes);
  std::swap(extents_[1], extents_[2]);
  std::swap(strides_[1], strides_[2]);
  order_ = AxisOrder::heads_first;
}

void ArrayArgument::expect_on(int gpu) const {
  if (gpu_ != gpu) {
    raise_device(gpu);
  }
}

void ArrayArgument::expect_in_place() const {
  if (library_ != LibraryKind::torch || data_ == no_elements()) {
    return;
  }
  if (PyLong_AsVoidPtr(nb::object(object_.attr("data_ptr")()).ptr()) != data_) {
    raise_value(name_, "was resized after it was given",
                "a tensor that keeps its memory");
  }
}

void ArrayArgument::raise_dtype(std::string_view expected) const {
  raise_type(name_, "is " + std::string(name_of(dtype_)), expected);
}

void ArrayArgument::raise_shape(std::string_view expected) const {
  raise_value(name_, "has shape " + shape_text(extents()), expected);
}

}  // namespace headwise::python
