// Calls that are given a part of the keys (headwise/attention/state.h): what
// their options may not ask for.
#pragma once

#include <string_view>

#include "headwise/attention/spec.h"
#include "headwise/attention/state.h"
#include "headwise/base/result.h"

namespace headwise::inline HEADWISE_ABI {

std::string_view name_of(KeyPart part);

// Whether keys come before those of the part, and whether none comes after.
constexpr bool has_first_keys(KeyPart part) {
  return part == KeyPart::all || part == KeyPart::first;
}
constexpr bool has_last_keys(KeyPart part) {
  return part == KeyPart::all || part == KeyPart::last;
}

// For functions that need all keys. Errors: unsupported.
Status check_all_keys(std::string_view operation,
                      const OperationOptions& options);

// For functions that take a part. Errors: unsupported for options that need all
// keys; invalid_argument for a mask whose key_starts move the blocks of keys.
Status check_key_part(std::string_view operation,
                      const AttentionOptions& attention_options,
                      const OperationOptions& options, const BoundMask& mask,
                      bool drops);

// Whether the keys of each sequence end where a block does. Errors:
// invalid_argument.
Status check_keys_of_part(std::string_view operation, KeyPart part,
                          const AttentionShape& shape);

}  // namespace headwise::inline HEADWISE_ABI
