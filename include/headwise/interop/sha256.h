// SHA-256 digests, as the 64 digits that `sha256sum` prints.
//
// Source: FIPS 180-4.
//
// Example:
//   sha256_of("abc");  // "ba7816bf...f20015ad"
//   std::string digest = sha256_of_file("model.safetensors").value();
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "headwise/base/result.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

std::string sha256_of(std::string_view text);
// The same for several pieces, one after another.
std::string sha256_of(std::span<const std::span<const std::byte>> pieces);
// Errors: io_error; out_of_memory.
Result<std::string> sha256_of_file(const std::string& path);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
