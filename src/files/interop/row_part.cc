#include "interop/row_part.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "headwise/interop/file_subject.h"
#include "headwise/interop/sha256.h"
#include "interop/input_file.h"
#include "interop/read_bytes.h"
#include "interop/work_lines.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

Json json_of(const RowPiece& piece) {
  Json ranges = Json::array();
  for (const RowInterval& range : piece.ranges) {
    ranges.push_back(Json(std::vector<std::size_t>{range.first, range.count}));
  }
  return {{"ranges", ranges}, {"note", piece.note}};
}

// Nothing if the ranges are not rows of the array, in order.
std::optional<RowPiece> piece_of(const Json& json, std::size_t rows) {
  const Json* const ranges = json.find("ranges");
  const Json* const note = json.find("note");
  std::vector<std::vector<std::size_t>> numbers;
  if (note == nullptr || ranges == nullptr || !ranges->get(numbers) ||
      numbers.empty()) {
    return {};
  }
  RowPiece piece{{}, *note};
  std::size_t from = 0;
  for (const auto& range : numbers) {
    if (range.size() != 2 || range[0] < from || range[0] > rows ||
        range[1] > rows - range[0]) {
      return {};
    }
    piece.ranges.push_back({range[0], range[1]});
    from = piece.ranges.back().end();
  }
  return piece;
}

}  // namespace

std::size_t rows_of(const RowPiece& piece) {
  std::size_t rows = 0;
  for (const RowInterval& range : piece.ranges) {
    rows += range.count;
  }
  return rows;
}

std::string row_part_header(const Json& work,
                            const std::vector<RowPiece>& pieces,
                            const std::string& sha256) {
  Json list = Json::array();
  for (const RowPiece& piece : pieces) {
    list.push_back(json_of(piece));
  }
  return work_lines(
      Json{{"of", work}, {"pieces", list}, {"sha256", sha256}}.dump());
}

// ---- One file. ----

bool RowPart::parse(const Json& work, const Extents<2>& extents) {
  const std::string_view text = text_of(file_.bytes());
  const std::size_t line =
      std::min(text.substr(0, kMostWorkBytes).find('\n'), kMostWorkBytes);
  const auto json = parse_work_lines(text, line, work);
  const Json* const pieces = json ? json->find("pieces") : nullptr;
  const Json* const digest = json ? json->find("sha256") : nullptr;
  if (pieces == nullptr || digest == nullptr || !digest->get(sha256_)) {
    return false;
  }
  std::size_t rows = 0;
  for (const Json& given : *pieces) {
    auto piece = piece_of(given, extents[0]);
    if (!piece) {
      return false;
    }
    rows += rows_of(*piece);
    pieces_.push_back(*std::move(piece));
  }
  header_bytes_ = line + kAfterFirstLine;
  return rows <= extents[0] &&
         rows * extents[1] * sizeof(float) == text.size() - header_bytes_;
}

Result<std::optional<RowPart>> RowPart::open(const std::string& path,
                                             const Json& work,
                                             const Extents<2>& extents) {
  std::optional<RowPart> part;
  HEADWISE_ASSIGN(auto file, InputFile::open_if_there("row_parts", path));
  if (!file || !file->size()) {  // an empty one cannot be mapped
    return part;
  }
  HEADWISE_ASSIGN(auto mapped, MappedFile::map(*std::move(file)));
  part.emplace(RowPart(std::move(mapped)));
  if (!part->parse(work, extents)) {
    part.reset();
  }
  return part;
}

bool RowPart::is_undamaged() const {
  return sha256_of(std::span<const std::span<const std::byte>>(
             std::array{rows()})) == sha256_;
}

// ---- The rows of all. ----

bool RowSources::add_part(const std::string& path, const RowPart& part) {
  for (const bool mark : {false, true}) {
    for (const RowPiece& piece : part.pieces()) {
      for (const RowInterval& rows : piece.ranges) {
        const auto first =
            in_parts_.begin() + static_cast<std::ptrdiff_t>(rows.first);
        const auto end = first + static_cast<std::ptrdiff_t>(rows.count);
        if (mark) {
          std::fill(first, end, true);
        } else if (std::find(first, end, true) != end) {
          return false;
        }
      }
    }
  }
  add(part.pieces(), {path, part.sha256(), {}});
  return true;
}

void RowSources::add(const std::vector<RowPiece>& pieces, Source source) {
  std::size_t offset = 0;
  for (const RowPiece& piece : pieces) {
    for (const RowInterval& rows : piece.ranges) {
      ranges_.push_back({rows, sources_.size(), offset});
      offset += bytes_of(rows);
    }
  }
  sources_.push_back(std::move(source));
  pieces_.insert(pieces_.end(), pieces.begin(), pieces.end());
}

std::size_t RowSources::sort() {
  std::ranges::sort(ranges_, {},
                    [](const Range& range) { return range.rows.first; });
  std::size_t next = 0;
  for (const Range& range : ranges_) {
    if (range.rows.first != next) {
      return std::min(next, range.rows.first);
    }
    next = range.rows.end();
  }
  return std::min(next, extents_[0]);
}

Result<std::span<const std::byte>> RowSources::bytes_of(std::size_t source) {
  const auto& [path, sha256, held] = sources_[source];
  if (path.empty()) {
    return held;
  }
  if (!opened_ || opened_source_ != source) {
    opened_.reset();
    HEADWISE_ASSIGN(auto part, RowPart::open(path, work_, extents_));
    if (!part || part->sha256() != sha256) {
      return FileSubject{"row_parts", path}.bad_data(
          "changed while it was read");
    }
    opened_.emplace(*std::move(part));
    opened_source_ = source;
  }
  return opened_->rows();
}

Result<std::span<const std::byte>> RowSources::bytes(std::size_t n) {
  const Range& range = ranges_[n];
  HEADWISE_ASSIGN(const auto all, bytes_of(range.source));
  return all.subspan(range.offset, bytes_of(range.rows));
}

}  // namespace headwise::inline HEADWISE_ABI
