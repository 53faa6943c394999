// Where the rows of a large array are, to be written one after another.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/base/tensor_view.h"
#include "headwise/interop/row_parts.h"
#include "interop/row_part_file.h"

namespace headwise::inline HEADWISE_ABI {

// Ranges of rows in parts and in memory. One part is mapped at a time:
// long runs with many processes create more parts than one process can map.
class RowSources {
 public:
  RowSources(std::string work, const Extents<2>& extents)
      : work_(std::move(work)), extents_(extents) {}

  void add_part(const std::string& path, const RowPartFile& part);
  // The bytes of the piece's rows, which stay where they are.
  void add_held(const RowPiece& piece, std::span<const std::byte> bytes);

  // Brings the ranges into the order of their rows. Returns the first row that
  // is missing or comes twice; the number of rows if none is.
  std::size_t sort();

  std::size_t count() const { return sources_.size(); }
  // The bytes of the n-th range, valid until the next call. Errors: io_error;
  // bad_data if its part has been replaced; out_of_memory.
  Result<std::span<const std::byte>> bytes(std::size_t n);

 private:
  struct Part {
    std::string path;
    std::string sha256;
  };
  struct Source {
    RowInterval range;
    std::optional<std::size_t> part;  // nothing: in memory
    std::size_t offset = 0;           // of its bytes in the rows of the part
    std::span<const std::byte> held{};
  };

  std::size_t bytes_of(const RowInterval& range) const {
    return range.count * extents_[1] * sizeof(float);
  }
  Status open(std::size_t part);

  std::string work_;
  Extents<2> extents_;
  std::vector<Part> parts_;
  std::vector<Source> sources_;
  std::optional<RowPartFile> opened_;
  std::size_t opened_part_ = 0;
};

}  // namespace headwise::inline HEADWISE_ABI
