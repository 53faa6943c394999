// The heads that a model's config.json says were removed, as transformers 4
// and headwise.transformers record them:
//
//   "pruned_heads": {"0": [1, 3]}
//   "headwise_pruned_heads": {"layers": 12, "heads": {"0": [1, 3]}}
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string_view>

#include "headwise/base/result.h"
#include "headwise/interop/file_subject.h"

#pragma GCC visibility push(default)
namespace headwise::internal::inline HEADWISE_ABI {

// By layer: original numbers.
using PrunedHeads = std::map<std::size_t, std::set<std::size_t>>;

// Errors: bad_data, about `subject`, for an entry that is not the number of a
// layer or of one of its `num_heads` heads; those of visit_json_leaves().
Result<PrunedHeads> parse_pruned_heads(std::string_view text,
                                       const FileSubject& subject,
                                       std::size_t num_heads);

}  // namespace headwise::internal::inline HEADWISE_ABI
#pragma GCC visibility pop
