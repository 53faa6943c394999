#include "layer_backward.h"

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bindings.h"
#include "error.h"
#include "new_array.h"
#include "object_state.h"
#include "object_text.h"

namespace headwise::python {
namespace {

constexpr std::string_view kForward = "MultiHeadAttention.forward_for_backward";
constexpr std::string_view kBackward = "SavedLayer.backward";

// The gradient of an option, or None if it was not given.
template <class T, std::size_t Rank>
nb::object gradient(const ArrayArgument& like, Tensor<T, Rank> tensor,
                    bool batched = true) {
  return tensor.size() == 0 ? nb::none()
                            : layer_array(like, std::move(tensor), batched);
}

// Copies, because the backward pass needs the result unchanged.
template <class T>
MultiHeadAttentionResult<3, T> copy_of(
    const MultiHeadAttentionResult<3, T>& result) {
  return {value_of(result.output.clone()),
          value_of(result.attn_weights.clone()), value_of(result.lse.clone()),
          value_of(result.scores.clone())};
}

}  // namespace

SavedLayer::SavedLayer(nb::object layer, nb::handle query, nb::handle key,
                       nb::handle value, const nb::kwargs& keywords)
    : owner_(std::move(layer)),
      layer_(nb::cast<const LayerObject&>(owner_)),
      keywords_(keywords),
      options_(std::make_unique<LayerCallOptions>(kForward, keywords,
                                                  Pass::training)),
      tensors_(query, key, value, kForward) {
  with_element_type(tensors_.query(), [&]<class T>(T) {
    const auto q = tensors_.query_view<T>();
    const auto k = tensors_.key_view<T>();
    const auto v = tensors_.value_view<T>();
    auto saved = value_of(layer_.use([&](const MultiHeadAttention& made) {
      return made.forward_for_backward(q, k, v, options_->attention,
                                       options_->layer);
    }));
    result_ = layer_result<T>(copy_of(saved.result()), tensors_, *options_);
    saved_ = std::move(saved);
  });
}

template <class T>
LayerGradients SavedLayer::backward_of(
    MultiHeadAttentionSavedOf<T>& saved, const ArrayArgument& d_output,
    TensorView<const float, 4> d_attn_weights) {
  const bool batched = tensors_.batched();
  const TensorView<const T, 3> of_output =
      batched ? d_output.view<T, 3>("(B, Lq, embed_dim)")
              : as_batch_of_one(d_output.view<T, 2>("(Lq, embed_dim)"));
  auto made = value_of(layer_.use(
      [&](const MultiHeadAttention& layer) {
        return layer.backward(saved, of_output, d_attn_weights);
      },
      &one_at_a_time_));
  const ArrayArgument& like = tensors_.query();
  LayerGradients gradients;
  gradients.params = param_gradients(made);
  gradients.query = layer_array(like, std::move(made.query), batched);
  gradients.key = layer_array(like, std::move(made.key), batched);
  gradients.value = layer_array(like, std::move(made.value), batched);
  gradients.bias = gradient(like, std::move(made.bias));
  gradients.t5_bias = gradient(like, std::move(made.t5_bias));
  gradients.alibi = gradient(like, std::move(made.alibi));
  gradients.sinks = gradient(like, std::move(made.sinks));
  gradients.head_gates = gradient(like, std::move(made.head_gates), batched);
  return gradients;
}

LayerGradients SavedLayer::backward(nb::handle d_output,
                                    nb::handle d_attn_weights) {
  tensors_.expect_in_place();
  options_->expect_in_place();
  const ArrayArgument of_output(d_output, {kBackward, "d_output"});
  std::optional<ArrayArgument> of_weights;
  TensorView<const float, 4> weights;
  if (!d_attn_weights.is_none()) {
    of_weights.emplace(d_attn_weights,
                       ArgumentName{kBackward, "d_attn_weights"});
    constexpr std::string_view kAxes =
        "(B, num_heads, Lq, Lkv) or (num_heads, Lq, Lkv)";
    weights = of_weights->rank() == 3
                  ? as_batch_of_one(of_weights->view<float, 3>(kAxes))
                  : of_weights->view<float, 4>(kAxes);
  }
  return std::visit(
      [&]<class Saved>(Saved& saved) -> LayerGradients {
        if constexpr (std::is_same_v<Saved, std::monostate>) {
          return {};  // a constructor that threw leaves no object
        } else {
          return backward_of(saved, of_output, weights);
        }
      },
      saved_);
}

nb::dict SavedLayer::param_gradients(
    const MultiHeadAttentionParamGradients& gradients) {
  std::map<std::string, std::vector<std::size_t>, std::less<>> shapes;
  for_each_param(
      layer_.params(), [&](std::string_view name, const AnyView& values) {
        const auto extents = values.extents();
        shapes.emplace(name, std::vector(extents.begin(), extents.end()));
      });
  nb::dict dict;
  gradients.for_each([&](std::string_view name, std::span<const float> values) {
    NewArray array(tensors_.query(), DType::float32,
                   shapes.at(std::string(name)));
    std::ranges::copy(values, static_cast<float*>(array.data()));
    dict[nb::str(name.data(), name.size())] = std::move(array).object();
  });
  return dict;
}

void bind_layer_backward(nb::module_& module) {
  nb::class_<LayerGradients>(module, "LayerGradients", nb::is_generic(),
                             nb::sig("class LayerGradients(Generic[_A])"),
                             R"(What SavedLayer.backward() returns.

    query       (B, Lq, query_dim)    in the type of the inputs
    key         (B, Lkv, kdim)
    value       (B, Lkv, vdim)
    params      dict of the parameters' gradients, by name and with their shapes
    bias        (B, H, Lq, Lkv), with extent 1 where it is broadcast
    t5_bias     (buckets, num_heads)
    alibi       (num_heads)
    sinks       (num_heads)
    head_gates  (B, num_heads)

What the call did not have is None. If one tensor was query, key and value, its
gradient is the sum of the three.)")
      .def_ro("query", &LayerGradients::query,
              nb::for_getter(nb::sig("def query(self) -> _A")))
      .def_ro("key", &LayerGradients::key,
              nb::for_getter(nb::sig("def key(self) -> _A")))
      .def_ro("value", &LayerGradients::value,
              nb::for_getter(nb::sig("def value(self) -> _A")))
      .def_ro("params", &LayerGradients::params,
              nb::for_getter(nb::sig("def params(self) -> dict[str, _A]")))
      .def_ro("bias", &LayerGradients::bias,
              nb::for_getter(nb::sig("def bias(self) -> _A | Any")))
      .def_ro("t5_bias", &LayerGradients::t5_bias,
              nb::for_getter(nb::sig("def t5_bias(self) -> Any")))
      .def_ro("alibi", &LayerGradients::alibi,
              nb::for_getter(nb::sig("def alibi(self) -> Any")))
      .def_ro("sinks", &LayerGradients::sinks,
              nb::for_getter(nb::sig("def sinks(self) -> Any")))
      .def_ro("head_gates", &LayerGradients::head_gates,
              nb::for_getter(nb::sig("def head_gates(self) -> Any")))
      .def(State([](LayerGradients& g) {
        return std::tie(g.query, g.key, g.value, g.params, g.bias, g.t5_bias,
                        g.alibi, g.sinks, g.head_gates);
      }))
      .def("__repr__", &text_of_properties);
  nb::class_<SavedLayer>(module, "SavedLayer", nb::is_generic(),
                         nb::sig("class SavedLayer(Generic[_A])"),
                         R"(What MultiHeadAttention.forward_for_backward() keeps
for one backward pass: the layer, and the tensors and options of the call, which
must keep their values until then.)")
      .def(NoState("it belongs to one forward pass; call backward() first"))
      .def("__repr__", &text_of_properties)
      .def_prop_ro("result", &SavedLayer::result,
                   nb::sig("def result(self) -> Any"),
                   "What forward() returns.")
      .def(
          "backward", &SavedLayer::backward, nb::arg("d_output"),
          nb::arg("d_attn_weights") = nb::none(),
          nb::sig("def backward(self, d_output: Array, "
                  "d_attn_weights: Array | None = None) -> LayerGradients[_A]"),
          R"(The gradients of a loss, from its gradients with respect to

    d_output        (B, Lq, embed_dim)       in the type of the inputs
    d_attn_weights  (B, num_heads, Lq, Lkv)  float32; None: 0

Once; after an error it can be called again. Errors: ValueError for shapes, for a
second call, and after set_params().)");
}

}  // namespace headwise::python
