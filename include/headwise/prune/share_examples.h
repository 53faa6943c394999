// A model whose examples are divided among the ranks of a group.
//
// Each function of the model computes the r-th part of its examples on rank r,
// and every rank gets the values of all of them. So an ImportanceRun with this
// model adds the same numbers in the same order on every rank, and has the bits
// of one process.
//
// Errors of its functions: those of the model, which all ranks agree on;
// rank_failure.
//
// Example:
//   GatedModel model = share_examples(
//       classification_losses(encoder, probe, ids, targets), *group).value();
//   auto run = ImportanceRun::create(std::move(model), {}).value();
#pragma once

#include "headwise/base/result.h"
#include "headwise/distribute/communicator.h"
#include "headwise/prune/importance.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// All ranks make the same calls of a model that is the same everywhere. The
// group must outlive the result. Errors: out_of_memory.
Result<GatedModel> share_examples(GatedModel model, Communicator& group);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
