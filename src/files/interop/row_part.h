// The files of RowParts, and their rows in the order of the array.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/base/tensor_view.h"
#include "headwise/interop/journal.h"
#include "headwise/json/json.h"
#include "interop/mapped_file.h"

namespace headwise::inline HEADWISE_ABI {

std::size_t rows_of(const RowPiece& piece);

// The first lines of a part; `sha256` is that of the rows.
std::string row_part_header(const Json& work,
                            const std::vector<RowPiece>& pieces,
                            const std::string& sha256);

class RowPart {
 public:
  // Nothing where the file is not there, or no part of this work and array.
  // Errors: io_error.
  static Result<std::optional<RowPart>> open(const std::string& path,
                                             const Json& work,
                                             const Extents<2>& extents);

  const std::vector<RowPiece>& pieces() const { return pieces_; }
  // Those of the first piece, then those of the second one ..
  std::span<const std::byte> rows() const {
    return file_.bytes().subspan(header_bytes_);
  }
  // Of the rows, as the first line says.
  const std::string& sha256() const { return sha256_; }
  // Reads all rows.
  bool is_undamaged() const;

 private:
  explicit RowPart(MappedFile file) : file_(std::move(file)) {}
  bool parse(const Json& work, const Extents<2>& extents);

  MappedFile file_;
  std::vector<RowPiece> pieces_{};
  std::string sha256_{};
  std::size_t header_bytes_ = 0;
};

// Where the rows of a large array are, to be written one after another. One
// part is mapped at a time: long runs with many processes create more parts
// than one process can map.
class RowSources {
 public:
  RowSources(const Json& work, const Extents<2>& extents)
      : work_(work), extents_(extents), in_parts_(extents[0]) {}

  // False, and nothing changes, if a row of the part is in one before it.
  bool add_part(const std::string& path, const RowPart& part);
  // Rows in memory, which stay where they are.
  void add_held(const RowPiece& piece, std::span<const std::byte> rows) {
    add({piece}, {"", "", rows});
  }

  // In the order in which they were added.
  const std::vector<RowPiece>& pieces() const { return pieces_; }
  // Brings the ranges into the order of their rows. Returns the first row that
  // is missing or comes twice; the number of rows if none is.
  std::size_t sort();

  std::size_t count() const { return ranges_.size(); }
  // The bytes of the n-th range, valid until the next call. Errors: io_error;
  // bad_data if its part has been replaced.
  Result<std::span<const std::byte>> bytes(std::size_t n);

 private:
  struct Source {
    std::string path;  // empty: in memory
    std::string sha256;
    std::span<const std::byte> held;
  };
  struct Range {
    RowInterval rows;
    std::size_t source = 0;
    std::size_t offset = 0;  // of its bytes in the source
  };

  std::size_t bytes_of(const RowInterval& rows) const {
    return rows.count * extents_[1] * sizeof(float);
  }
  void add(const std::vector<RowPiece>& pieces, Source source);
  Result<std::span<const std::byte>> bytes_of(std::size_t source);

  const Json& work_;
  Extents<2> extents_;
  std::vector<bool> in_parts_;  // by row
  std::vector<RowPiece> pieces_;
  std::vector<Source> sources_;
  std::vector<Range> ranges_;
  std::optional<RowPart> opened_;
  std::size_t opened_source_ = 0;
};

}  // namespace headwise::inline HEADWISE_ABI
