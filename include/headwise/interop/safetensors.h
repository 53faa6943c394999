// Safetensors files: tensors by name behind a header of JSON, and nothing in
// them that could run.
//
// Read: F64 F32 F16 BF16, I8 .. I64, U8 .. U64, BOOL (any byte but 0 is true);
// other element types (of 8 bits and less, complex) are refused by name. No
// file is used before all of it was checked: the header has at most 100 MB and
// fits the file, is JSON that begins with '{', in UTF-8, with no key twice and
// none unknown; each tensor has the bytes of its shape and type, at most 32
// axes, and no product overflows; the tensors cover the data from its first
// byte to its last, without a hole, an overlap or anything behind. A header
// that is larger than the file, or promises more, costs no memory.
//
// Values may be NaN and infinite. Tensors of no elements are legal, scalars
// (shape ()) too. The data may lie on any boundary.
//
// Written: tensors in the order of their names, the largest elements first, so
// that each lies on a boundary of its elements; the header is filled with
// blanks up to a multiple of 8. The same tensors give the same bytes.
//
// Errors: io_error names the path and the reason; bad_data what is wrong with
// the content; unsupported an element type that is not read; out_of_memory;
// out_of_range for a tensor that is not there.
//   open_safetensors: m.safetensors: tensor w_q.weight is of shape (2, 3) and
//   type F32, which take 24 bytes, but has the data_offsets [0, 20]
//
// Source: the safetensors format, github.com/huggingface/safetensors (README,
// "Format").
//
// Example:
//   auto file = open_safetensors("model.safetensors").value();
//   Array embedding = file.array("embeddings.word_embeddings.weight").value();
//   Status s = write_safetensors("copy.safetensors",
//                                {{"embedding", embedding.view()}});
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headwise/base/any_view.h"
#include "headwise/base/dtype.h"
#include "headwise/base/result.h"
#include "headwise/interop/array.h"
#include "headwise/interop/file_subject.h"
#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI {

class SafetensorsReader;  // not exported

}  // namespace headwise::inline HEADWISE_ABI

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

enum class FileAccess {
  // The whole file is read into memory: for files that others may change.
  read,
  // The file is read as its bytes are used, and by all programs from the same
  // memory. One that gets shorter meanwhile ends the program (SIGBUS), one that
  // is written to changes the tensors. What has no size (a pipe) is read.
  mapped,
};

// What the header says of a tensor. Its bytes are [begin, end) of the data.
struct SafetensorsEntry {
  DType dtype = DType::float32;
  std::vector<std::size_t> shape;
  std::size_t begin = 0;
  std::size_t end = 0;
};

// By name; both are what the header holds.
using SafetensorsEntries = std::map<std::string, SafetensorsEntry, std::less<>>;
using SafetensorsMetadata = std::map<std::string, std::string>;

struct SafetensorsHeader {
  SafetensorsEntries tensors;
  SafetensorsMetadata metadata;
};

// A tensor of a file, and what keeps its bytes: the view is valid while
// `bytes` or a copy of it lives, whatever becomes of the file.
struct SafetensorsTensor {
  AnyView view;
  std::shared_ptr<const void> bytes;
  bool in_place = false;  // in the file's bytes, not in a copy of them
};

class SafetensorsFile {
 public:
  const SafetensorsEntries& tensors() const { return header_.tensors; }
  const SafetensorsMetadata& metadata() const { return header_.metadata; }

  // In place where the file's bytes can be used as they are: on a boundary of
  // their elements, in this machine's order, and for bools only 0 and 1.
  Result<SafetensorsTensor> tensor(std::string_view name) const;
  // A copy.
  Result<Array> array(std::string_view name) const;

 private:
  friend class SafetensorsReader;
  SafetensorsFile() = default;

  Result<const SafetensorsEntry*> find(std::string_view name) const;

  FileSubject subject_;
  SafetensorsHeader header_;
  std::span<const std::byte> data_;
  std::shared_ptr<const void> owner_;  // of the data
};

Result<SafetensorsFile> open_safetensors(const std::string& path,
                                         FileAccess access = FileAccess::read);
// The same of bytes in memory, which the caller keeps as long as the file, its
// copies or tensors in place live; messages say `name` for the file.
Result<SafetensorsFile> parse_safetensors(std::span<const std::byte> bytes,
                                          std::string_view name);

// Errors: invalid_argument for a name or a text of the metadata that is not
// UTF-8, for a tensor called __metadata__ or of more than 32 axes, and for
// names that take more than a header may have. The file is replaced whole or
// not at all (atomic_file.h).
Status write_safetensors(const std::string& path,
                         const std::map<std::string, AnyView>& tensors,
                         const SafetensorsMetadata& metadata = {});
// The bytes that write_safetensors writes.
Result<std::vector<std::byte>> format_safetensors(
    const std::map<std::string, AnyView>& tensors,
    const SafetensorsMetadata& metadata = {});

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
