#include "number_arguments.h"

#include <span>
#include <string>

#include "error.h"
#include "headwise/base/any_view.h"

namespace headwise::python {
namespace {

// Calls `call(offset)` for each element in C order.
template <class Call>
void for_each_element(std::span<const std::size_t> extents,
                      std::span<const std::ptrdiff_t> strides, Call&& call,
                      std::ptrdiff_t offset = 0) {
  if (extents.empty()) {
    call(offset);
    return;
  }
  for (std::size_t n = 0; n < extents[0]; ++n) {
    for_each_element(extents.subspan(1), strides.subspan(1), call,
                     offset + static_cast<std::ptrdiff_t>(n) * strides[0]);
  }
}

// Calls `call` with a value of the array's integer type; false for any other.
template <class Call>
bool with_integer_type(DType dtype, Call&& call) {
  switch (dtype) {
    case DType::int8:
      return call(std::int8_t{}), true;
    case DType::int16:
      return call(std::int16_t{}), true;
    case DType::int32:
      return call(std::int32_t{}), true;
    case DType::int64:
      return call(std::int64_t{}), true;
    case DType::uint8:
      return call(std::uint8_t{}), true;
    case DType::uint16:
      return call(std::uint16_t{}), true;
    case DType::uint32:
      return call(std::uint32_t{}), true;
    case DType::uint64:
      return call(std::uint64_t{}), true;
    default:
      return false;
  }
}

bool is_sequence(nb::handle value) {
  return nb::isinstance<nb::list>(value) || nb::isinstance<nb::tuple>(value);
}

// The extents of nested sequences, by their first elements.
std::vector<std::size_t> extents_of_sequence(nb::handle value) {
  std::vector<std::size_t> extents;
  nb::object inner = nb::borrow(value);
  while (is_sequence(inner)) {
    const std::size_t length = nb::len(inner);
    extents.push_back(length);
    if (length == 0) {
      break;
    }
    inner = inner[0];
  }
  return extents;
}

// Writes the numbers of nested sequences with these extents in C order.
std::int64_t* copy_sequence(nb::handle value, ArgumentName name,
                            std::span<const std::size_t> extents,
                            std::int64_t* to) {
  if (extents.empty()) {
    *to = integer(value, name);
    return to + 1;
  }
  if (!is_sequence(value) || nb::len(value) != extents[0]) {
    raise_kind(value, name, "sequences of one length");
  }
  for (std::size_t n = 0; n < extents[0]; ++n) {
    const nb::object inner = value[n];
    to = copy_sequence(inner, name, extents.subspan(1), to);
  }
  return to;
}

template <std::size_t Rank>
TensorView<const std::int64_t, Rank> row_major_view(
    const std::int64_t* data, std::span<const std::size_t> extents) {
  Extents<Rank> shape;
  std::copy(extents.begin(), extents.end(), shape.begin());
  return {data, shape};
}

[[noreturn]] void raise_mask_number(std::string number, ArgumentName name) {
  raise_value(name, "has the element " + std::move(number),
              "truth values: True (or 1) = may attend, False (or "
              "0) = may not");
}

}  // namespace

bool boolean(nb::handle value, ArgumentName name) {
  if (!PyBool_Check(value.ptr())) {
    raise_kind(value, name, "True or False");
  }
  return value.ptr() == Py_True;
}

double number(nb::handle value, ArgumentName name) {
  const double number = PyFloat_AsDouble(value.ptr());
  if (number == -1 && PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    raise_kind(value, name, "a number");
  }
  return number;
}

std::int64_t integer(nb::handle value, ArgumentName name) {
  const nb::object index = nb::steal(PyNumber_Index(value.ptr()));
  if (!index.is_valid() || PyBool_Check(value.ptr())) {
    PyErr_Clear();
    raise_kind(value, name, "a whole number");
  }
  int overflow = 0;
  const long long number = PyLong_AsLongLongAndOverflow(index.ptr(), &overflow);
  if (overflow != 0) {
    raise_value(name, std::string("is ") + nb::repr(value).c_str(),
                "-2^63 to 2^63 - 1");
  }
  return number;
}

std::uint64_t unsigned_integer(nb::handle value, ArgumentName name) {
  const nb::object index = nb::steal(PyNumber_Index(value.ptr()));
  if (!index.is_valid() || PyBool_Check(value.ptr())) {
    PyErr_Clear();
    raise_kind(value, name, "a whole number");
  }
  const unsigned long long number = PyLong_AsUnsignedLongLong(index.ptr());
  if (PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    raise_value(name, std::string("is ") + nb::repr(value).c_str(),
                "0 to 2^64 - 1");
  }
  return number;
}

std::string_view word(nb::handle value, ArgumentName name) {
  Py_ssize_t size = 0;
  const char* text = PyUnicode_Check(value.ptr())
                         ? PyUnicode_AsUTF8AndSize(value.ptr(), &size)
                         : nullptr;
  if (text == nullptr) {
    PyErr_Clear();
    raise_kind(value, name, "a string");
  }
  return {text, static_cast<std::size_t>(size)};
}

void raise_word(std::string_view given, ArgumentName name,
                std::string_view expected) {
  raise_value(name, "is '" + std::string(given) + "'", expected);
}

template <std::size_t Rank>
TensorView<const std::int64_t, Rank> integers(nb::handle value,
                                              ArgumentName name,
                                              std::string_view axes,
                                              ArgumentMemory& memory) {
  if (is_sequence(value)) {
    const std::vector<std::size_t> extents = extents_of_sequence(value);
    if (extents.size() != Rank) {
      raise_kind(value, name, axes);
    }
    std::int64_t* data = memory.new_integers(element_count(extents));
    copy_sequence(value, name, extents, data);
    return row_major_view<Rank>(data, extents);
  }
  const ArrayArgument array(value, name);
  if (array.rank() != Rank) {
    array.raise_shape(axes);
  }
  std::int64_t* data = memory.new_integers(element_count(array.extents()));
  const bool whole = with_integer_type(array.dtype(), [&](auto type) {
    const auto* from = static_cast<const decltype(type)*>(array.data());
    std::int64_t* to = data;
    for_each_element(array.extents(), array.strides(),
                     [&](std::ptrdiff_t offset) {
                       *to++ = static_cast<std::int64_t>(from[offset]);
                     });
  });
  if (!whole) {
    array.raise_dtype("int64 or another type of whole numbers");
  }
  return row_major_view<Rank>(data, array.extents());
}
template TensorView<const std::int64_t, 1> integers<1>(nb::handle, ArgumentName,
                                                       std::string_view,
                                                       ArgumentMemory&);
template TensorView<const std::int64_t, 2> integers<2>(nb::handle, ArgumentName,
                                                       std::string_view,
                                                       ArgumentMemory&);

std::vector<std::size_t> counts(nb::handle value, ArgumentName name,
                                std::string_view axes, std::int64_t least,
                                std::string_view expected) {
  ArgumentMemory memory;
  const auto given = integers<1>(value, name, axes, memory);
  std::vector<std::size_t> numbers;
  for (std::size_t n = 0; n < given.extent(0); ++n) {
    if (given(n) < least) {
      raise_value({name.operation,
                   std::string(name.argument) + "[" + std::to_string(n) + "]"},
                  "is " + std::to_string(given(n)), expected);
    }
    numbers.push_back(static_cast<std::size_t>(given(n)));
  }
  return numbers;
}

Booleans booleans(nb::handle value, ArgumentName name, ArgumentMemory& memory,
                  Graph graph) {
  ArrayArgument array(value, name, graph);
  const std::vector<std::size_t> extents(array.extents().begin(),
                                         array.extents().end());
  if (array.dtype() == DType::boolean) {
    const std::vector<std::ptrdiff_t> strides(array.strides().begin(),
                                              array.strides().end());
    const ArrayArgument& kept = memory.keep(std::move(array));
    return {static_cast<const bool*>(kept.data()), extents, strides};
  }
  array.expect_on(ArrayArgument::kCpu);
  bool* data = memory.new_booleans(element_count(extents));
  const bool whole = with_integer_type(array.dtype(), [&](auto type) {
    const auto* from = static_cast<const decltype(type)*>(array.data());
    bool* to = data;
    for_each_element(array.extents(), array.strides(),
                     [&](std::ptrdiff_t offset) {
                       if (from[offset] != 0 && from[offset] != 1) {
                         raise_mask_number(std::to_string(from[offset]), name);
                       }
                       *to++ = from[offset] != 0;
                     });
  });
  if (!whole) {
    array.raise_dtype("bool");
  }
  return {data, extents, row_major(std::span(extents))};
}

template <std::size_t Rank>
TensorView<const bool, Rank> booleans(nb::handle value, ArgumentName name,
                                      std::string_view axes,
                                      ArgumentMemory& memory) {
  const Booleans read = booleans(value, name, memory);
  if (read.extents.size() != Rank) {
    raise_value(name, "has shape " + shape_text(read.extents), axes);
  }
  Extents<Rank> extents;
  Strides<Rank> strides;
  std::copy(read.extents.begin(), read.extents.end(), extents.begin());
  std::copy(read.strides.begin(), read.strides.end(), strides.begin());
  return {read.data, extents, strides};
}
template TensorView<const bool, 2> booleans<2>(nb::handle, ArgumentName,
                                               std::string_view,
                                               ArgumentMemory&);
template TensorView<const bool, 4> booleans<4>(nb::handle, ArgumentName,
                                               std::string_view,
                                               ArgumentMemory&);

}  // namespace headwise::python
