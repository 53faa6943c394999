// The header of a safetensors file: what its tensors are and where they lie.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "headwise/base/dtype.h"
#include "headwise/base/result.h"
#include "headwise/interop/file_subject.h"
#include "headwise/interop/safetensors.h"

namespace headwise::inline HEADWISE_ABI {

inline constexpr std::size_t kMaxSafetensorsHeader = 100'000'000;
inline constexpr std::size_t kMaxSafetensorsRank = 32;
inline constexpr std::string_view kSafetensorsMetadata = "__metadata__";

// "F32"
std::string_view safetensors_name_of(DType dtype);

struct CheckedHeader {
  SafetensorsHeader header;
  // The tensors cover this many bytes, each exactly once.
  std::size_t data_bytes = 0;
};

// Errors are about `subject`. The text begins at this byte of the file.
Result<CheckedHeader> parse_safetensors_header(std::string_view text,
                                               const FileSubject& subject,
                                               std::uint64_t begin);

}  // namespace headwise::inline HEADWISE_ABI
