// SHA-256, in the digits that `sha256sum` prints.
#pragma once

#include <nettle/sha2.h>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "headwise/base/result.h"

namespace headwise::cli {

// Of bytes that come piece by piece.
class Sha256 {
 public:
  Sha256();
  void add(std::span<const std::byte> bytes);
  // Of all that was added; the next piece begins anew.
  std::string digits();

 private:
  sha256_ctx context_{};
};

std::string sha256_of_text(std::string_view text);
// Errors: io_error, `inspect: PATH: ..`.
Result<std::string> sha256_of_file(const std::string& path);

}  // namespace headwise::cli
