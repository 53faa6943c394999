#include "headwise/interop/npz.h"

#include <unistd.h>
#include <zip.h>

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "base/out_of_memory.h"
#include "headwise/base/function_ref.h"
#include "headwise/interop/atomic_file.h"
#include "headwise/interop/npy.h"
#include "interop/error_text.h"
#include "interop/input_file.h"
#include "interop/npy_stream.h"
#include "interop/npz_entries.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kSuffix = ".npy";
// The bytes that an archive may unpack to, for one of its own.
constexpr std::size_t kMostExpansion = 1000;

struct Discard {
  void operator()(zip_t* archive) const { zip_discard(archive); }
  void operator()(zip_file_t* entry) const { zip_fclose(entry); }
  void operator()(zip_source_t* source) const { zip_source_free(source); }
};
using Archive = std::unique_ptr<zip_t, Discard>;
using Entry = std::unique_ptr<zip_file_t, Discard>;
using Source = std::unique_ptr<zip_source_t, Discard>;

// zip_error_init() .. zip_error_fini() of one call.
class ZipError {
 public:
  ZipError() { zip_error_init(&error_); }
  explicit ZipError(int code) { zip_error_init_with_code(&error_, code); }
  ZipError(const ZipError&) = delete;
  ZipError& operator=(const ZipError&) = delete;
  ~ZipError() { zip_error_fini(&error_); }
  zip_error_t* get() { return &error_; }

 private:
  zip_error_t error_{};
};

// `SUBJECT cannot be read as a zip archive: CRC error`
Error zip_failure(const FileSubject& subject, zip_error_t* error) {
  const int code = zip_error_code_zip(error);
  const bool io = code == ZIP_ER_READ || code == ZIP_ER_WRITE ||
                  code == ZIP_ER_SEEK || code == ZIP_ER_OPEN ||
                  code == ZIP_ER_TELL || code == ZIP_ER_CLOSE;
  if (code == ZIP_ER_MEMORY) {
    return ErrorCode::out_of_memory;
  }
  ErrorDetails details{
      .operation = subject.operation,
      .file = subject.file,
      .entry = subject.entry,
      .given = code == ZIP_ER_EXISTS
                   ? "has two entries of one name"
                   : message("cannot be read as a zip archive: {}",
                             zip_error_strerror(error))};
  return {io ? ErrorCode::io_error : ErrorCode::bad_data, std::move(details)};
}

class EntrySource : public ByteSource {
 public:
  EntrySource(Entry entry, const FileSubject& subject)
      : entry_(std::move(entry)), subject_(subject) {}

  // The end is where libzip compares the CRC.
  Result<std::size_t> read(std::span<std::byte> into) override {
    std::size_t count = 0;
    while (count < into.size()) {
      const zip_int64_t got =
          zip_fread(entry_.get(), into.data() + count, into.size() - count);
      if (got < 0) {
        return zip_failure(subject_, zip_file_get_error(entry_.get()));
      }
      if (got == 0) {
        break;
      }
      count += static_cast<std::size_t>(got);
    }
    return count;
  }

 private:
  Entry entry_;
  const FileSubject& subject_;
};

// What is wrong with the name of an entry; empty when nothing is.
std::string_view fault_of_name(std::string_view name) {
  if (name.empty()) {
    return "has no name";
  }
  if (name.starts_with('/')) {
    return "is an absolute path";
  }
  for (const char character : name) {
    const auto byte = static_cast<unsigned char>(character);
    if (byte < 0x20 || byte == 0x7f || byte == '\\') {
      return "has a backslash or a control character in its name";
    }
  }
  for (std::size_t at = 0; at <= name.size();) {
    const std::size_t end = std::min(name.find('/', at), name.size());
    if (name.substr(at, end - at) == "..") {
      return "has '..' in its name";
    }
    at = end + 1;
  }
  return "";
}

class NpzReader {
 public:
  // `bytes`: of the archive.
  NpzReader(Archive archive, std::size_t bytes, FileSubject subject)
      : archive_(std::move(archive)),
        bytes_(bytes),
        subject_(std::move(subject)) {}

