#include "interop/row_sources.h"

#include <algorithm>
#include <utility>

#include "headwise/interop/file_subject.h"

namespace headwise::inline HEADWISE_ABI {

void RowSources::add_part(const std::string& path, const RowPartFile& part) {
  std::size_t offset = 0;
  for (const RowPiece& piece : part.pieces()) {
    for (const RowInterval& range : piece.ranges) {
      sources_.push_back({range, parts_.size(), offset});
      offset += bytes_of(range);
    }
  }
  parts_.push_back({path, part.sha256()});
}

void RowSources::add_held(const RowPiece& piece,
                          std::span<const std::byte> bytes) {
  for (const RowInterval& range : piece.ranges) {
    sources_.push_back({range, std::nullopt, 0, bytes.first(bytes_of(range))});
    bytes = bytes.subspan(bytes_of(range));
  }
}

std::size_t RowSources::sort() {
  std::ranges::sort(sources_, {},
                    [](const Source& source) { return source.range.first; });
  std::size_t next = 0;
  for (const Source& source : sources_) {
    if (source.range.first != next) {
      return std::min(next, source.range.first);
    }
    next = source.range.end();
  }
  return std::min(next, extents_[0]);
}

Result<std::span<const std::byte>> RowSources::bytes(std::size_t n) {
  const Source& source = sources_[n];
  if (!source.part) {
    return source.held;
  }
  HEADWISE_TRY(open(*source.part));
  return opened_->rows().subspan(source.offset, bytes_of(source.range));
}

Status RowSources::open(std::size_t part) {
  if (opened_ && opened_part_ == part) {
    return ok();
  }
  const auto& [path, sha256] = parts_[part];
  auto file = RowPartFile::open(path, work_, extents_);
  HEADWISE_TRY(file);
  if (!*file || (*file)->sha256() != sha256) {
    return FileSubject{"row_parts", path}.bad_data("changed while it was read");
  }
  opened_.emplace(**std::move(file));
  opened_part_ = part;
  return ok();
}

}  // namespace headwise::inline HEADWISE_ABI
