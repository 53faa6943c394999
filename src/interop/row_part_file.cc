#include "interop/row_part_file.h"

#include <algorithm>
#include <string_view>

#include "base/out_of_memory.h"
#include "headwise/interop/sha256.h"
#include "headwise/json/json.h"
#include "interop/input_file.h"
#include "interop/read_bytes.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::size_t kMostHeader = std::size_t{1} << 26;
constexpr int kDeepestHeader = 8;

std::string header_with_checksum(const std::string& line) {
  return line + "\n" + sha256_of(line) + "\n";
}

Json json_of(const RowPiece& piece) {
  Json ranges = Json::array();
  for (const RowInterval& range : piece.ranges) {
    ranges.push_back(Json(std::vector<std::size_t>{range.first, range.count}));
  }
  return {{"ranges", ranges},
          {"note", Json::parse(piece.note, kMostHeader, kDeepestHeader)}};
}

std::optional<RowPiece> piece_of(const Json& json) {
  const Json* const ranges = json.find("ranges");
  const Json* const note = json.find("note");
  std::vector<std::vector<std::size_t>> numbers;
  if (note == nullptr || ranges == nullptr || !ranges->get(numbers)) {
    return {};
  }
  RowPiece piece{{}, note->dump()};
  for (const auto& range : numbers) {
    if (range.size() != 2) {
      return {};
    }
    piece.ranges.push_back({range[0], range[1]});
  }
  return piece;
}

// Whether the ranges are rows of the array, in order.
bool fits(const RowPiece& piece, std::size_t rows) {
  std::size_t from = 0;
  for (const RowInterval& range : piece.ranges) {
    if (range.first < from || range.first > rows ||
        range.count > rows - range.first) {
      return false;
    }
    from = range.end();
  }
  return !piece.ranges.empty();
}

// The bytes of all pieces; nothing if one has rows that the array lacks.
std::optional<std::size_t> size_of_pieces(const std::vector<RowPiece>& pieces,
                                          const Extents<2>& extents) {
  std::size_t rows = 0;
  for (const RowPiece& piece : pieces) {
    if (!fits(piece, extents[0])) {
      return {};
    }
    rows += rows_of(piece);
  }
  return rows > extents[0] ? std::nullopt
                           : std::optional(rows * extents[1] * sizeof(float));
}

}  // namespace

std::size_t rows_of(const RowPiece& piece) {
  std::size_t rows = 0;
  for (const RowInterval& range : piece.ranges) {
    rows += range.count;
  }
  return rows;
}

std::string row_part_header(const std::string& work,
                            const std::vector<RowPiece>& pieces,
                            const std::string& sha256) {
  Json list = Json::array();
  for (const RowPiece& piece : pieces) {
    list.push_back(json_of(piece));
  }
  return header_with_checksum(Json{
      {"of", Json::parse(work, kMostHeader, kDeepestHeader)},
      {"pieces", list},
      {"sha256", sha256}}.dump());
}

std::optional<RowPartHeader> parse_row_part(std::span<const std::byte> bytes,
                                            const std::string& work,
                                            const Extents<2>& extents) {
  const std::string_view text = text_of(bytes);
  const std::string line(
      text.substr(0, text.substr(0, kMostHeader).find('\n')));
  const std::string head = header_with_checksum(line);
  const auto json = Json::parse(line, kMostHeader, kDeepestHeader);
  const auto wanted = Json::parse(work, kMostHeader, kDeepestHeader);
  if (!text.starts_with(head) || !json || !wanted) {
    return {};
  }
  const Json* const of = json->find("of");
  const Json* const pieces = json->find("pieces");
  const Json* const digest = json->find("sha256");
  RowPartHeader header{.pieces = {}, .sha256 = {}, .size = head.size()};
  if (of == nullptr || *of != *wanted || pieces == nullptr ||
      digest == nullptr || !digest->get(header.sha256)) {
    return {};
  }
  for (const Json& given : *pieces) {
    auto piece = piece_of(given);
    if (!piece) {
      return {};
    }
    header.pieces.push_back(*std::move(piece));
  }
  return size_of_pieces(header.pieces, extents) == bytes.size() - header.size
             ? std::optional(std::move(header))
             : std::nullopt;
}

Result<std::optional<RowPartFile>> RowPartFile::open(
    const std::string& path, const std::string& work,
    const Extents<2>& extents) {
  return catching_out_of_memory([&]() -> Result<std::optional<RowPartFile>> {
    std::optional<RowPartFile> none;
    auto file = InputFile::open_if_there("row_parts", path);
    HEADWISE_TRY(file);
    if (!*file || !(*file)->size()) {  // an empty one cannot be mapped
      return none;
    }
    auto mapped = MappedFile::map(**std::move(file));
    HEADWISE_TRY(mapped);
    auto header = parse_row_part(mapped->bytes(), work, extents);
    return header ? std::optional(
                        RowPartFile(*std::move(mapped), *std::move(header)))
                  : std::move(none);
  });
}

bool RowPartFile::is_undamaged() const {
  return sha256_of(std::span<const std::span<const std::byte>>(
             std::array{rows()})) == header_.sha256;
}

}  // namespace headwise::inline HEADWISE_ABI
