// One file of RowParts: which rows it has, and the rows.
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
#include "interop/mapped_file.h"

namespace headwise::inline HEADWISE_ABI {

// What the first lines of a part say.
struct RowPartHeader {
  std::vector<RowPiece> pieces;
  std::string sha256;    // of the rows
  std::size_t size = 0;  // of the first lines, in bytes
};

// The first lines. `work` and the notes are JSON on one line.
std::string row_part_header(const std::string& work,
                            const std::vector<RowPiece>& pieces,
                            const std::string& sha256);
// Nothing where the bytes are not a whole part of this work and array.
std::optional<RowPartHeader> parse_row_part(std::span<const std::byte> bytes,
                                            const std::string& work,
                                            const Extents<2>& extents);

std::size_t rows_of(const RowPiece& piece);

class RowPartFile {
 public:
  // Nothing where the file is not there, or no part of this work and array.
  // Errors: io_error; out_of_memory.
  static Result<std::optional<RowPartFile>> open(const std::string& path,
                                                 const std::string& work,
                                                 const Extents<2>& extents);

  const std::vector<RowPiece>& pieces() const { return header_.pieces; }
  // Those of the first piece, then those of the second one ..
  std::span<const std::byte> rows() const {
    return file_.bytes().subspan(header_.size);
  }
  // Of the rows, as the first line says.
  const std::string& sha256() const { return header_.sha256; }
  // Reads all rows.
  bool is_undamaged() const;

 private:
  RowPartFile(MappedFile file, RowPartHeader header)
      : file_(std::move(file)), header_(std::move(header)) {}

  MappedFile file_;
  RowPartHeader header_;
};

}  // namespace headwise::inline HEADWISE_ABI
