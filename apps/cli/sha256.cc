#include "sha256.h"

#include <fmt/format.h>
#include <nettle/sha2.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "interop/input_file.h"

namespace headwise::cli {
namespace {

std::string digits_of(sha256_ctx& context) {
  std::array<std::uint8_t, SHA256_DIGEST_SIZE> digest{};
  nettle_sha256_digest(&context, digest.size(), digest.data());
  std::string text;
  for (const std::uint8_t byte : digest) {
    text += fmt::format("{:02x}", byte);
  }
  return text;
}

}  // namespace

Result<std::string> sha256_of_file(const std::string& path) {
  auto file = InputFile::open("inspect", path);
  if (!file) {
    return file.error();
  }
  constexpr std::size_t kPiece = std::size_t{1} << 20;
  std::vector<std::uint8_t> piece(kPiece);
  sha256_ctx context{};
  nettle_sha256_init(&context);
  while (true) {
    const auto got = file->read(std::as_writable_bytes(std::span(piece)));
    if (!got) {
      return got.error();
    }
    nettle_sha256_update(&context, *got, piece.data());
    if (*got < kPiece) {
      break;
    }
  }
  return digits_of(context);
}

std::string sha256_of_text(std::string_view text) {
  sha256_ctx context{};
  nettle_sha256_init(&context);
  nettle_sha256_update(
      &context, text.size(),
      reinterpret_cast<const std::uint8_t*>(text.data()));  // its bytes
  return digits_of(context);
}

}  // namespace headwise::cli
