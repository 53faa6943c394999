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
      return subject.bad_data(message("has an axis of extent {}", dim),
                              "at least 0");
    }
    shape.push_back(static_cast<std::size_t>(dim));
  }
  return shape;
}

// Calls `use` with the field that has the elements of a type, which are the
// first bytes of those of the field.
template <class Use>
auto with_field(const TensorFields& fields, DType dtype, const Use& use) {
  switch (dtype) {
    case DType::float32:
      return use(fields.floats);
    case DType::float64:
      return use(fields.doubles);
    case DType::int64:
      return use(fields.int64s);
    case DType::uint32:
    case DType::uint64:
      return use(fields.uint64s);
    default:
      return use(fields.int32s);
  }
}

// The elements of a tensor in its file, which are as many as it has.
void copy_elements(const TensorFields& fields, Array& into) {
  static_assert(std::endian::native == std::endian::little);
  if (fields.raw) {
    std::ranges::copy(std::as_bytes(std::span(*fields.raw)), into.data.begin());
    return;
  }
  with_field(fields, into.dtype, [&](auto field) {
    const std::size_t item = size_of(into.dtype);
    for (std::size_t i = 0; i < field.size(); ++i) {
      std::memcpy(into.data.data() + i * item, &field[i], item);
    }
  });
}

// Booleans are 0 or 1, whatever the file says.
Array with_booleans(Array array) {
  if (array.dtype == DType::boolean) {
    for (std::byte& byte : array.data) {
      byte = byte == std::byte{0} ? byte : std::byte{1};
    }
  }
  return array;
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
  return subject.error(ErrorCode::unsupported,
                       message("has shape {}", shape_text(shape)),
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
  HEADWISE_ASSIGN(auto copy, array_of(std::move(shape), array.dtype));
  std::ranges::copy(array.data, copy.data.begin());
  return copy;
}

Result<Array> tensor_of(const TensorFields& fields, const FileSubject& subject,
                        const std::optional<std::string>& folder) {
  const auto dtype = dtype_of_onnx(fields.type);
  if (!dtype) {
    return subject.error(
        ErrorCode::unsupported,
        message("holds elements of type {}", onnx_type_name(fields.type)),
        "bool, integers or floating-point numbers");
  }
  if (fields.in_segments) {
    return subject.error(ErrorCode::unsupported, "is divided into segments",
                         "a whole tensor");
  }
  HEADWISE_ASSIGN(auto shape, shape_of(fields.dims, subject));
  if (shape.size() > kMostOnnxAxes) {
    return subject.error(ErrorCode::unsupported,
                         message("has {} axes", shape.size()),
                         "at most 8 axes");
  }
  HEADWISE_TRY(check_empty(shape, subject));
  const std::string wanted =
      shape_text(shape) + " " + std::string(name_of(*dtype));
  const auto bytes = bytes_of(shape, *dtype);
  if (!bytes) {
    return subject.bad_data(message("is too large: {}", wanted));
  }
  if (fields.external) {
    HEADWISE_ASSIGN(auto data,
                    read_external(fields.place, *bytes, subject, folder));
    return with_booleans(
        {.dtype = *dtype, .shape = shape, .data = std::move(data)});
  }
  const std::size_t held =
      fields.raw ? fields.raw->size()
                 : size_of(*dtype) * with_field(fields, *dtype, [](auto field) {
                     return field.size();
                   });
  if (held != *bytes) {
    return subject.bad_data(message("has {} bytes of data", held),
                            message("{} for {}", *bytes, wanted));
  }
  HEADWISE_ASSIGN(auto array, array_of(shape, *dtype));
  copy_elements(fields, array);
  return with_booleans(std::move(array));
}

}  // namespace headwise::inline HEADWISE_ABI
