// headwise.attention_backward
#include <nanobind/nanobind.h>

#include <array>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "bindings.h"
#include "call_options.h"
#include "call_tensors.h"
#include "error.h"
#include "headwise/attention/backward.h"
#include "headwise/base/any_view.h"
#include "new_array.h"
#include "number_arguments.h"
#include "object_state.h"
#include "object_text.h"
#include "one_at_a_time.h"

namespace headwise::python {
namespace {

constexpr std::string_view kOperation = "attention_backward";

// The gradients by name, in the order of AttentionGradients.
enum class Gradient {
  query,
  key,
  value,
  bias,
  t5_bias,
  alibi,
  score_weight,
  sinks,
  bias_k,
  bias_v
};
constexpr EnumWord<Gradient> kGradientWords[] = {
    {"query", Gradient::query},
    {"key", Gradient::key},
    {"value", Gradient::value},
    {"bias", Gradient::bias},
    {"t5_bias", Gradient::t5_bias},
    {"alibi", Gradient::alibi},
    {"score_weight", Gradient::score_weight},
    {"sinks", Gradient::sinks},
    {"bias_k", Gradient::bias_k},
    {"bias_v", Gradient::bias_v}};
constexpr std::size_t kGradients = std::size(kGradientWords);

template <class T>
using PerGradient = std::array<T, kGradients>;

constexpr std::size_t index_of(Gradient gradient) {
  return static_cast<std::size_t>(gradient);
}

// headwise.AttentionGradients; None for what was not asked for.
struct GradientsObject {
  PerGradient<nb::object> arrays;

  template <Gradient kGradient>
  nb::object get() const {
    return arrays[index_of(kGradient)];
  }
};

PerGradient<bool> wanted_gradients(nb::handle names) {
  PerGradient<bool> wanted{};
  if (names.is_none()) {
    for (const Gradient always :
         {Gradient::query, Gradient::key, Gradient::value}) {
      wanted[index_of(always)] = true;
    }
    return wanted;
  }
  const ArgumentName name{kOperation, "gradients"};
  if (PyUnicode_Check(names.ptr()) || !nb::hasattr(names, "__iter__")) {
    raise_kind(names, {kOperation, "gradients"}, "a sequence of names");
  }
  for (const nb::handle given : names) {
    wanted[index_of(one_of(given, name, kGradientWords))] = true;
  }
  return wanted;
}

// New arrays for the gradients that are wanted.
class NewGradients {
 public:
  NewGradients(const CallTensors& tensors, const CallOptions& options,
               const PerGradient<bool>& wanted)
      : like_(tensors.query()), options_(options), wanted_(wanted) {
    add_like(Gradient::query, tensors.query());
    add_like(Gradient::key, tensors.key());
    add_like(Gradient::value, tensors.value());
    if (options.bias()) {
      add(Gradient::bias, DType::float32, options.bias()->array().extents());
    } else {
      add_floats(Gradient::bias, TensorView<const float, 1>());
    }
    add_floats(Gradient::t5_bias, options.attention.t5_bias.table);
    add_floats(Gradient::alibi, options.attention.alibi);
    add_floats(Gradient::score_weight, options.operation.score_weight);
    add_floats(Gradient::sinks, options.attention.sinks);
    add_floats(Gradient::bias_k, options.operation.added_keys.bias_k);
    add_floats(Gradient::bias_v, options.operation.added_keys.bias_v);
  }

  template <class T>
  AttentionGradientsOf<T> views() const {
    return {.query = of(Gradient::query).view<T, 4>(),
            .key = of(Gradient::key).view<T, 4>(),
            .value = of(Gradient::value).view<T, 4>(),
            .bias = bias_view(),
            .t5_bias = of(Gradient::t5_bias).view<float, 2>(),
            .alibi = of(Gradient::alibi).view<float, 1>(),
            .score_weight = of(Gradient::score_weight).view<float, 2>(),
            .sinks = of(Gradient::sinks).view<float, 1>(),
            .bias_k = of(Gradient::bias_k).view<float, 2>(),
            .bias_v = of(Gradient::bias_v).view<float, 2>()};
  }
  GradientsObject object() && {
    GradientsObject object;
    for (std::size_t n = 0; n < kGradients; ++n) {
      object.arrays[n] = std::move(arrays_[n]).object();
    }
    return object;
  }

