#include <algorithm>
#include <optional>
#include <utility>

#include "base/out_of_memory.h"
#include "headwise/interop/array.h"
#include "headwise/interop/npy.h"
#include "interop/input_file.h"
#include "interop/npy_header.h"
#include "interop/npy_stream.h"

namespace headwise::inline HEADWISE_ABI {

struct NpyFile::Open {
  InputFile file;
  NpyHeader header;
  std::size_t begin;           // of the data, in bytes
  std::optional<Array> whole;  // if parts of the file cannot be read

  // Says how many bytes there were.
  Result<std::size_t> read(std::size_t offset,
                           std::span<std::byte> into) const {
    if (whole) {
      std::copy_n(whole->data.begin() + static_cast<std::ptrdiff_t>(offset),
                  into.size(), into.begin());
      return into.size();
    }
    HEADWISE_ASSIGN(const auto got, file.read_at(begin + offset, into));
    to_native_elements(header, into);
    return got;
  }
};

Result<NpyFile> NpyFile::open(const std::string& path) {
  return catching_out_of_memory([&]() -> Result<NpyFile> {
    HEADWISE_ASSIGN(auto file, InputFile::open("read_npy", path));
    NpyReader reader(file, {file.size(), file.size().has_value()},
                     file.subject());
    HEADWISE_ASSIGN(auto header, reader.read_header());
    std::optional<Array> whole;
    const bool other_order = header.fortran_order && header.shape.size() > 1;
    const std::size_t begin = reader.taken();
    if (other_order || !file.size()) {
      HEADWISE_ASSIGN(whole, reader.read_array(header));
    }
    return NpyFile(std::unique_ptr<Open>(
        new Open{std::move(file), std::move(header), begin, std::move(whole)}));
  });
}

DType NpyFile::dtype() const { return open_->header.dtype; }

const std::vector<std::size_t>& NpyFile::shape() const {
  return open_->header.shape;
}

Status NpyFile::read(std::size_t first, std::span<std::byte> elements) const {
  return catching_out_of_memory([&]() -> Status {
    const NpyHeader& header = open_->header;
    const std::size_t item = size_of(header.dtype);
    const std::size_t there = header.data_bytes / item;
    std::size_t got = 0;
    if (first <= there && elements.size() / item <= there - first) {
      HEADWISE_ASSIGN(got, open_->read(first * item, elements));
    }
    if (got != elements.size()) {
      return open_->file.subject().bad_data(
          "ends before the elements that are read");
    }
    return ok();
  });
}

}  // namespace headwise::inline HEADWISE_ABI
