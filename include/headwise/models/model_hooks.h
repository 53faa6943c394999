// What a pass through a model is given: where it begins and ends, what changes
// its heads, and what it shows on its way. And what a backward pass gives.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/base/tensor_view.h"
#include "headwise/module/head_hooks.h"
#include "headwise/run/executor.h"
#include "headwise/steps/head_gates.h"
#include "headwise/steps/tokens.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// Is given the input of a layer, (1, rows, hidden_size); an error ends the
// call.
using BeforeLayer =
    std::function<Status(std::size_t layer, TensorView<const float, 3> hidden)>;

// The hooks of every layer's attention (module/head_hooks.h), as a ragged batch
// of one row.
struct ModelHooks {
  std::function<Status(std::size_t layer, const HookedHeads& heads)>
      see_inputs{};
  std::function<Status(std::size_t layer, const HeadContext& heads)> edit{};
  std::function<Status(std::size_t layer, TensorView<const float, 4> context)>
      see{};
  std::function<Status(std::size_t layer, TensorView<const float, 4> d_context)>
      see_gradient{};
  // What receives the steps of a layer, or null.
  std::function<TraceSink*(std::size_t layer)> trace{};

  bool any() const {
    return see_inputs || edit || see || see_gradient || trace;
  }
};

// A pass that begins at a layer, with the hidden states that enter it, as
// ModelPass::see_entries saw them.
struct LayerEntry {
  std::size_t layer = 0;
  TensorView<const float, 2> hidden{};  // (rows, hidden_size)
};

// What a pass through a model is given besides its tokens.
struct ModelPass {
  // Default: the pass begins with the embeddings of the ids. Otherwise only the
  // lengths of the sequences are read.
  std::optional<LayerEntry> from{};
  // Ends with the hidden states that enter this layer: only the layers before
  // it are run. Not given: all layers are run.
  std::optional<std::size_t> before_layer{};
  // For each sequence, the token type of each token, 0 or 1; empty: all 0. A
  // causal model has none.
  std::span<const std::vector<TokenId>> token_types{};
  bool attn_weights = false;  // BertEncoder::forward() returns them
  // Empty: none. They must outlive the call and its backward pass.
  HeadGateSpan head_gates{};
  // Sees what enters each layer that is run, where `from` can begin. An error
  // ends the pass.
  BeforeLayer see_entries{};
  // Sees the input of each layer's attention: in a causal model the norm of
  // what enters the layer, otherwise the same. An error ends the pass.
  BeforeLayer before_each{};
  // Those of each layer's attention, with the same sequences; a trace needs a
  // single one.
  ModelHooks hooks{};
  const Executor* executor = nullptr;  // null: Executor::default_executor()
};

// Which gradients a backward pass computes.
enum class ModelWanted { params_and_gates, gates };

struct ModelGradients {
  // For every parameter, by its name in files; empty unless requested.
  std::map<std::string, Tensor<float, 1>, std::less<>> params;
  // For each layer, per sequence: (B, heads of the layer); empty without
  // ModelPass::head_gates.
  std::vector<Tensor<float, 2>> head_gates;
};

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
