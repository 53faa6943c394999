// A file opened for reading.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/interop/file_subject.h"
#include "interop/byte_source.h"

#pragma GCC visibility push(default)
namespace headwise::internal::inline HEADWISE_ABI {

class InputFile : public ByteSource {
 public:
  // Errors are about `operation` and `path`. A folder is an error.
  static Result<InputFile> open(std::string_view operation,
                                const std::string& path);
  // The same of a path that a file names: only a regular file, and no symbolic
  // link to one.
  HEADWISE_HIDDEN static Result<InputFile> open_named_by_file(
      std::string_view operation, const std::string& path);
  // A file of a folder that has it or has not; nothing when it has not. Only a
  // regular file, or a symbolic link to one.
  static Result<std::optional<InputFile>> open_if_there(
      std::string_view operation, const std::string& path);
  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&&) = delete;
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  ~InputFile() override;

  // What errors about the file are about.
  const FileSubject& subject() const { return subject_; }
  // Of a regular file; nothing for a pipe or a device.
  std::optional<std::size_t> size() const { return size_; }

  Result<std::size_t> read(std::span<std::byte> into) override;
  // The same from byte `offset` of a regular file on; read() continues where it
  // was.
  HEADWISE_HIDDEN Result<std::size_t> read_at(std::size_t offset,
                                              std::span<std::byte> into) const;
  // Everything there is left.
  Result<std::vector<std::byte>> read_all();
  // The descriptor, which the caller closes from now on.
  int release();

 private:
  HEADWISE_HIDDEN InputFile(FileSubject subject, int descriptor);
  HEADWISE_HIDDEN static Result<InputFile> open_with(int flags,
                                                     std::string_view operation,
                                                     const std::string& path);

  HEADWISE_HIDDEN Error not_regular() const;
  // Calls `read_some` with the rest of `into` until it is full or the file
  // ends. Returns the number of bytes read.
  template <class ReadSome>
  Result<std::size_t> fill(std::span<std::byte> into,
                           const ReadSome& read_some) const;

  FileSubject subject_;
  int descriptor_;
  std::optional<std::size_t> size_;
  bool regular_ = false;
};

}  // namespace headwise::internal::inline HEADWISE_ABI
#pragma GCC visibility pop
