#include "distribute/error_bytes.h"

#include <array>
#include <cstdint>
#include <cstring>
#include <optional>

namespace headwise::internal::inline HEADWISE_ABI {
namespace {

// Texts in their order, each after its length.
constexpr std::array kTexts = {&ErrorDetails::operation,
                               &ErrorDetails::argument, &ErrorDetails::file,
                               &ErrorDetails::entry};
constexpr std::array kMessages = {&ErrorDetails::given, &ErrorDetails::expected,
                                  &ErrorDetails::hint};

void add_number(std::string& bytes, std::uint64_t number) {
  std::array<char, sizeof(number)> raw{};
  std::memcpy(raw.data(), &number, sizeof(number));
  bytes.append(raw.data(), raw.size());
}

void add_text(std::string& bytes, std::string_view text) {
  add_number(bytes, text.size());
  bytes += text;
}

std::optional<std::uint64_t> take_number(std::string_view& bytes) {
  std::uint64_t number = 0;
  if (bytes.size() < sizeof(number)) {
    return std::nullopt;
  }
  std::memcpy(&number, bytes.data(), sizeof(number));
  bytes.remove_prefix(sizeof(number));
  return number;
}

bool take_text(std::string_view& bytes, std::string& text) {
  const auto length = take_number(bytes);
  if (!length || *length > bytes.size()) {
    return false;
  }
  text = bytes.substr(0, *length);
  bytes.remove_prefix(*length);
  return true;
}

}  // namespace

std::string bytes_of_status(const Status& status) {
  std::string bytes;
  if (status) {
    return bytes;
  }
  const ErrorDetails& is = status.error().details();
  add_number(bytes, static_cast<std::uint64_t>(status.error().code()));
  add_number(bytes, is.byte ? 1 : 0);
  add_number(bytes, is.byte.value_or(0));
  add_number(bytes, static_cast<std::uint64_t>(is.system_error));
  for (const auto text : kTexts) {
    add_text(bytes, is.*text);
  }
  for (const auto message : kMessages) {
    add_text(bytes, (is.*message).packed());
  }
  return bytes;
}

Status status_of(std::string_view bytes) {
  if (bytes.empty()) {
    return ok();
  }
  const auto code = take_number(bytes);
  const auto has_byte = take_number(bytes);
  const auto byte = take_number(bytes);
  const auto system_error = take_number(bytes);
  if (!system_error ||
      *code > static_cast<std::uint64_t>(ErrorCode::rank_failure)) {
    return Error(ErrorCode::bad_data);
  }
  ErrorDetails is{.system_error = static_cast<int>(*system_error)};
  if (*has_byte != 0) {
    is.byte = *byte;
  }
  for (const auto text : kTexts) {
    if (!take_text(bytes, is.*text)) {
      return Error(ErrorCode::bad_data);
    }
  }
  for (const auto message : kMessages) {
    std::string packed;
    auto taken =
        take_text(bytes, packed) ? Message::unpacked(packed) : std::nullopt;
    if (!taken) {
      return Error(ErrorCode::bad_data);
    }
    is.*message = *std::move(taken);
  }
  return Error(static_cast<ErrorCode>(*code), std::move(is));
}

}  // namespace headwise::internal::inline HEADWISE_ABI
