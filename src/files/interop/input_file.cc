#include "interop/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "interop/descriptor.h"
#include "interop/error_text.h"
#include "interop/folder.h"

namespace headwise::internal::inline HEADWISE_ABI {

InputFile::InputFile(FileSubject subject, int descriptor)
    : subject_(std::move(subject)), descriptor_(descriptor) {}

InputFile::InputFile(InputFile&& other) noexcept
    : subject_(std::move(other.subject_)),
      descriptor_(other.release()),
      size_(other.size_),
      regular_(other.regular_) {}

InputFile::~InputFile() {
  if (descriptor_ >= 0) {
    ::close(descriptor_);
  }
}

int InputFile::release() { return std::exchange(descriptor_, -1); }

Result<InputFile> InputFile::open(std::string_view operation,
                                  const std::string& path) {
  return open_with(0, operation, path);
}

Result<InputFile> InputFile::open_named_by_file(std::string_view operation,
                                                const std::string& path) {
  // Without O_NONBLOCK a pipe would wait for a writer.
  Result<InputFile> file = open_with(O_NOFOLLOW | O_NONBLOCK, operation, path);
  if (file && !file->regular_) {
    return file->not_regular();
  }
  return file;
}

Result<std::optional<InputFile>> InputFile::open_if_there(
    std::string_view operation, const std::string& path) {
  HEADWISE_TRY(check_path(operation, path));
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0 && means_absent(errno)) {
    return std::optional<InputFile>{};
  }
  HEADWISE_ASSIGN(auto file, open_with(O_NONBLOCK, operation, path));
  if (!file.regular_) {
    return file.not_regular();
  }
  return std::optional<InputFile>{std::move(file)};
}

Error InputFile::not_regular() const {
  return subject_.bad_data("is not a regular file");
}

Result<InputFile> InputFile::open_with(int flags, std::string_view operation,
                                       const std::string& path) {
  FileSubject subject{std::string(operation), path};
  HEADWISE_TRY(check_path(operation, path));
  const int descriptor = retried([&] {
    return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | flags);
  });
  if (descriptor < 0 && errno == ELOOP && (flags & O_NOFOLLOW) != 0) {
    return subject.bad_data("is a symbolic link", "a file");
  }
  if (descriptor < 0) {
    return io_error(subject, errno);
  }
  InputFile file(std::move(subject), descriptor);
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) {
    return io_error(file.subject_, errno);
  }
  if (S_ISDIR(status.st_mode)) {
    return io_error(file.subject_, EISDIR);
  }
  file.regular_ = S_ISREG(status.st_mode);
  // Files of /proc say 0 and hold more: they are read as pipes are.
  if (file.regular_ && status.st_size > 0) {
    file.size_ = static_cast<std::size_t>(status.st_size);
  }
  return file;
}

Result<std::size_t> InputFile::read(std::span<std::byte> into) {
  return fill(into, [&](std::span<std::byte> rest) {
    return ::read(descriptor_, rest.data(), rest.size());
  });
}

Result<std::size_t> InputFile::read_at(std::size_t offset,
                                       std::span<std::byte> into) const {
  return fill(into, [&](std::span<std::byte> rest) {
    const std::size_t before = into.size() - rest.size();
    return ::pread(descriptor_, rest.data(), rest.size(),
                   static_cast<off_t>(offset + before));
  });
}

template <class ReadSome>
Result<std::size_t> InputFile::fill(std::span<std::byte> into,
                                    const ReadSome& read_some) const {
  std::size_t count = 0;
  while (count < into.size()) {
    const ssize_t got = read_some(into.subspan(count));
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      return io_error(subject_, errno);
    }
    if (got == 0) {
      break;
    }
    count += static_cast<std::size_t>(got);
  }
  return count;
}

Result<std::vector<std::byte>> InputFile::read_all() {
  constexpr std::size_t kFirstPiece = std::size_t{1} << 16;
  std::vector<std::byte> bytes;
  while (true) {
    const std::size_t before = bytes.size();
    const std::size_t piece = std::max(kFirstPiece, before);
    bytes.resize(before + piece);
    HEADWISE_ASSIGN(const auto got, read(std::span(bytes).subspan(before)));
    if (got < piece) {
      bytes.resize(before + got);
      return bytes;
    }
  }
}

}  // namespace headwise::internal::inline HEADWISE_ABI
