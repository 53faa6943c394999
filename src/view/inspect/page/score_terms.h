// What a page does with the scores of a head, softcap, T5's bias and ALiBi: it
// is given their numbers and computes the scores again
// (viewer/computed.js).
#pragma once

#include <cstddef>

#include "headwise/attention/spec.h"
#include "headwise/json/json.h"

namespace headwise::inline HEADWISE_ABI {

// Adds the numbers that all heads share, and those of head h. Throws
// std::bad_alloc.
void add_shared_terms(const AttentionSpec& spec, Json& json);
void add_head_terms(const AttentionSpec& spec, std::size_t h, Json& json);

// The score that the page computes from q.k; `offset` is the key's position
// minus the query's.
double page_score(const AttentionSpec& spec, std::size_t h, double dot,
                  std::int64_t offset);

}  // namespace headwise::inline HEADWISE_ABI
