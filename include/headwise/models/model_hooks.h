// What a forward pass of a model shows on its way, layer by layer, and where it
// may begin.
#pragma once

#include <cstddef>
#include <functional>

#include "headwise/base/result.h"
#include "headwise/base/tensor_view.h"
#include "headwise/module/head_hooks.h"
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
// BeforeLayer saw them.
struct LayerEntry {
  std::size_t layer = 0;
  TensorView<const float, 2> hidden{};  // (rows, hidden_size)
};

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
