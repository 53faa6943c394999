// Embeddings of texts that ranks divide among them.
#pragma once

#include <span>
#include <string_view>

#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/distribute/communicator.h"
#include "headwise/models/sentence_encoder.h"

namespace headwise::inline HEADWISE_ABI {

// (texts, embedding_size), on every rank with the bits of one process. Null:
// this process alone. Errors: those of SentenceEncoder::encode(), of the lowest
// rank that has one; rank_failure.
Result<Tensor<float, 2>> ranked_embeddings(
    Communicator* group, const SentenceEncoder& encoder,
    std::span<const std::string_view> texts, const SentenceOptions& options);

}  // namespace headwise::inline HEADWISE_ABI
