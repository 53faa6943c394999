
#include <unistd.h>

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "base/out_of_memory.h"
#include "headwise/base/any_view.h"
#include "headwise/interop/atomic_file.h"
#include "headwise/interop/file_subject.h"
#include "headwise/interop/journal.h"
#include "headwise/interop/sha256.h"
#include "interop/folder.h"
#include "interop/npy_header.h"
#include "interop/row_part.h"
#include "interop/temporary.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kRowParts = "row_parts";
constexpr std::string_view kName = "rows-";
constexpr std::size_t kMostHeld = std::size_t{1} << 26;

bool is_part_name(std::string_view name) { return name.starts_with(kName); }

// Also the name of a part that was never finished.
bool is_own_name(std::string_view name) {
  return is_part_name(name) || is_temporary_name(name);
}

// None where there is no folder. A link to one is somebody else's.
Result<std::vector<std::string>> files_in(const std::string& folder,
                                          bool (*named)(std::string_view)) {
  std::vector<std::string> paths;
  HEADWISE_ASSIGN(const auto place, kind_of_entry(kRowParts, folder));
  if (place == EntryKind::nothing) {
    return paths;
  }
  HEADWISE_TRY(check_folder_named_by_file(kRowParts, folder));
  HEADWISE_ASSIGN(const auto names, names_in_folder(kRowParts, folder));
  for (const std::string& name : names) {
    std::string path = path_in(folder, name);
    HEADWISE_ASSIGN(const auto kind, kind_of_entry(kRowParts, path));
    if (named(name) && kind == EntryKind::file) {
      paths.push_back(std::move(path));
    }
  }
  return paths;
}

// visit(path, part) for the parts of the same work.
template <class Visit>
Status visit_parts(const std::string& folder, const Json& work,
                   const Extents<2>& extents, const Visit& visit) {
  HEADWISE_ASSIGN(const auto paths, files_in(folder, is_part_name));
  for (const std::string& path : paths) {
    HEADWISE_ASSIGN(const auto part, RowPart::open(path, work, extents));
    if (part) {
      visit(path, *part);
    }
  }
  return ok();
}

Status write_rows(const std::string& path, const Extents<2>& extents,
                  RowSources& sources) {
  if (const std::size_t row = sources.sort(); row != extents[0]) {
    return FileSubject{std::string(kRowParts), path}.bad_data(
        message("lacks row {}", row));
  }
  HEADWISE_ASSIGN(const auto header,
                  format_npy_header(AnyView(nullptr, DType::float32, extents),
                                    {"write_npy", path}));
  return write_file_atomically(
      path, 1 + sources.count(),
      [&](std::size_t n) -> Result<std::span<const std::byte>> {
        if (n == 0) {
          return std::as_bytes(std::span(header));
        }
        return sources.bytes(n - 1);
      });
}

std::span<const std::byte> row_bytes(const Tensor<float, 2>& rows) {
  return std::as_bytes(rows.elements());
}

}  // namespace

RowParts::RowParts(const std::string& output, const Extents<2>& extents)
    : output_(output), folder_(Journal::path_of(output)), extents_(extents) {}

Result<std::vector<RowPiece>> RowParts::read() const {
  return catching_out_of_memory([&]() -> Result<std::vector<RowPiece>> {
    RowSources sources(work_, extents_);
    HEADWISE_TRY(visit_parts(
        folder_, work_, extents_,
        [&](const std::string& path, const RowPart& part) {
          if (!part.is_undamaged() || !sources.add_part(path, part)) {
            ::unlink(path.c_str());  // join() would take it for a good one
          }
        }));
    return sources.pieces();
  });
}

Status RowParts::add(RowPiece piece, Tensor<float, 2> rows) {
  return catching_out_of_memory([&]() -> Status {
    HEADWISE_TRY(check_shape(kRowParts, "rows", rows.extents(),
                             "(rows of piece, columns)",
                             std::array{rows_of(piece), extents_[1]}));
    held_bytes_ += row_bytes(rows).size();
    held_.push_back({std::move(piece), std::move(rows)});
    return ok();
  });
}

bool RowParts::due(std::chrono::seconds apart) const {
  return !folder_.empty() && !held_.empty() &&
         (held_bytes_ >= kMostHeld || Clock::now() - last_ >= apart);
}

Status RowParts::save() {
  return catching_out_of_memory([&]() -> Status {
    last_ = Clock::now();
    if (folder_.empty() || held_.empty()) {
      return ok();
    }
    std::vector<RowPiece> pieces;
    std::vector<std::span<const std::byte>> bytes;
    for (const Held& held : held_) {
      pieces.push_back(held.piece);
      bytes.push_back(row_bytes(held.rows));
    }
    const std::string header = row_part_header(work_, pieces, sha256_of(bytes));
    bytes.insert(bytes.begin(), std::as_bytes(std::span(header)));
    HEADWISE_TRY(make_folder(kRowParts, folder_));
    HEADWISE_TRY(check_folder_named_by_file(kRowParts, folder_));
    HEADWISE_TRY(write_file_atomically(
        path_in(folder_,
                std::string(kName) + std::to_string(pieces[0].ranges[0].first)),
        bytes, {.own_name = true, .shared_folder = true}));
    held_.clear();
    held_bytes_ = 0;
    return ok();
  });
}

Result<std::vector<RowPiece>> RowParts::join() {
  return catching_out_of_memory([&]() -> Result<std::vector<RowPiece>> {
    HEADWISE_ASSIGN(auto pieces, write_output());
    remove();  // while no part is open: NFS would keep it under another name
    return pieces;
  });
}

Result<std::vector<RowPiece>> RowParts::write_output() const {
  RowSources sources(work_, extents_);
  HEADWISE_TRY(visit_parts(folder_, work_, extents_,
                           [&](const std::string& path, const RowPart& part) {
                             sources.add_part(path, part);
                           }));
  for (const Held& held : held_) {
    sources.add_held(held.piece, row_bytes(held.rows));
  }
  HEADWISE_TRY(write_rows(output_, extents_, sources));
  return sources.pieces();
}

void RowParts::remove() const {
  const auto paths = files_in(folder_, is_own_name);
  if (!paths) {
    return;
  }
  for (const std::string& path : *paths) {
    ::unlink(path.c_str());
  }
  ::rmdir(folder_.c_str());  // fails if it holds something else
}

}  // namespace headwise::inline HEADWISE_ABI
