// Reads one .npy from wherever its bytes come.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "headwise/base/result.h"
#include "headwise/interop/array.h"
#include "headwise/interop/file_subject.h"
#include "interop/byte_source.h"
#include "interop/npy_header.h"

namespace headwise::inline HEADWISE_ABI {

// What is known about the size of a source before it is read.
struct SourceSize {
  std::optional<std::size_t> bytes;
  // The bytes are there: memory for all of them may be taken at once. An
  // archive only says so.
  bool certain = false;
};

// One .npy on its way from a source to an Array.
class NpyReader {
 public:
  // Errors are about `subject`.
  NpyReader(ByteSource& source, SourceSize size, const FileSubject& subject)
      : source_(source), size_(size), subject_(subject) {}

  Result<NpyHeader> read_header();
  // The bytes before the data.
  std::size_t taken() const { return taken_; }
  // Takes the source to its end.
  Result<Array> read_array(NpyHeader header);
  // Both.
  Result<Array> read();

 private:
  Status read_all(std::span<std::byte> bytes, const char* given);
  Result<std::size_t> read_number(std::size_t bytes);
  Result<std::string> read_header_text();
  Status read_data(const NpyHeader& header, AlignedBytes& data);
  Error wrong_size(const NpyHeader& header,
                   std::optional<std::size_t> there) const;

  ByteSource& source_;
  SourceSize size_;
  const FileSubject& subject_;
  std::size_t taken_ = 0;  // by the header
};

// Elements as the file has them, in place: in this machine's byte order, and
// bools as 0 and 1.
void to_native_elements(const NpyHeader& header, std::span<std::byte> elements);

}  // namespace headwise::inline HEADWISE_ABI
