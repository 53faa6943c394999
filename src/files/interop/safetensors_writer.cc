#include <algorithm>
#include <functional>
#include <limits>
#include <utility>

#include "base/check.h"
#include "base/out_of_memory.h"
#include "headwise/interop/atomic_file.h"
#include "headwise/interop/safetensors.h"
#include "interop/element_bytes.h"
#include "interop/error_text.h"
#include "interop/json_events.h"
#include "interop/safetensors_header.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

using NamedView = std::map<std::string, AnyView>::value_type;

// What lies where in the file that is to be written.
struct FileLayout {
  std::string start;  // length of the header, header, blanks
  struct Piece {
    const AnyView* view;
    std::size_t bytes;
  };
  std::vector<Piece> data;  // as it follows
};

class LayoutMaker {
 public:
  explicit LayoutMaker(FileSubject subject) : subject_(std::move(subject)) {}

  Result<FileLayout> make(const std::map<std::string, AnyView>& tensors,
                          const SafetensorsMetadata& metadata) {
    header_ = "{";
    HEADWISE_TRY(add_metadata(metadata));
    HEADWISE_TRY(place(tensors));
    for (const auto& [name, view] : tensors) {
      HEADWISE_TRY(add_tensor(name, view));
    }
    header_ += "}";
    constexpr std::size_t kBoundary = 8;
    header_.append((kBoundary - header_.size() % kBoundary) % kBoundary, ' ');
    if (header_.size() > kMaxSafetensorsHeader) {
      return invalid(
          message("cannot have a header of {} bytes, as its names make it",
                  header_.size()),
          message("at most {}", kMaxSafetensorsHeader));
    }
    for (std::size_t length = header_.size(), i = 0; i < kBoundary; ++i) {
      layout_.start += static_cast<char>(length >> (8 * i) & 0xff);
    }
    layout_.start += header_;
    return std::move(layout_);
  }

 private:
  Status add_metadata(const SafetensorsMetadata& metadata) {
    if (metadata.empty()) {
      return ok();
    }
    add_key("\"" + std::string(kSafetensorsMetadata) + "\"");
    header_ += "{";
    for (const auto& [key, value] : metadata) {
      const auto key_text = json_string(key);
      const auto value_text = json_string(value);
      if (!key_text || !value_text) {
        return invalid(message("cannot hold the metadata {}", printable(key)),
                       "UTF-8 text");
      }
      add_key(*key_text);
      header_ += *value_text;
    }
    header_ += "}";
    return ok();
  }

  // Larger elements come first: then each tensor is aligned, without holes.
  Status place(const std::map<std::string, AnyView>& tensors) {
    std::vector<const NamedView*> in_order;
    for (const NamedView& named : tensors) {
      in_order.push_back(&named);
    }
    std::ranges::stable_sort(in_order, std::greater{}, [](const auto* named) {
      return size_of(named->second.dtype());
    });
    constexpr std::size_t kLargest = std::numeric_limits<std::size_t>::max();
    std::size_t end = 0;
    for (const auto* named : in_order) {
      const auto& [name, view] = *named;
      const auto bytes = array_bytes(view.extents(), view.dtype());
      if (!bytes || *bytes > kLargest - end ||
          view.rank() > kMaxSafetensorsRank) {
        return invalid(message("cannot hold the tensor {} of shape {}",
                               printable(name), shape_text(view.extents())));
      }
      begins_.emplace(&view, end);
      layout_.data.push_back({&view, *bytes});
      end += *bytes;
    }
    return ok();
  }

  Status add_tensor(const std::string& name, const AnyView& view) {
    const auto name_text = json_string(name);
    if (!name_text || name == kSafetensorsMetadata) {
      return invalid(
          message("cannot hold a tensor of the name {}", printable(name)),
          name_text ? "another name" : "UTF-8 text");
    }
    const std::size_t begin = begins_.at(&view);
    const std::size_t bytes = *array_bytes(view.extents(), view.dtype());
    add_key(*name_text);
    header_ += "{\"dtype\":\"";
    header_ += safetensors_name_of(view.dtype());
    header_ += "\",\"shape\":[" + list_text(view.extents(), ",");
    header_ += "],\"data_offsets\":[" + std::to_string(begin) + "," +
               std::to_string(begin + bytes) + "]}";
    return ok();
  }

  // `text` is JSON.
  void add_key(const std::string& text) {
    header_ += (header_.ends_with('{') ? "" : ",") + text + ":";
  }

  Error invalid(Message given, Message expected = {}) const {
    return subject_.error(ErrorCode::invalid_argument, std::move(given),
                          std::move(expected));
  }

  FileSubject subject_;
  std::string header_;
  FileLayout layout_;
  std::map<const AnyView*, std::size_t> begins_;
};

}  // namespace

Status write_safetensors(const std::string& path,
                         const std::map<std::string, AnyView>& tensors,
                         const SafetensorsMetadata& metadata) {
  return catching_out_of_memory([&]() -> Status {
    HEADWISE_ASSIGN(
        const auto layout,
        LayoutMaker({"write_safetensors", path}).make(tensors, metadata));
    std::vector<std::vector<std::byte>> copies(layout.data.size());
    std::vector<std::span<const std::byte>> pieces = {
        std::as_bytes(std::span(layout.start))};
    for (std::size_t i = 0; i < copies.size(); ++i) {
      const auto& [view, bytes] = layout.data[i];
      pieces.push_back(little_endian_bytes(*view, bytes, copies[i]));
    }
    return write_file_atomically(path, pieces);
  });
}

Result<std::vector<std::byte>> format_safetensors(
    const std::map<std::string, AnyView>& tensors,
    const SafetensorsMetadata& metadata) {
  return catching_out_of_memory([&]() -> Result<std::vector<std::byte>> {
    HEADWISE_ASSIGN(
        const auto layout,
        LayoutMaker({"format_safetensors"}).make(tensors, metadata));
    const auto start = std::as_bytes(std::span(layout.start));
    std::vector<std::byte> file(start.begin(), start.end());
    for (const auto& [view, bytes] : layout.data) {
      const std::vector<std::byte> data = little_endian_data(*view, bytes);
      file.insert(file.end(), data.begin(), data.end());
    }
    return file;
  });
}

}  // namespace headwise::inline HEADWISE_ABI