 private:
  const NewArray& of(Gradient gradient) const {
    return arrays_[index_of(gradient)];
  }
  void add(Gradient gradient, DType dtype, std::span<const std::size_t> extents,
           AxisOrder order = AxisOrder::rows_first) {
    if (wanted_[index_of(gradient)]) {
      arrays_[index_of(gradient)] = {like_, dtype, extents, order};
    }
  }
  void add_like(Gradient gradient, const ArrayArgument& tensor) {
    add(gradient, tensor.dtype(), tensor.extents(), tensor.order());
  }
  template <std::size_t Rank>
  void add_floats(Gradient gradient, TensorView<const float, Rank> option) {
    if (wanted_[index_of(gradient)] && option.data() == nullptr) {
      raise_value({kOperation, "gradients"},
                  "has '" +
                      std::string(kGradientWords[index_of(gradient)].word) +
                      "', which was not given to the call",
                  "names of what was given");
    }
    add(gradient, DType::float32, option.extents());
  }
  // With the axes of the bias, whatever their order.
  TensorView<float, 4> bias_view() const {
    const NewArray& array = of(Gradient::bias);
    if (!array) {
      return {};
    }
    const auto extents = options_.bias()->array().extents();
    return by_scores(static_cast<float*>(array.data()), extents,
                     row_major(extents), options_.bias()->axes());
  }

  const ArrayArgument& like_;
  const CallOptions& options_;
  PerGradient<bool> wanted_;
  PerGradient<NewArray> arrays_;
};

// What the forward pass returned, and the gradients of that.
class ForwardResults {
 public:
  ForwardResults(nb::handle output, nb::handle softmax_rows,
                 nb::handle d_output, nb::handle d_attn_weights, Graph graph,
                 AxisOrder order)
      : output_(output, {kOperation, "output"}, graph),
        softmax_rows_(softmax_rows, {kOperation, "softmax_rows"}, graph),
        d_output_(d_output, {kOperation, "d_output"}, graph) {
    if (order == AxisOrder::heads_first) {
      output_.put_rows_first("(B, Hq, Lq, Dv)");
      d_output_.put_rows_first("(B, Hq, Lq, Dv)");
    }
    if (!d_attn_weights.is_none()) {
      d_attn_weights_.emplace(
          d_attn_weights, ArgumentName{kOperation, "d_attn_weights"}, graph);
    }
  }

  void expect_on(int gpu) const {
    for (const ArrayArgument* given : {&output_, &softmax_rows_, &d_output_}) {
      given->expect_on(gpu);
    }
    if (d_attn_weights_) {
      d_attn_weights_->expect_on(gpu);
    }
  }
  template <class T>
  BackwardInputsOf<T> inputs(const AttentionInputsOf<T>& tensors,
                             bool batched) const {
    const std::string_view axes = batched ? "(B, Lq, Hq, Dv)" : "(Lq, Hq, Dv)";
    BackwardInputsOf<T> inputs{
        .query = tensors.query,
        .key = tensors.key,
        .value = tensors.value,
        .output = call_view<T>(output_, batched, axes),
        .softmax_rows = call_view<float>(
            softmax_rows_, batched, batched ? "(B, Hq, Lq, 2)" : "(Hq, Lq, 2)"),
        .d_output = call_view<T>(d_output_, batched, axes)};
    if (d_attn_weights_) {
      // Those of a ragged batch have a batch axis even without one in front.
      inputs.d_attn_weights =
          call_view<float>(*d_attn_weights_, d_attn_weights_->rank() == 4,
                           "(B, Hq, Lq, Lkv) or (Hq, Lq, Lkv)");
    }
    return inputs;
  }

 private:
  ArrayArgument output_, softmax_rows_, d_output_;
  std::optional<ArrayArgument> d_attn_weights_;
};

template <Graph kGraph, AxisOrder kOrder>
GradientsObject call_backward(nb::handle query, nb::handle key,
                              nb::handle value, nb::handle output,
                              nb::handle softmax_rows, nb::handle d_output,
                              nb::handle d_attn_weights, nb::handle gradients,
                              const nb::kwargs& keywords) {
  CallOptions options(kOperation, kGraph);
  if constexpr (kGraph == Graph::kept_by_caller) {
    options.read(keywords,
                 {kAttentionOptions, kOperationOptions, kDeviceOptions});
  } else {
    options.read(keywords, {kAttentionOptions, kOperationOptions});
  }
  if (options.operation.key_part != KeyPart::all) {
    raise(Error(ErrorCode::unsupported,
                {.operation = std::string(kOperation),
                 .argument = "key_part",
                 .given = "is given",
                 .expected = "none: only C++ takes the gradients in parts"}));
  }
  const CallTensors tensors(query, key, value, kOperation, kGraph, kOrder);
  const ForwardResults forward(output, softmax_rows, d_output, d_attn_weights,
                               kGraph, kOrder);
  tensors.expect_together(options.on_gpu());
  options.expect_on(tensors.query().gpu());
  forward.expect_on(tensors.query().gpu());
  const PerGradient<bool> wanted = wanted_gradients(gradients);
  return with_element_type(tensors.query(), [&]<class T>(T) {
    const BackwardInputsOf<T> inputs =
        forward.inputs(tensors.views<T>(), tensors.batched());
    NewGradients made(tensors, options, wanted);
    const AttentionGradientsOf<T> views = made.views<T>();
    check(unlocked([&] {
      return attention_backward(inputs, views, options.attention,
                                options.operation);
    }));
    return std::move(made).object();
  });
}

constexpr char kSignature[] =
    "def attention_backward(query: _A, key: Array, value: Array, "
    "output: Array, softmax_rows: Array, d_output: Array, *, "
    "d_attn_weights: Array | None = None, "
    "gradients: Sequence[Gradient] | None = None, "
    "**options: Unpack[CallOptions]) -> AttentionGradients[_A]";

constexpr char kDocumentation[] =
    R"(The gradients of a loss, from its gradient with respect to the output.

