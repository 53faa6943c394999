// Safetensors files: named tensors after a JSON header, and nothing that could
// be executed.
//
// Read: F64 F32 F16 BF16, I8 .. I64, U8 .. U64, BOOL (any byte but 0 is true);
// other element types (of 8 bits and less, complex) are refused by name. A file
// is used only after all of it was checked: the header has at most 100 MB, fits
// the file and is JSON in UTF-8 that begins with '{', with no key twice and no
// unknown key; each tensor has the number of bytes of its shape and type, at
// most 32 axes, and no product overflows; the tensors cover the data from its
// first byte to its last, without a hole, an overlap or trailing bytes. A
// header that is larger than the file, or promises more, costs no memory.
//
// Values may be NaN or infinite. Tensors without elements and scalars (shape
// ()) are allowed. The data may have any alignment.
//
// Written: tensors sorted by element size, largest first, then by name, so that
// each is aligned to its elements; the header is padded with blanks to a
// multiple of 8. The same tensors give the same bytes.
//
// Errors: io_error, with the path and the reason; bad_data, with what is wrong
// with the content; unsupported for an element type that is not read;
// out_of_memory; out_of_range for a tensor that does not exist.
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
  // The file's bytes are loaded when they are used, and all programs share that
  // memory. If the file gets shorter meanwhile, the program ends (SIGBUS)
  // unless it handles that (atomic_file.h); if it is written to, the
  // tensors change. A file without a size (a pipe) is read instead.
  mapped,
};

// What the header says about a tensor. Its bytes are [begin, end) of the data.
struct SafetensorsEntry {
  DType dtype = DType::float32;
  std::vector<std::size_t> shape;
  std::size_t begin = 0;
  std::size_t end = 0;
};

// By name.
using SafetensorsEntries = std::map<std::string, SafetensorsEntry, std::less<>>;
using SafetensorsMetadata = std::map<std::string, std::string>;

struct SafetensorsHeader {
  SafetensorsEntries tensors;
  SafetensorsMetadata metadata;
};

// A tensor of a file, and the owner of its bytes: the view is valid while
// `bytes` or a copy of it exists, even after the SafetensorsFile is destroyed.
struct SafetensorsTensor {
  AnyView view;
  std::shared_ptr<const void> bytes;
  bool in_place = false;  // a view of the file's bytes, not of a copy
};

class SafetensorsFile {
 public:
  const SafetensorsEntries& tensors() const { return header_.tensors; }
  const SafetensorsMetadata& metadata() const { return header_.metadata; }

  // In place if the file's bytes can be used as they are: aligned to their
  // elements, in this machine's byte order, and for bools only 0 and 1.
  Result<SafetensorsTensor> tensor(std::string_view name) const;
  // A copy.
  Result<Array> array(std::string_view name) const;

 private:
  friend class SafetensorsReader;
  SafetensorsFile() = default;

  HEADWISE_HIDDEN Result<const SafetensorsEntry*> find(
      std::string_view name) const;

  FileSubject subject_;
  SafetensorsHeader header_;
  std::span<const std::byte> data_;
  std::shared_ptr<const void> owner_;  // of the data
};

Result<SafetensorsFile> open_safetensors(const std::string& path,
                                         FileAccess access = FileAccess::read);
// The same for bytes in memory, which must outlive the returned file, its
// copies and its tensors in place; messages use `name` as the file.
Result<SafetensorsFile> parse_safetensors(std::span<const std::byte> bytes,
                                          std::string_view name);

// Errors: invalid_argument for a name or metadata that is not UTF-8, for a
// tensor called __metadata__ or with more than 32 axes, and for names that do
// not fit in a header. The file is replaced completely or not at all
// (atomic_file.h).
Status write_safetensors(const std::string& path,
                         const std::map<std::string, AnyView>& tensors,
                         const SafetensorsMetadata& metadata = {});
// The bytes that write_safetensors writes.
Result<std::vector<std::byte>> format_safetensors(
    const std::map<std::string, AnyView>& tensors,
    const SafetensorsMetadata& metadata = {});

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
