// Calls that are given a part of the keys (headwise/attention/state.h) or of
// the queries (headwise/attention/gradient_state.h): what their options may not
// ask for.
#pragma once

#include <string_view>

#include "headwise/attention/gradient_state.h"
#include "headwise/attention/spec.h"
#include "headwise/attention/state.h"
#include "headwise/base/result.h"

namespace headwise::inline HEADWISE_ABI {

std::string_view name_of(KeyPart part);
std::string_view name_of(QueryPart part);

// Whether no key comes before those of the part, and whether none comes after.
constexpr bool has_first_keys(KeyPart part) {
  return part == KeyPart::all || part == KeyPart::first;
}
constexpr bool has_last_keys(KeyPart part) {
  return part == KeyPart::all || part == KeyPart::last;
}
// The same of queries.
constexpr bool has_first_queries(QueryPart part) {
  return part == QueryPart::all || part == QueryPart::first;
}
constexpr bool has_last_queries(QueryPart part) {
  return part == QueryPart::all || part == QueryPart::last;
}

// For functions that take no part of the queries. Errors: unsupported.
Status check_all_queries(std::string_view operation, QueryPart part);
// For functions that take no part of the keys either. Errors: unsupported.
Status check_no_part(std::string_view operation,
                     const OperationOptions& options);

// For functions that take a part. Errors: unsupported for options that need all
// keys or queries; invalid_argument for a mask whose key_starts move the blocks
// of keys.
Status check_parts(std::string_view operation,
                   const AttentionOptions& attention_options,
                   const OperationOptions& options, const BoundMask& mask);

// Whether the keys of each sequence end where a block does. Errors:
// invalid_argument.
Status check_keys_of_part(std::string_view operation, KeyPart part,
                          const AttentionShape& shape);

}  // namespace headwise::inline HEADWISE_ABI