    query           (B, Lq, Hq, D)     as given to attention()
    key             (B, Lkv, Hkv, D)
    value           (B, Lkv, Hkv, Dv)
    output          (B, Lq, Hq, Dv)    as attention() returned it
    softmax_rows    (B, Hq, Lq, 2)     as attention(softmax_rows=True) did
    d_output        (B, Lq, Hq, Dv)
    d_attn_weights  as attention() returned the weights; None: 0

    gradients  names of what to compute: "query", "key", "value" (the default)
               and, if the call has them, "bias", "t5_bias", "alibi",
               "score_weight", "sinks", "bias_k", "bias_v"
    options    those of the attention() call, but not lse, softmax_rows, out

Returns AttentionGradients. A gradient has the shape of what it belongs to.

    >>> x = np.ones((1, 6, 2, 8), np.float32)
    >>> saved = headwise.attention(x, x, x, softmax_rows=True)
    >>> headwise.attention_backward(x, x, x, saved.output, saved.softmax_rows, x,
    ...                             gradients=["query", "value"])
    AttentionGradients(query=float32 (1, 6, 2, 8), value=float32 (1, 6, 2, 8))

Errors: those of attention(); also ValueError for statistics and
NotImplementedError for key_part.)";

}  // namespace

void bind_attention_backward(nb::module_& module) {
  nb::class_<GradientsObject> result(
      module, "AttentionGradients", nb::is_generic(),
      nb::sig("class AttentionGradients(Generic[_A])"),
      "What attention_backward() returns, by the names of its arguments; None "
      "for what was not asked for.");
  using enum Gradient;
  result
      .def_prop_ro("query", &GradientsObject::get<query>,
                   nb::sig("def query(self) -> _A | Any"))
      .def_prop_ro("key", &GradientsObject::get<key>,
                   nb::sig("def key(self) -> _A | Any"))
      .def_prop_ro("value", &GradientsObject::get<value>,
                   nb::sig("def value(self) -> _A | Any"))
      .def_prop_ro("bias", &GradientsObject::get<bias>,
                   nb::sig("def bias(self) -> _A | Any"))
      .def_prop_ro("t5_bias", &GradientsObject::get<t5_bias>,
                   nb::sig("def t5_bias(self) -> _A | Any"))
      .def_prop_ro("alibi", &GradientsObject::get<alibi>,
                   nb::sig("def alibi(self) -> Any"))
      .def_prop_ro("score_weight", &GradientsObject::get<score_weight>,
                   nb::sig("def score_weight(self) -> _A | Any"))
      .def_prop_ro("sinks", &GradientsObject::get<sinks>,
                   nb::sig("def sinks(self) -> Any"))
      .def_prop_ro("bias_k", &GradientsObject::get<bias_k>,
                   nb::sig("def bias_k(self) -> Any"))
      .def_prop_ro("bias_v", &GradientsObject::get<bias_v>,
                   nb::sig("def bias_v(self) -> Any"))
      .def(State([](GradientsObject & g) -> auto& { return g.arrays; }))
      .def("__repr__", &text_of_properties);
  const auto define = [&](const char* name, auto call, auto... described) {
    module.def(name, call, nb::arg("query").none(), nb::arg("key").none(),
               nb::arg("value").none(), nb::arg("output").none(),
               nb::arg("softmax_rows").none(), nb::arg("d_output").none(),
               nb::kw_only(), nb::arg("d_attn_weights") = nb::none(),
               nb::arg("gradients") = nb::none(), nb::arg("options"),
               described...);
  };
  define("attention_backward",
         &call_backward<Graph::refused, AxisOrder::rows_first>,
         nb::sig(kSignature), kDocumentation);
  define("torch_attention_backward",
         &call_backward<Graph::kept_by_caller, AxisOrder::heads_first>,
         "attention_backward() of torch tensors (B, H, L, D), for "
         "headwise.torch. softmax_rows and d_attn_weights are those of "
         "attention().");
}

}  // namespace headwise::python
