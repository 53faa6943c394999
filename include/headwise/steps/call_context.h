// The call to which masks, biases, ALiBi, dropout and statistics are bound, and
// against which they are checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "headwise/steps/query_start.h"
#include "headwise/steps/shape.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

struct CallContext {
  AttentionShape shape{};
  QueryStart query_start{};
  // Begins the messages; read only while something is bound.
  std::string_view operation = "attention";

  // The position of query 0 of sequence b among the keys.
  std::int64_t first_position(std::size_t b) const {
    return query_start.of(b, shape);
  }
};

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
