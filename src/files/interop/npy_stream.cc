#include "interop/npy_stream.h"

#include <array>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "interop/element_bytes.h"
#include "interop/gather.h"
#include "interop/read_bytes.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kNpyMagic("\x93NUMPY", 6);
constexpr std::size_t kMaxHeaderBytes = std::size_t{1} << 16;

// A Fortran array in C order.
void to_c_order(Array& array) {
  std::vector<std::ptrdiff_t> strides;
  std::ptrdiff_t step = 1;
  for (const std::size_t extent : array.shape) {
    strides.push_back(step);
    step *= static_cast<std::ptrdiff_t>(extent);
  }
  AlignedBytes in_c_order(array.data.size());
  gather(array.data.data(), size_of(array.dtype), array.shape, strides,
         in_c_order.data());
  array.data = std::move(in_c_order);
}

}  // namespace

Result<NpyHeader> NpyReader::read_header() {
  HEADWISE_ASSIGN(const auto text, read_header_text());
  HEADWISE_ASSIGN(auto header,
                  parse_npy_header(text, subject_, taken_ - text.size()));
  if (size_.bytes && *size_.bytes - taken_ != header.data_bytes) {
    return wrong_size(header, *size_.bytes - taken_);
  }
  return header;
}

Result<Array> NpyReader::read_array(NpyHeader header) {
  Array array{header.dtype, header.shape, {}};
  HEADWISE_TRY(read_data(header, array.data));
  to_native_elements(header, array.data);
  if (header.fortran_order && array.shape.size() > 1) {
    to_c_order(array);
  }
  return array;
}

Result<Array> NpyReader::read() {
  auto header = read_header();
  return header ? read_array(*std::move(header)) : header.error();
}

// Exactly `bytes`, or an error at the end of the file.
Status NpyReader::read_all(std::span<std::byte> bytes, const char* given) {
  HEADWISE_ASSIGN(const auto got, source_.read(bytes));
  taken_ += got;
  if (got != bytes.size()) {
    return subject_.bad_data(given, {}, taken_);
  }
  return ok();
}

// Little endian on every machine.
Result<std::size_t> NpyReader::read_number(std::size_t bytes) {
  std::array<std::byte, 4> digits{};
  const std::span<std::byte> used = std::span(digits).first(bytes);
  HEADWISE_TRY(read_all(used, "is not a .npy file: it ends"));
  std::size_t number = 0;
  for (std::size_t i = bytes; i-- > 0;) {
    number = number << 8 | std::to_integer<std::size_t>(digits[i]);
  }
  return number;
}

Result<std::string> NpyReader::read_header_text() {
  std::array<std::byte, 8> start{};
  HEADWISE_TRY(read_all(start, "is not a .npy file: it ends"));
  if (std::memcmp(start.data(), kNpyMagic.data(), kNpyMagic.size()) != 0) {
    return subject_.bad_data("is not a .npy file",
                             "\\x93NUMPY at its beginning");
  }
  const int major = std::to_integer<int>(start[6]);
  const int minor = std::to_integer<int>(start[7]);
  if (major < 1 || major > 3 || minor != 0) {
    return subject_.error(
        ErrorCode::unsupported,
        message("has version {}.{} of the .npy format", major, minor),
        "1.0, 2.0 or 3.0");
  }
  HEADWISE_ASSIGN(const auto length, read_number(major == 1 ? 2 : 4));
  if (length > kMaxHeaderBytes) {
    return subject_.bad_data(message("has a header of {} bytes", length),
                             message("at most {}", kMaxHeaderBytes));
  }
  std::string text(length, ' ');
  HEADWISE_TRY(
      read_all(std::as_writable_bytes(std::span(text)), "ends in its header"));
  return text;
}

Status NpyReader::read_data(const NpyHeader& header, AlignedBytes& data) {
  HEADWISE_ASSIGN(auto read,
                  read_bytes(source_, header.data_bytes, size_.certain));
  if (read.size() != header.data_bytes) {
    return wrong_size(header, read.size());
  }
  data = std::move(read);
  std::array<std::byte, 1> beyond{};
  HEADWISE_ASSIGN(const auto got, source_.read(beyond));
  return got == 0 ? ok() : wrong_size(header, {});
}

// `there`: nothing where there are too many to count.
Error NpyReader::wrong_size(const NpyHeader& header,
                            std::optional<std::size_t> there) const {
  return subject_.bad_data(
      there ? message("has {} bytes of data", *there)
            : "has too many bytes of data",
      message("{} for {} {} in its header", header.data_bytes,
              shape_text(header.shape), name_of(header.dtype)));
}

void to_native_elements(const NpyHeader& header,
                        std::span<std::byte> elements) {
  if (header.other_byte_order) {
    reverse_elements(elements, size_of(header.dtype));
  }
  if (header.dtype == DType::boolean) {
    normalize_booleans(elements);
  }
}

}  // namespace headwise::inline HEADWISE_ABI
