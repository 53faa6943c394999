// Models of sentences as importance sees them. What is given must outlive the
// model.
//
// Errors of its functions: invalid_argument for a sentence without a token,
// shape_mismatch for other targets than sentences; those of cross_entropy() and
// of SentenceEncoder::forward_for_backward().
//
// Example:
//   GatedModel model = classification_losses(encoder, probe, ids, targets);
//   auto run = ImportanceRun::create(std::move(model), {}).value();
#pragma once

#include <cstdint>
#include <vector>

#include "headwise/base/random.h"
#include "headwise/models/label_probe.h"
#include "headwise/models/sentence_encoder.h"
#include "headwise/prune/importance.h"
#include "headwise/run/executor.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// The cross-entropy of the label that the probe should find in each sentence.
// Gradients ask for an encoder that was read for training.
GatedModel classification_losses(
    const SentenceEncoder& encoder, const LabelProbe& probe,
    const RaggedTokens& ids, const std::vector<std::int64_t>& targets,
    const Executor& executor = Executor::default_executor());

// Without labels: how far each sentence's embedding e is from that with all
// heads, e_0. `losses` are |e - e_0|^2. Their gradient where nothing is off is
// 0, so `gradients` are those of r . e, r a direction drawn for each sentence:
// over many of them the mean of a square is that of |de/dg|^2 but for a factor
// that all heads have in common.
GatedModel embedding_losses(
    const SentenceEncoder& encoder, const RaggedTokens& ids, Seed seed = {},
    const Executor& executor = Executor::default_executor());

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
