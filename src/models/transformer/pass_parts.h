// The parts that the passes of models share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "headwise/base/function_ref.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/base/tensor_view.h"
#include "headwise/module/multi_head_attention.h"
#include "headwise/steps/head_gates.h"
#include "headwise/steps/tokens.h"
#include "headwise/transformer/model_pass.h"
#include "headwise/version.h"

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

// The hooks of one call, which refer to those of the model.
HeadHooks hooks_at(const ModelHooks& hooks, HookPlace at);

// Of one layer; `of_layer` are its own hooks.
LayerOptions layer_options(HeadGateSpan gates, std::size_t layer,
                           const ModelHooks& hooks, const HeadHooks& of_layer);

// Errors: out_of_range.
Status check_layer_number(std::string_view operation, std::string_view argument,
                          std::size_t layer, std::size_t most);
// One tensor of gates for each layer, or none at all.
Status check_model_gates(std::string_view operation, HeadGateSpan gates,
                         std::size_t layers,
                         FunctionRef<std::size_t(std::size_t)> heads_in);
// What a forward pass of training does not take.
Status check_training_pass(std::string_view operation, const ModelPass& pass,
                           std::size_t layers);

}  // namespace headwise::inline HEADWISE_ABI