  // Calls `take` for each array, with its name and its reader.
  using Take = FunctionRef<Status(const std::string&, NpyReader&)>;
  Status read(Take take) {
    HEADWISE_TRY(check_expansion());
    for (zip_uint64_t index = 0; index < entries(); ++index) {
      HEADWISE_TRY(read_entry(index, take));
    }
    return ok();
  }
  // The entries that are no arrays, after read().
  const std::vector<std::string>& others() const { return others_; }

 private:
  zip_uint64_t entries() const {
    return static_cast<zip_uint64_t>(zip_get_num_entries(archive_.get(), 0));
  }

  Result<zip_stat_t> status_of(zip_uint64_t index, const FileSubject& subject) {
    zip_stat_t status{};
    if (zip_stat_index(archive_.get(), index, 0, &status) != 0) {
      return zip_failure(subject, zip_get_error(archive_.get()));
    }
    return status;
  }

  // Of all entries at once, and before the first is unpacked. What an entry
  // says is its limit afterwards: its array may be no larger.
  Status check_expansion() {
    constexpr auto kMost = std::numeric_limits<std::size_t>::max();
    std::size_t left = std::min(bytes_, kMost / kMostExpansion);
    left *= kMostExpansion;
    for (zip_uint64_t index = 0; index < entries(); ++index) {
      HEADWISE_ASSIGN(const auto status, status_of(index, subject_));
      if (status.size > left) {
        return subject_.bad_data(message(
            "has entries that unpack to more than {} times its {} bytes",
            kMostExpansion, bytes_));
      }
      left -= status.size;
    }
    return ok();
  }

  Status read_entry(zip_uint64_t index, Take take) {
    HEADWISE_ASSIGN(const auto file_name, entry_name(index));
    const FileSubject subject = subject_.of_entry(printable(file_name));
    if (!file_name.ends_with(kSuffix)) {
      others_.push_back(file_name);
      return ok();
    }
    const std::string name =
        file_name.substr(0, file_name.size() - kSuffix.size());
    if (const std::string_view fault = fault_of_name(name); !fault.empty()) {
      return subject.bad_data(std::string(fault));
    }
    if (!names_.insert(name).second) {
      return subject.bad_data("is there twice");
    }
    HEADWISE_ASSIGN(const auto size, checked_size(index, subject));
    Entry entry(zip_fopen_index(archive_.get(), index, 0));
    if (!entry) {
      return zip_failure(subject, zip_get_error(archive_.get()));
    }
    EntrySource source(std::move(entry), subject);
    NpyReader reader(source, size, subject);
    return take(name, reader);
  }

  // libzip takes a name that is not UTF-8 for code page 437 and rewrites it.
  // (It has already turned a NUL into a blank.)
  Result<std::string> entry_name(zip_uint64_t index) {
    const char* const raw = zip_get_name(archive_.get(), index, ZIP_FL_ENC_RAW);
    const std::string name = raw == nullptr ? "" : raw;
    const char* const guessed =
        zip_get_name(archive_.get(), index, ZIP_FL_ENC_GUESS);
    if (raw == nullptr || guessed == nullptr || name != guessed) {
      return subject_.of_entry(printable(name))
          .bad_data(message("is the name of entry {}", index), "UTF-8 text");
    }
    return name;
  }

  Result<SourceSize> checked_size(zip_uint64_t index,
                                  const FileSubject& subject) {
    HEADWISE_ASSIGN(const auto status, status_of(index, subject));
    constexpr zip_uint64_t kNeeded =
        ZIP_STAT_SIZE | ZIP_STAT_COMP_METHOD | ZIP_STAT_ENCRYPTION_METHOD;
    if ((status.valid & kNeeded) != kNeeded) {
      return subject.bad_data("has no size or no method of compression");
    }
    if (status.encryption_method != ZIP_EM_NONE) {
      return subject.error(ErrorCode::unsupported, "is encrypted",
                           "an entry that is not");
    }
    if (status.comp_method != ZIP_CM_STORE &&
        status.comp_method != ZIP_CM_DEFLATE) {
      return subject.error(
          ErrorCode::unsupported,
          message("is compressed by method {}", status.comp_method),
          "stored (0) or deflated (8)");
    }
    return SourceSize{status.size, false};
  }

  Archive archive_;
  std::size_t bytes_;
  FileSubject subject_;
  std::set<std::string> names_;
  std::vector<std::string> others_;
};

