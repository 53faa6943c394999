// The types of tensors in a GGUF file: blocks of numbers with a scale. Source:
// the description of GGUF and of its quantised types by the ggml project.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "headwise/base/dtype.h"
#include "headwise/version.h"

namespace headwise::internal::inline HEADWISE_ABI {

struct GgufType {
  std::uint32_t number;  // in the file
  std::string_view name;
  std::size_t elements;  // of a block
  std::size_t bytes;     // of a block
  // Writes the elements of a block as float32.
  void (*widen)(const unsigned char* block, float* to);
  std::optional<DType> dtype{};  // that is the same
};

// Null for a type that is not read.
const GgufType* find_gguf_type(std::uint32_t number);
// Of float32, float16 and bfloat16; null for others.
const GgufType* find_gguf_type(DType dtype);
// Its name; of one that nobody knows, its number.
std::string gguf_type_name(std::uint32_t number);
// "F32, F16, ...", those that are read.
std::string_view gguf_type_names();

}  // namespace headwise::internal::inline HEADWISE_ABI
