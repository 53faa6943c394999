// Sentence models as importance sees them. The arguments must outlive the
// returned model.
//
// Errors of its functions: invalid_argument for a sentence without a token,
// shape_mismatch if there is not one target per sentence; those of
// cross_entropy() and of SentenceEncoder::forward_for_backward().
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

// The cross-entropy of the probe for each sentence's label. Gradients need an
// encoder that was read for training.
GatedModel classification_losses(
    const SentenceEncoder& encoder, const LabelProbe& probe,
    const RaggedTokens& ids, const std::vector<std::int64_t>& targets,
    const Executor& executor = Executor::default_executor());

// Without labels: how far each sentence's embedding e is from the one with all
// heads, e_0. `losses` are |e - e_0|^2. Their gradient is 0 while all heads are
// on, so `gradients` are those of r . e with a random direction r for each
// sentence: over many sentences, the mean square is that of |de/dg|^2 up to a
// factor that is the same for all heads.
GatedModel embedding_losses(
    const SentenceEncoder& encoder, const RaggedTokens& ids, Seed seed = {},
    const Executor& executor = Executor::default_executor());

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
