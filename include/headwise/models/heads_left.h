// The heads that a model has left, where others may have been pruned.
//
// Example:
//   auto place = place_of_head("ablate", "heads", {3, 1}, heads_left(model));
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/models/model_settings.h"
#include "headwise/models/text_model.h"
#include "headwise/module/head_id.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// Of each layer, the numbers that its heads had before pruning, ascending.
using HeadsLeft = std::vector<std::vector<std::size_t>>;

HeadsLeft heads_left(const BertConfig& config);
HeadsLeft heads_left(const TextModel& model);

// The index of a head among those of its layer. Errors: out_of_range, in the
// name of `operation` and `argument`, for a head that the model lacks; it says
// which ones there are.
Result<std::size_t> place_of_head(std::string_view operation,
                                  std::string_view argument, const HeadId& head,
                                  const HeadsLeft& left);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
