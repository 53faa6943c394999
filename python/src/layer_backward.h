// The backward pass of a layer: what its forward pass saved, and gradients.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <variant>

#include "headwise/module/multi_head_attention.h"
#include "layer_call.h"
#include "layer_object.h"
#include "one_at_a_time.h"

namespace headwise::python {

// headwise.LayerGradients; None for what the call did not have.
struct LayerGradients {
  nb::object query, key, value, params;
  nb::object bias, t5_bias, alibi, sinks, head_gates;
};

// headwise.SavedLayer: keeps the tensors and options of the forward pass.
class SavedLayer {
 public:
  // Runs the forward pass. `layer` is a LayerObject. Errors: those of
  // LayerObject::forward().
  SavedLayer(nb::object layer, nb::handle query, nb::handle key,
             nb::handle value, const nb::kwargs& keywords);

  // As forward() returns it.
  nb::object result() const { return result_; }
  // Errors: ValueError for a second backward pass, for a layer whose parameters
  // were set since, and for other shapes.
  LayerGradients backward(nb::handle d_output, nb::handle d_attn_weights);

 private:
  template <class T>
  LayerGradients backward_of(MultiHeadAttentionSavedOf<T>& saved,
                             const ArrayArgument& d_output,
                             TensorView<const float, 4> d_attn_weights);
  nb::dict param_gradients(const MultiHeadAttentionParamGradients& gradients);

  nb::object owner_;
  const LayerObject& layer_;
  nb::kwargs keywords_;  // an executor lies in it
  std::unique_ptr<LayerCallOptions> options_;
  LayerTensors tensors_;
  std::variant<std::monostate, MultiHeadAttentionSavedOf<float>,
               MultiHeadAttentionSavedOf<BFloat16>,
               MultiHeadAttentionSavedOf<Float16>>
      saved_;
  nb::object result_;
  OneAtATime one_at_a_time_;
};

}  // namespace headwise::python
