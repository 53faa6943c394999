// The parts that the passes of models share.
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

namespace headwise::inline HEADWISE_ABI {

// Where each sequence's rows begin, and where the last one's end.
std::vector<std::int64_t> offsets_of(const RaggedTokens& ids);

// (1, rows, E) -> (rows, E)
template <Viewable X>
requires(ViewOf<X>::rank() == 3) auto rows_of(X&& x) {
  const ViewOf<X> view(x);
  return TensorView(view.data(), {view.extent(1), view.extent(2)});
}

// to += x
void add_to(Tensor<float, 3>& to, TensorView<const float, 3> x);
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

// The hooks of one layer, which refer to those of the model.
HeadHooks hooks_of_layer(const ModelHooks& hooks, std::size_t layer);

// Of one layer; `of_layer` are its own hooks.
LayerOptions layer_options(HeadGateSpan gates, std::size_t layer,
                           const ModelHooks& hooks, const HeadHooks& of_layer);

// What training says of an encoder read for inference.
Error error_for_inference(std::string_view operation);

// Errors: out_of_range.
Status check_layer_number(std::string_view operation, std::string_view argument,
                          std::size_t layer, std::size_t most);
// One tensor of gates for each layer, or none at all.
Status check_model_gates(std::string_view operation, HeadGateSpan gates,
                         std::size_t layers,
                         FunctionRef<std::size_t(std::size_t)> heads_in);
// How many tokens each sequence has, and which.
Status check_sequences(std::string_view operation, const RaggedTokens& ids,
                       std::size_t max_positions, std::size_t vocab_size);
// What a forward pass of training does not take.
Status check_training_pass(std::string_view operation, const ModelPass& pass,
                           std::size_t layers);

// Errors: those of BertEncoder::forward().
Status check_call(const BertParams& params, const RaggedTokens& ids,
                  const ModelPass& pass);

}  // namespace headwise::inline HEADWISE_ABI
