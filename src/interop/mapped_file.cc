#include "interop/mapped_file.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "interop/error_text.h"

namespace headwise::inline HEADWISE_ABI {

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
  return MappedFile({static_cast<std::byte*>(memory), size});
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : bytes_(std::exchange(other.bytes_, {})) {}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) {
    ::munmap(bytes_.data(), bytes_.size());
  }
}

}  // namespace headwise::inline HEADWISE_ABI
