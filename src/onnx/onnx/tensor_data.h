// The elements of a tensor message: checked before memory is taken for them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headwise/base/dtype.h"
#include "headwise/base/result.h"
#include "headwise/interop/array.h"
#include "headwise/interop/file_subject.h"

namespace headwise::inline HEADWISE_ABI {

// ONNX's number of a type; nothing for one that headwise does not read.
std::optional<DType> dtype_of_onnx(std::int64_t type);
// "string", "complex64", "type 99".
std::string onnx_type_name(std::int64_t type);

// The fields of a tensor message. Views into the message.
struct TensorFields {
  std::span<const std::int64_t> dims;
  std::int64_t type = 0;
  std::optional<std::string_view> raw;  // little endian
  std::span<const float> floats;
  std::span<const std::int32_t> int32s;
  std::span<const std::int64_t> int64s;
  std::span<const double> doubles;
  std::span<const std::uint64_t> uint64s;
  bool in_segments = false;
  bool external = false;
  // Of external data: location, offset, length.
  std::vector<std::pair<std::string_view, std::string_view>> place;
};

// `folder`: of the model, for external data; without one it is an error.
Result<Array> tensor_of(const TensorFields& fields, const FileSubject& subject,
                        const std::optional<std::string>& folder);

// Errors: unsupported for a tensor without elements whose other axes have more
// than 2^24 together; loops over them would not end.
Status check_empty(std::span<const std::size_t> shape,
                   const FileSubject& subject);

// Uninitialised elements, taken from the memory of the node that runs. Errors:
// out_of_memory; unsupported (check_empty).
Result<Array> array_of(std::vector<std::size_t> shape, DType dtype);

// The same elements with these axes, which have as many. Errors as above.
Result<Array> copy_of(const Array& array, std::vector<std::size_t> shape);

}  // namespace headwise::inline HEADWISE_ABI
