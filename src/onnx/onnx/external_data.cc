#include "onnx/external_data.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdint>
#include <system_error>
#include <utility>
#include <vector>

#include "interop/descriptor.h"
#include "onnx/shown_text.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

struct DataPlace {
  std::string_view location;
  std::uint64_t offset = 0;
  std::optional<std::uint64_t> length;
};

Result<std::uint64_t> number_of(std::string_view key, std::string_view text,
                                const FileSubject& subject) {
  std::uint64_t number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) {
    return subject.of_entry(std::string(key))
        .bad_data(message("is {}", shown(text)), "a number of bytes");
  }
  return number;
}

Result<DataPlace> place_of(
    std::span<const std::pair<std::string_view, std::string_view>> fields,
    const FileSubject& subject) {
  DataPlace place;
  for (const auto& [key, value] : fields) {
    if (key == "location") {
      place.location = value;
    } else if (key == "offset") {
      HEADWISE_ASSIGN(place.offset, number_of(key, value, subject));
    } else if (key == "length") {
      HEADWISE_ASSIGN(place.length, number_of(key, value, subject));
    }
  }
  return place;
}

// The names on the way: a path that stays in its folder has plain ones only,
// and "." for the folder that it is in.
Result<std::vector<std::string>> names_of(std::string_view location,
                                          const FileSubject& subject) {
  std::vector<std::string> names;
  std::string_view rest = location;
  while (true) {
    const std::size_t slash = rest.find('/');
    const std::string_view name = rest.substr(0, slash);
    const bool last = slash == rest.npos;
    if (name.empty() || name == ".." || (last && name == ".") ||
        name.find_first_of(std::string_view("\\\0", 2)) != name.npos) {
      return subject.bad_data(message("has its data in {}", shown(location)),
                              "a file in the folder of the model");
    }
    if (name != ".") {
      names.emplace_back(name);
    }
    if (last) {
      return names;
    }
    rest.remove_prefix(slash + 1);
  }
}

Error cannot_open(std::string_view location, const FileSubject& subject,
                  int number) {
  if (number == ELOOP || number == ENOTDIR) {
    return subject.bad_data(message("has its data in {}", shown(location)),
                            "a file that no link leads to");
  }
  ErrorDetails details{.operation = subject.operation,
                       .file = subject.file,
                       .entry = subject.entry + ": " + shown(location),
                       .system_error = number,
                       .given = std::generic_category().message(number)};
  return {ErrorCode::io_error, std::move(details)};
}

// Name by name, so that no link on the way is followed.
Status open_in(const std::string& folder, const std::vector<std::string>& names,
               std::string_view location, const FileSubject& subject,
               Descriptor& file) {
  file = Descriptor(retried([&] {
    return ::open(folder.empty() ? "." : folder.c_str(),
                  O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  }));
  for (std::size_t i = 0; i < names.size() && file.number() >= 0; ++i) {
    const int kind = i + 1 < names.size() ? O_DIRECTORY : O_NONBLOCK;
    Descriptor next(retried([&] {
      return ::openat(file.number(), names[i].c_str(),
                      O_RDONLY | O_NOFOLLOW | O_CLOEXEC | kind);
    }));
    const int number = errno;
    file = std::move(next);
    errno = number;
  }
  return file.number() >= 0 ? ok()
                            : Status(cannot_open(location, subject, errno));
}

Status check_file(int file, std::uint64_t offset, std::size_t bytes,
                  std::string_view location, const FileSubject& subject) {
  struct stat about {};
  if (fstat(file, &about) != 0) {
    return cannot_open(location, subject, errno);
  }
  if (!S_ISREG(about.st_mode) || about.st_nlink > 1) {
    return subject.bad_data(message("has its data in {}", shown(location)),
                            "a regular file without a second name");
  }
  const auto size = static_cast<std::uint64_t>(about.st_size);
  if (offset > size || bytes > size - offset) {
    return subject.bad_data(
        message("has its data in {}, which has {} bytes", shown(location),
                size),
        message("at least {} bytes from byte {}", bytes, offset));
  }
  return ok();
}

Status read_all(int file, std::uint64_t offset, AlignedBytes& data,
                std::string_view location, const FileSubject& subject) {
  std::size_t done = 0;
  while (done < data.size()) {
    const ssize_t read = pread(file, data.data() + done, data.size() - done,
                               static_cast<off_t>(offset + done));
    if (read == 0) {
      return subject.bad_data(
          message("has its data in {}, which became shorter while it was read",
                  shown(location)));
    }
    if (read < 0 && errno != EINTR) {
      return cannot_open(location, subject, errno);
    }
    done += read > 0 ? static_cast<std::size_t>(read) : 0;
  }
  return ok();
}

}  // namespace

Result<AlignedBytes> read_external(
    std::span<const std::pair<std::string_view, std::string_view>> fields,
    std::size_t bytes, const FileSubject& subject,
    const std::optional<std::string>& folder) {
  HEADWISE_ASSIGN(const auto place, place_of(fields, subject));
  if (!folder) {
    return subject.bad_data("has its data in another file",
                            "a tensor that is in the file itself");
  }
  HEADWISE_ASSIGN(const auto names, names_of(place.location, subject));
  if (place.length && *place.length != bytes) {
    return subject.of_entry("length").bad_data(message("is {}", *place.length),
                                               message("{} bytes", bytes));
  }
  Descriptor file(-1);
  HEADWISE_TRY(open_in(*folder, names, place.location, subject, file));
  HEADWISE_TRY(
      check_file(file.number(), place.offset, bytes, place.location, subject));
  AlignedBytes data(bytes);
  HEADWISE_TRY(
      read_all(file.number(), place.offset, data, place.location, subject));
  return data;
}

}  // namespace headwise::inline HEADWISE_ABI
