// Reads one .npy from wherever its bytes come.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "headwise/base/result.h"
#include "headwise/interop/array.h"
#include "headwise/interop/file_subject.h"
#include "interop/byte_source.h"

namespace headwise::inline HEADWISE_ABI {

// What is known about the size of a source before it is read.
struct SourceSize {
  std::optional<std::size_t> bytes;
  // The bytes are there: memory for all of them may be taken at once. An
  // archive only says so.
  bool certain = false;
};

// Takes `source` to its end. Errors are about `subject`.
Result<Array> read_npy_stream(ByteSource& source, SourceSize size,
                              const FileSubject& subject);

}  // namespace headwise::inline HEADWISE_ABI
