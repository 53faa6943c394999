#include "onnx/tensor_data.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <iterator>
#include <limits>

#include "base/check.h"
#include "headwise/base/checked_product.h"
#include "onnx/external_data.h"
#include "onnx/node_memory.h"
#include "onnx/shown_text.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

struct OnnxType {
  std::string_view name;
  std::optional<DType> dtype;
};

// By ONNX's numbers, from 0.
constexpr auto kTypes = std::to_array<OnnxType>(
    {{"undefined", std::nullopt},      {"float32", DType::float32},
     {"uint8", DType::uint8},          {"int8", DType::int8},
     {"uint16", DType::uint16},        {"int16", DType::int16},
     {"int32", DType::int32},          {"int64", DType::int64},
     {"string", std::nullopt},         {"bool", DType::boolean},
     {"float16", DType::float16},      {"float64", DType::float64},
     {"uint32", DType::uint32},        {"uint64", DType::uint64},
     {"complex64", std::nullopt},      {"complex128", std::nullopt},
     {"bfloat16", DType::bfloat16},    {"float8e4m3fn", std::nullopt},
     {"float8e4m3fnuz", std::nullopt}, {"float8e5m2", std::nullopt},
     {"float8e5m2fnuz", std::nullopt}, {"uint4", std::nullopt},
     {"int4", std::nullopt},           {"float4e2m1", std::nullopt}});

std::optional<std::size_t> bytes_of(std::span<const std::size_t> shape,
                                    DType dtype) {
  std::vector<std::size_t> factors(shape.begin(), shape.end());
  factors.push_back(size_of(dtype));
  return checked_product(factors);
}

Result<std::vector<std::size_t>> shape_of(std::span<const std::int64_t> dims,
                                          const FileSubject& subject) {
  std::vector<std::size_t> shape;
  for (const std::int64_t dim : dims) {
    if (dim < 0) {
      return subject.bad_data("has an axis of extent " + std::to_string(dim),
                              "at least 0");
    }
    shape.push_back(static_cast<std::size_t>(dim));
  }
  return shape;
}

// Elements that lie in fields of a wider type, one after another.
template <class Stored, class Element>
void copy_elements(std::span<const Element> from, AlignedBytes& into) {
  for (std::size_t i = 0; i < from.size(); ++i) {
    const auto element = static_cast<Stored>(from[i]);
    std::memcpy(into.data() + i * sizeof(Stored), &element, sizeof(Stored));
  }
}

// Booleans are 0 or 1, whatever the file says.
void make_booleans(AlignedBytes& data) {
  for (std::byte& byte : data) {
    byte = byte == std::byte{0} ? byte : std::byte{1};
  }
}

// How many elements the field of this type has.
std::size_t count_in_fields(const TensorFields& fields, DType dtype) {
  switch (dtype) {
    case DType::float32:
      return fields.floats.size();
    case DType::float64:
      return fields.doubles.size();
    case DType::int64:
      return fields.int64s.size();
    case DType::uint32:
    case DType::uint64:
      return fields.uint64s.size();
    default:
      return fields.int32s.size();
  }
}

void copy_fields(const TensorFields& fields, DType dtype, AlignedBytes& data) {
  switch (dtype) {
    case DType::float32:
      return copy_elements<float>(fields.floats, data);
    case DType::float64:
      return copy_elements<double>(fields.doubles, data);
    case DType::int64:
      return copy_elements<std::int64_t>(fields.int64s, data);
    case DType::uint64:
      return copy_elements<std::uint64_t>(fields.uint64s, data);
    case DType::uint32:
      return copy_elements<std::uint32_t>(fields.uint64s, data);
    case DType::int32:
      return copy_elements<std::int32_t>(fields.int32s, data);
    case DType::boolean:
    case DType::int8:
    case DType::uint8:
      return copy_elements<std::uint8_t>(fields.int32s, data);
    case DType::int16:
    case DType::uint16:
    case DType::float16:
    case DType::bfloat16:
      return copy_elements<std::uint16_t>(fields.int32s, data);
  }
}

Status copy_raw(std::string_view raw, AlignedBytes& data) {
  static_assert(std::endian::native == std::endian::little);
  std::ranges::copy(std::as_bytes(std::span(raw)), data.begin());
  return ok();
}

}  // namespace

