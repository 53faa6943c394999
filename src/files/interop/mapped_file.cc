#include "interop/mapped_file.h"

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "headwise/interop/atomic_file.h"
#include "interop/error_text.h"

namespace headwise::inline HEADWISE_ABI {

struct MappedRange {
  std::atomic<bool> taken = false;
  std::atomic<const std::byte*> begin = nullptr;  // set last, cleared first
  std::size_t size = 0;
  char* path = nullptr;
};

namespace {

// No lock protects them, for a signal handler reads them.
constexpr std::size_t kMostRanges = 256;
std::array<MappedRange, kMostRanges> mapped_ranges;

MappedRange* add_range(std::span<const std::byte> bytes,
                       const std::string& path) {
  for (MappedRange& range : mapped_ranges) {
    if (!range.taken.exchange(true)) {
      range.path = ::strdup(path.c_str());
      range.size = bytes.size();
      range.begin = bytes.data();
      return &range;
    }
  }
  return nullptr;
}

}  // namespace

void RemoveRange::operator()(MappedRange* range) const {
  range->begin = nullptr;
  std::free(range->path);  // NOLINT(cppcoreguidelines-no-malloc): of strdup()
  range->taken = false;
}

const char* mapped_file_at(const void* address) noexcept {
  for (const MappedRange& range : mapped_ranges) {
    const std::byte* const begin = range.begin;
    if (begin != nullptr && address >= begin && address < begin + range.size) {
      return range.path != nullptr ? range.path : "";
    }
  }
  return nullptr;
}

Result<MappedFile> MappedFile::map(InputFile file) {
  const std::size_t size = file.size().value_or(0);
  const int descriptor = file.release();
  void* const memory =
      ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  const int failed = memory == MAP_FAILED ? errno : 0;
  ::close(descriptor);  // the mapping stays
  if (failed != 0) {
    return io_error(file.subject(), failed);
  }
  return MappedFile({static_cast<std::byte*>(memory), size},
                    file.subject().file);
}

MappedFile::MappedFile(std::span<std::byte> bytes, const std::string& path)
    : bytes_(bytes), range_(add_range(bytes, path)) {}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : bytes_(std::exchange(other.bytes_, {})),
      range_(std::move(other.range_)) {}

MappedFile::~MappedFile() {
  range_.reset();  // before another file is mapped there
  if (!bytes_.empty()) {
    ::munmap(bytes_.data(), bytes_.size());
  }
}

}  // namespace headwise::inline HEADWISE_ABI

namespace headwise::internal::inline HEADWISE_ABI {

Status with_mapped_bytes(InputFile file,
                         FunctionRef<void(std::span<const std::byte>)> use) {
  HEADWISE_ASSIGN(const auto mapped, MappedFile::map(std::move(file)));
  use(mapped.bytes());
  return ok();
}

}  // namespace headwise::internal::inline HEADWISE_ABI