Result<NamedArrays> arrays_of(NpzReader reader) {
  NamedArrays arrays;
  const auto take = [&](const std::string& name, NpyReader& entry) -> Status {
    HEADWISE_ASSIGN(auto array, entry.read());
    arrays.emplace(name, std::move(array));
    return ok();
  };
  HEADWISE_TRY(reader.read(take));
  return arrays;
}

// `file` is a regular file.
Result<NpzReader> open_archive(InputFile file) {
  const FileSubject subject = file.subject();
  const std::size_t size = file.size().value_or(0);
  if (size == 0) {
    return subject.bad_data("is empty");
  }
  const int descriptor = file.release();
  int code = 0;
  Archive archive(zip_fdopen(descriptor, ZIP_CHECKCONS, &code));
  if (!archive) {
    ::close(descriptor);
    ZipError error(code);
    return zip_failure(subject, error.get());
  }
  return NpzReader(std::move(archive), size, subject);
}

Result<NpzReader> open_npz(const std::string& path) {
  auto file = InputFile::open("read_npz", path);
  return file ? open_archive(*std::move(file)) : file.error();
}

Result<NamedArrays> read_archive(std::span<const std::byte> bytes,
                                 const FileSubject& subject) {
  if (bytes.empty()) {  // libzip would take it for an archive of nothing
    return subject.bad_data("is empty");
  }
  ZipError error;
  Source source(
      zip_source_buffer_create(bytes.data(), bytes.size(), 0, error.get()));
  if (!source) {
    return zip_failure(subject, error.get());
  }
  Archive archive(zip_open_from_source(source.get(), ZIP_RDONLY | ZIP_CHECKCONS,
                                       error.get()));
  if (!archive) {
    return zip_failure(subject, error.get());
  }
  static_cast<void>(source.release());  // the archive's from now on
  return arrays_of(NpzReader(std::move(archive), bytes.size(), subject));
}

// The bytes of a zip archive with nothing in it; libzip makes no file of none.
std::vector<std::byte> empty_archive() {
  constexpr std::size_t kBytes = 22;
  std::vector<std::byte> bytes(kBytes);
  constexpr std::string_view kMagic("PK\x05\x06");
  const auto magic = std::as_bytes(std::span(kMagic));
  std::copy(magic.begin(), magic.end(), bytes.begin());
  return bytes;
}

using EntryBytes = std::map<std::string, std::vector<std::byte>>;

// Writes `entries` to `archive` (in memory), which it closes.
Status fill_archive(Archive archive, const EntryBytes& entries,
                    const FileSubject& subject) {
  constexpr zip_uint16_t kJanuaryFirst1980 = 1 << 5 | 1;
  for (const auto& [name, bytes] : entries) {
    Source source(
        zip_source_buffer(archive.get(), bytes.data(), bytes.size(), 0));
    const zip_int64_t index =
        source ? zip_file_add(archive.get(), (name + ".npy").c_str(),
                              source.get(), ZIP_FL_ENC_UTF_8)
               : -1;
    if (index < 0) {
      return zip_failure(subject, zip_get_error(archive.get()));
    }
    static_cast<void>(source.release());
    const auto entry = static_cast<zip_uint64_t>(index);
    if (zip_set_file_compression(archive.get(), entry, ZIP_CM_STORE, 0) != 0 ||
        zip_file_set_dostime(archive.get(), entry, 0, kJanuaryFirst1980, 0) !=
            0) {
      return zip_failure(subject, zip_get_error(archive.get()));
    }
  }
  if (zip_close(archive.get()) != 0) {
    return zip_failure(subject, zip_get_error(archive.get()));
  }
  static_cast<void>(archive.release());
  return ok();
}