std::optional<DType> dtype_of_onnx(std::int64_t type) {
  return type >= 0 && type < static_cast<std::int64_t>(kTypes.size())
             ? kTypes[static_cast<std::size_t>(type)].dtype
             : std::nullopt;
}

std::string onnx_type_name(std::int64_t type) {
  return type >= 0 && type < static_cast<std::int64_t>(kTypes.size())
             ? std::string(kTypes[static_cast<std::size_t>(type)].name)
             : "#" + std::to_string(type);
}

Status check_empty(std::span<const std::size_t> shape,
                   const FileSubject& subject) {
  constexpr std::size_t kMost = std::size_t{1} << 24;
  std::vector<std::size_t> others;
  std::ranges::copy_if(shape, std::back_inserter(others),
                       [](std::size_t extent) { return extent != 0; });
  const auto product = checked_product(others);
  if (others.size() == shape.size() || (product && *product <= kMost)) {
    return ok();
  }
  return subject.error(ErrorCode::unsupported, "has shape " + shape_text(shape),
                       "axes of at most 16777216 together next to one of 0");
}

Result<Array> array_of(std::vector<std::size_t> shape, DType dtype) {
  HEADWISE_TRY(check_empty(shape, FileSubject()));
  const auto bytes = bytes_of(shape, dtype);
  if (!bytes || *bytes > static_cast<std::size_t>(
                             std::numeric_limits<std::ptrdiff_t>::max())) {
    return Error::no_memory_for(std::numeric_limits<std::uint64_t>::max());
  }
  HEADWISE_TRY(NodeMemory::take(*bytes));
  Array array{.dtype = dtype, .shape = std::move(shape), .data = {}};
  array.data.resize(*bytes);
  return array;
}

Result<Array> copy_of(const Array& array, std::vector<std::size_t> shape) {
  auto copy = array_of(std::move(shape), array.dtype);
  HEADWISE_TRY(copy);
  std::ranges::copy(array.data, copy->data.begin());
  return copy;
}

Result<Array> tensor_of(const TensorFields& fields, const FileSubject& subject,
                        const std::optional<std::string>& folder) {
  const auto dtype = dtype_of_onnx(fields.type);
  if (!dtype) {
    return subject.error(
        ErrorCode::unsupported,
        "holds elements of type " + onnx_type_name(fields.type),
        "bool, integers or floating-point numbers");
  }
  if (fields.in_segments) {
    return subject.error(ErrorCode::unsupported, "is divided into segments",
                         "a whole tensor");
  }
  auto shape = shape_of(fields.dims, subject);
  HEADWISE_TRY(shape);
  if (shape->size() > kMostOnnxAxes) {
    return subject.error(ErrorCode::unsupported,
                         "has " + std::to_string(shape->size()) + " axes",
                         "at most 8 axes");
  }
  HEADWISE_TRY(check_empty(*shape, subject));
  const std::string wanted =
      shape_text(*shape) + " " + std::string(name_of(*dtype));
  const auto bytes = bytes_of(*shape, *dtype);
  if (!bytes) {
    return subject.bad_data("is too large: " + wanted);
  }
  if (fields.external) {
    auto data = read_external(fields.place, *bytes, subject, folder);
    HEADWISE_TRY(data);
    Array array{.dtype = *dtype, .shape = *shape, .data = *std::move(data)};
    if (*dtype == DType::boolean) {
      make_booleans(array.data);
    }
    return array;
  }
  const std::size_t held =
      fields.raw ? fields.raw->size()
                 : count_in_fields(fields, *dtype) * size_of(*dtype);
  if (held != *bytes) {
    return subject.bad_data("has " + std::to_string(held) + " bytes of data",
                            std::to_string(*bytes) + " for " + wanted);
  }
  auto array = array_of(*shape, *dtype);
  HEADWISE_TRY(array);
  if (fields.raw) {
    HEADWISE_TRY(copy_raw(*fields.raw, array->data));
  } else {
    copy_fields(fields, *dtype, array->data);
  }
  if (*dtype == DType::boolean) {
    make_booleans(array->data);
  }
  return array;
}

}  // namespace headwise::inline HEADWISE_ABI
