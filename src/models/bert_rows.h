// The parts that the forward passes of inference and of training share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "headwise/models/bert_encoder.h"
#include "models/bert_params.h"

namespace headwise::inline HEADWISE_ABI {

// Where each sequence's rows begin, and where the last one's end.
std::vector<std::int64_t> offsets_of(const RaggedTokens& ids);

// (1, rows, E) -> (rows, E)
template <Viewable X>
requires(ViewOf<X>::rank() == 3) auto rows_of(X&& x) {
  const ViewOf<X> view(x);
  return TensorView(view.data(), {view.extent(1), view.extent(2)});
}

// hidden = word + place, before the norm. `token_types` are those of
// BertOptions.
void embed(const RaggedTokens& ids,
           std::span<const std::vector<TokenId>> token_types,
           std::span<const std::int64_t> offsets,
           const BertEmbeddings& embeddings, TensorView<float, 3> hidden,
           const Executor& executor);

// The hooks of one layer, which refer to those of the model.
HeadHooks hooks_of_layer(const ModelHooks& hooks, std::size_t layer);

// Of one layer; `hooks` are its own.
LayerOptions layer_options_of(const BertOptions& options, std::size_t layer,
                              const HeadHooks& hooks);

// What training says of an encoder read for inference.
Error error_for_inference(std::string_view operation);

// Errors: those of BertEncoder::forward().
Status check_call(const BertParams& params, const RaggedTokens& ids,
                  const BertOptions& options);

}  // namespace headwise::inline HEADWISE_ABI
