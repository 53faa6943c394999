#include "headwise/interop/safetensors.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/out_of_memory.h"
#include "interop/element_bytes.h"
#include "interop/error_text.h"
#include "interop/mapped_file.h"
#include "interop/pytorch_file.h"
#include "interop/read_bytes.h"
#include "interop/safetensors_header.h"
#include "interop/safetensors_reader.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::size_t kLengthBytes = 8;

Error too_short(const FileSubject& subject, std::size_t bytes,
                std::string_view where) {
  return subject.bad_data(message("ends in {}", Message(where)), {}, bytes);
}

// The length of the header, if one of this length may be read. `file_bytes`: no
// value if it is not known.
Result<std::size_t> header_bytes(std::span<const std::byte> start,
                                 std::optional<std::size_t> file_bytes,
                                 const FileSubject& subject) {
  if (start.size() < kLengthBytes) {
    return too_short(subject, start.size(), "the length of its header");
  }
  std::uint64_t length = 0;
  for (std::size_t i = kLengthBytes; i-- > 0;) {
    length = length << 8 | std::to_integer<std::uint64_t>(start[i]);
  }
  if (length > kMaxSafetensorsHeader) {
    return is_pytorch_file(start)
               ? subject.bad_data(kWhyNoPytorch)
               : subject.bad_data("is not a safetensors file",
                                  message("a header of at most {} bytes",
                                          kMaxSafetensorsHeader));
  }
  if (file_bytes && *file_bytes < kLengthBytes + length) {
    return subject.bad_data(
        message("has a header of {} bytes", length),
        message("one that fits in the {} bytes of the file", *file_bytes));
  }
  return length;
}

// `there`: nothing where there are too many to count.
Error wrong_size(const FileSubject& subject, const CheckedHeader& checked,
                 std::optional<std::size_t> there) {
  return subject.bad_data(there ? message("has {} bytes of data", *there)
                                : "has too many bytes of data",
                          message("{} for its tensors", checked.data_bytes));
}

bool on_boundary(const std::byte* data, std::size_t item_bytes) {
  return reinterpret_cast<std::uintptr_t>(data) % item_bytes == 0;
}

// Whether the bytes of a file are elements as this machine has them.
bool may_stay(std::span<const std::byte> bytes, DType dtype) {
  if (dtype == DType::boolean) {
    return std::ranges::all_of(
        bytes, [](std::byte value) { return value <= std::byte{1}; });
  }
  const std::size_t item = size_of(dtype);
  return item == 1 || (std::endian::native == std::endian::little &&
                       on_boundary(bytes.data(), item));
}

Array copied(std::span<const std::byte> bytes, const SafetensorsEntry& entry) {
  Array array{entry.dtype, entry.shape, AlignedBytes(bytes.size())};
  std::ranges::copy(bytes, array.data.begin());
  if constexpr (std::endian::native == std::endian::big) {
    reverse_elements(array.data, size_of(entry.dtype));
  }
  if (entry.dtype == DType::boolean) {
    normalize_booleans(array.data);
  }
  return array;
}

}  // namespace

Result<SafetensorsFile> SafetensorsReader::read(InputFile file,
                                                FileAccess access) {
  if (access == FileAccess::read || !file.size()) {
    return read_stream(std::move(file));
  }
  const FileSubject subject = file.subject();
  HEADWISE_ASSIGN(auto mapped, MappedFile::map(std::move(file)));
  auto owner = std::make_shared<MappedFile>(std::move(mapped));
  const std::span<const std::byte> bytes = owner->bytes();
  return parse(bytes, std::move(owner), subject);
}

Result<SafetensorsFile> SafetensorsReader::parse(
    std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
    FileSubject subject) {
  HEADWISE_ASSIGN(
      const auto length,
      header_bytes(bytes.first(std::min(bytes.size(), kLengthBytes)),
                   bytes.size(), subject));
  HEADWISE_ASSIGN(
      auto checked,
      parse_safetensors_header(text_of(bytes.subspan(kLengthBytes, length)),
                               subject, kLengthBytes));
  SafetensorsFile file;
  file.data_ = bytes.subspan(kLengthBytes + length);
  if (file.data_.size() != checked.data_bytes) {
    return wrong_size(subject, checked, file.data_.size());
  }
  file.subject_ = std::move(subject);
  file.header_ = std::move(checked.header);
  file.owner_ = std::move(owner);
  return file;
}

