#include "sha256.h"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <vector>

#include "interop/input_file.h"

namespace headwise::cli {

Sha256::Sha256() { nettle_sha256_init(&context_); }

void Sha256::add(std::span<const std::byte> bytes) {
  nettle_sha256_update(&context_, bytes.size(),
                       reinterpret_cast<const std::uint8_t*>(bytes.data()));
}

std::string Sha256::digits() {
  std::array<std::uint8_t, SHA256_DIGEST_SIZE> digest{};
  nettle_sha256_digest(&context_, digest.size(), digest.data());
  std::string text;
  for (const std::uint8_t byte : digest) {
    text += fmt::format("{:02x}", byte);
  }
  return text;
}

std::string sha256_of_text(std::string_view text) {
  Sha256 hash;
  hash.add(std::as_bytes(std::span(text)));
  return hash.digits();
}

Result<std::string> sha256_of_file(const std::string& path) {
  auto file = InputFile::open("inspect", path);
  HEADWISE_TRY(file);
  constexpr std::size_t kPiece = std::size_t{1} << 20;
  std::vector<std::byte> piece(kPiece);
  Sha256 hash;
  while (true) {
    const auto got = file->read(piece);
    HEADWISE_TRY(got);
    hash.add(std::span(piece).first(*got));
    if (*got < kPiece) {
      return hash.digits();
    }
  }
}

}  // namespace headwise::cli