Result<std::vector<std::byte>> format_archive(const EntryBytes& entries,
                                              const FileSubject& subject) {
  if (entries.empty()) {
    return empty_archive();
  }
  ZipError error;
  Source memory(zip_source_buffer_create(nullptr, 0, 0, error.get()));
  if (!memory) {
    return zip_failure(subject, error.get());
  }
  zip_source_keep(memory.get());  // once for the archive, once for us
  Archive archive(
      zip_open_from_source(memory.get(), ZIP_TRUNCATE, error.get()));
  if (!archive) {
    zip_source_free(memory.get());
    return zip_failure(subject, error.get());
  }
  HEADWISE_TRY(fill_archive(std::move(archive), entries, subject));
  zip_stat_t status{};
  if (zip_source_stat(memory.get(), &status) != 0 ||
      zip_source_open(memory.get()) != 0) {
    return zip_failure(subject, zip_source_error(memory.get()));
  }
  std::vector<std::byte> bytes(status.size);
  const zip_int64_t got =
      zip_source_read(memory.get(), bytes.data(), bytes.size());
  zip_source_close(memory.get());
  if (got < 0 || static_cast<std::size_t>(got) != bytes.size()) {
    return zip_failure(subject, zip_source_error(memory.get()));
  }
  return bytes;
}

// All of a pipe or a device, if it begins as an archive does: one may have no
// end.
Result<std::vector<std::byte>> read_stream(InputFile& file) {
  constexpr std::array kStart = {std::byte{'P'}, std::byte{'K'}};
  std::vector<std::byte> bytes(kStart.size());
  HEADWISE_ASSIGN(const auto got, file.read(bytes));
  bytes.resize(got);
  if (!std::ranges::equal(bytes, kStart)) {
    return bytes;  // its reader says what is wrong
  }
  HEADWISE_ASSIGN(const auto rest, file.read_all());
  bytes.insert(bytes.end(), rest.begin(), rest.end());
  return bytes;
}

}  // namespace

Result<NamedArrays> read_npz(const std::string& path) {
  return catching_out_of_memory([&]() -> Result<NamedArrays> {
    HEADWISE_ASSIGN(auto file, InputFile::open("read_npz", path));
    if (!file.size()) {
      const auto bytes = read_stream(file);
      return bytes ? read_archive(*bytes, file.subject()) : bytes.error();
    }
    auto reader = open_archive(std::move(file));
    return reader ? arrays_of(*std::move(reader)) : reader.error();
  });
}

Result<NpzEntries> read_npz_entries(const std::string& path) {
  HEADWISE_ASSIGN(auto reader, open_npz(path));
  NpzEntries entries;
  const auto take = [&](const std::string& name, NpyReader& entry) -> Status {
    HEADWISE_ASSIGN(const auto header, entry.read_header());
    entries.arrays.emplace(
        name, ParamEntry{header.dtype, header.shape, header.data_bytes});
    return ok();
  };
  HEADWISE_TRY(reader.read(take));
  entries.others = reader.others();
  return entries;
}

Result<Array> read_npz_array(const std::string& path, const std::string& name) {
  HEADWISE_ASSIGN(auto reader, open_npz(path));
  Array found;
  const auto take = [&](const std::string& each, NpyReader& entry) -> Status {
    if (each == name) {
      HEADWISE_ASSIGN(found, entry.read());
    }
    return ok();
  };
  HEADWISE_TRY(reader.read(take));
  return found;
}

Result<NamedArrays> parse_npz(std::span<const std::byte> bytes,
                              std::string_view name) {
  return catching_out_of_memory([&]() -> Result<NamedArrays> {
    return read_archive(bytes, {"parse_npz", std::string(name)});
  });
}

Status write_npz(const std::string& path,
                 const std::map<std::string, AnyView>& arrays) {
  return catching_out_of_memory([&]() -> Status {
    const FileSubject subject{"write_npz", path};
    EntryBytes entries;
    for (const auto& [name, view] : arrays) {
      const FileSubject entry = subject.of_entry(printable(name));
      if (const std::string_view fault = fault_of_name(name); !fault.empty()) {
        return entry.error(ErrorCode::invalid_argument, std::string(fault));
      }
      Result<std::vector<std::byte>> bytes = format_npy(view);
      if (!bytes) {
        const ErrorDetails& details = bytes.error().details();
        return bytes.error().code() == ErrorCode::out_of_memory
                   ? bytes.error()
                   : entry.error(bytes.error().code(), details.given,
                                 details.expected);
      }
      entries.emplace(name, *std::move(bytes));
    }
    const Result<std::vector<std::byte>> bytes =
        format_archive(entries, subject);
    return bytes ? write_file_atomically(path, *bytes) : bytes.error();
  });
}

}  // namespace headwise::inline HEADWISE_ABI