// The data has its own aligned memory, which is allocated only after the header
// was checked.
Result<SafetensorsFile> SafetensorsReader::read_stream(InputFile input) {
  const FileSubject& subject = input.subject();
  const bool certain = input.size().has_value();
  std::array<std::byte, kLengthBytes> start{};
  HEADWISE_ASSIGN(const auto got, input.read(start));
  HEADWISE_ASSIGN(const auto length, header_bytes(std::span(start).first(got),
                                                  input.size(), subject));
  HEADWISE_ASSIGN(const auto text, read_bytes(input, length, certain));
  if (text.size() != length) {
    return too_short(subject, kLengthBytes + text.size(), "its header");
  }
  HEADWISE_ASSIGN(auto checked, parse_safetensors_header(text_of(text), subject,
                                                         kLengthBytes));
  const std::size_t before = kLengthBytes + length;
  if (certain && *input.size() - before != checked.data_bytes) {
    return wrong_size(subject, checked, *input.size() - before);
  }
  HEADWISE_ASSIGN(auto data, read_bytes(input, checked.data_bytes, certain));
  std::array<std::byte, 1> beyond{};
  HEADWISE_ASSIGN(const auto more, input.read(beyond));
  if (data.size() != checked.data_bytes || more != 0) {
    return wrong_size(subject, checked,
                      more != 0 ? std::nullopt : std::optional(data.size()));
  }
  SafetensorsFile file;
  auto owner = std::make_shared<const AlignedBytes>(std::move(data));
  file.data_ = *owner;
  file.subject_ = subject;
  file.header_ = std::move(checked.header);
  file.owner_ = std::move(owner);
  return file;
}

Result<const SafetensorsEntry*> SafetensorsFile::find(
    std::string_view name) const try {
  const auto found = header_.tensors.find(name);
  if (found == header_.tensors.end()) {
    return subject_.error(ErrorCode::out_of_range,
                          message("has no tensor {}", printable(name)));
  }
  return &found->second;
} catch (...) {
  return caught_out_of_memory();
}

Result<SafetensorsTensor> SafetensorsFile::tensor(std::string_view name) const {
  return catching_out_of_memory([&]() -> Result<SafetensorsTensor> {
    HEADWISE_ASSIGN(const auto entry, find(name));
    const auto& [dtype, shape, begin, end] = *entry;
    const std::span<const std::byte> bytes = data_.subspan(begin, end - begin);
    if (may_stay(bytes, dtype)) {
      return SafetensorsTensor{AnyView(bytes.data(), dtype, shape), owner_,
                               true};
    }
    auto copy = std::make_shared<const Array>(copied(bytes, *entry));
    AnyView view = copy->view();
    return SafetensorsTensor{std::move(view), std::move(copy), false};
  });
}

Result<Array> SafetensorsFile::array(std::string_view name) const {
  return catching_out_of_memory([&]() -> Result<Array> {
    HEADWISE_ASSIGN(const auto entry, find(name));
    return copied(data_.subspan(entry->begin, entry->end - entry->begin),
                  *entry);
  });
}

Result<SafetensorsFile> open_safetensors(const std::string& path,
                                         FileAccess access) {
  return catching_out_of_memory([&]() -> Result<SafetensorsFile> {
    Result<InputFile> file = InputFile::open("open_safetensors", path);
    return file ? SafetensorsReader::read(*std::move(file), access)
                : file.error();
  });
}

Result<SafetensorsFile> parse_safetensors(std::span<const std::byte> bytes,
                                          std::string_view name) {
  return catching_out_of_memory([&] {
    return SafetensorsReader::parse(bytes, nullptr,
                                    {"parse_safetensors", std::string(name)});
  });
}

}  // namespace headwise::inline HEADWISE_ABI
