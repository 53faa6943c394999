#include "headwise/interop/sha256.h"

#include <nettle/sha2.h>

#include <array>
#include <cstdint>
#include <vector>

#include "base/out_of_memory.h"
#include "interop/input_file.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

class Sha256 {
 public:
  Sha256() { nettle_sha256_init(&context_); }

  void add(std::span<const std::byte> bytes) {
    nettle_sha256_update(&context_, bytes.size(),
                         reinterpret_cast<const std::uint8_t*>(bytes.data()));
  }

  std::string digits() {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::array<std::uint8_t, SHA256_DIGEST_SIZE> digest{};
    nettle_sha256_digest(&context_, digest.size(), digest.data());
    std::string text;
    for (const std::uint8_t byte : digest) {
      text += kDigits[byte >> 4];
      text += kDigits[byte & 15];
    }
    return text;
  }

 private:
  sha256_ctx context_{};
};

}  // namespace

std::string sha256_of(std::string_view text) {
  Sha256 hash;
  hash.add(std::as_bytes(std::span(text)));
  return hash.digits();
}

std::string sha256_of(std::span<const std::span<const std::byte>> pieces) {
  Sha256 hash;
  for (const std::span<const std::byte> piece : pieces) {
    hash.add(piece);
  }
  return hash.digits();
}

Result<std::string> sha256_of_file(const std::string& path) try {
  constexpr std::size_t kPiece = std::size_t{1} << 20;
  HEADWISE_ASSIGN(auto file, InputFile::open("sha256_of_file", path));
  std::vector<std::byte> piece(kPiece);
  Sha256 hash;
  while (true) {
    HEADWISE_ASSIGN(const auto got, file.read(piece));
    hash.add(std::span(piece).first(got));
    if (got < kPiece) {
      return hash.digits();
    }
  }
} catch (...) {
  return caught_out_of_memory();
}

}  // namespace headwise::inline HEADWISE_ABI
