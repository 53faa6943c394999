// The parts that the passes of BertEncoder share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "headwise/base/function_ref.h"
#include "headwise/models/bert_encoder.h"
#include "headwise/steps/head_gates.h"
#include "models/bert_params.h"
#include "transformer/pass_parts.h"  // IWYU pragma: export

namespace headwise::inline HEADWISE_ABI {

Result<Tensor<float, 3>> normalized(const Tensor<float, 3>& x,
                                    const LayerNormParams& norm,
                                    const Executor& executor);

// hidden = word + place, before the norm. `token_types` are those of
// ModelPass.
void embed(const RaggedTokens& ids,
           std::span<const std::vector<TokenId>> token_types,
           std::span<const std::int64_t> offsets,
           const BertEmbeddings& embeddings, TensorView<float, 3> hidden,
           const Executor& executor);

// What training says of an encoder read for inference.
Error error_for_inference(std::string_view operation);

// Errors: those of BertEncoder::forward().
Status check_call(const BertParams& params, const RaggedTokens& ids,
                  const ModelPass& pass);

}  // namespace headwise::inline HEADWISE_ABI
