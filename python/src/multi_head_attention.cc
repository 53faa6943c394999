// headwise.MultiHeadAttention
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <string>

#include "arithmetic_words.h"
#include "bindings.h"
#include "error.h"
#include "headwise/interop/load_attention.h"
#include "layer_backward.h"
#include "layer_config.h"
#include "layer_object.h"
#include "layer_params.h"
#include "named_fields.h"
#include "number_arguments.h"
#include "object_text.h"
#include "one_at_a_time.h"
#include "path_argument.h"
#include "rotary_argument.h"

namespace headwise::python {
namespace {

using Self = nb::handle_t<LayerObject>;

nb::object rotary_of(const nb::kwargs& keywords) {
  return keywords.contains("rotary") ? nb::object(keywords["rotary"])
                                     : nb::none();
}

LayerObject* create(nb::handle seed, const nb::kwargs& keywords) {
  constexpr std::string_view kOperation = "MultiHeadAttention.create";
  NamedFields fields(keywords, kOperation);
  const MultiHeadAttentionConfig config = take_config(fields);
  fields.end();
  const Seed drawn{unsigned_integer(seed, {kOperation, "seed"})};
  return new LayerObject(  // nanobind owns it
      value_of(MultiHeadAttention::create(config, drawn)), rotary_of(keywords));
}

MultiHeadAttention made_from(nb::handle params, const nb::kwargs& keywords) {
  constexpr std::string_view kOperation = "MultiHeadAttention.from_params";
  NamedFields fields(keywords, kOperation);
  HeadCounts counts = take_head_counts(fields);
  Arithmetic arithmetic = Arithmetic::exact;
  take_word(fields, "arithmetic", arithmetic, kArithmetics);
  fields.end();
  auto layer = value_of(MultiHeadAttention::from_params(
      NamedParams(params, kOperation).params(), std::move(counts)));
  check(layer.set_arithmetic(arithmetic));
  return layer;
}

LayerObject* from_params(nb::handle params, const nb::kwargs& keywords) {
  return new LayerObject(  // nanobind owns it
      made_from(params, keywords), rotary_of(keywords));
}

LayerObject* load(nb::handle path, const nb::kwargs& keywords) {
  constexpr std::string_view kOperation = "MultiHeadAttention.load";
  NamedFields fields(keywords, kOperation);
  LoadAttentionOptions options;
  take_size(fields, "layer", options.layer);
  take_text(fields, "layout", options.layout);
  std::string prefix;
  take_text(fields, "prefix", prefix);
  if (!prefix.empty()) {
    options.prefix = std::move(prefix);
  }
  take_size(fields, "num_heads", options.num_heads);
  take_size(fields, "num_kv_heads", options.num_kv_heads);
  take_size(fields, "default_num_heads", options.default_num_heads);
  take_size(fields, "vdim", options.vdim);
  fields.take("qk_norm", options.qk_norm, qk_norm_argument);
  take_boolean(fields, "add_zero_attn", options.add_zero_attn);
  Arithmetic arithmetic = Arithmetic::exact;
  take_word(fields, "arithmetic", arithmetic, kArithmetics);
  std::optional<Rotary> rotary;
  fields.take("rotary", rotary, rotary_argument);
  fields.end();
  const std::string file = path_argument(path, {kOperation, "path"});
  auto read = unlocked([&]() -> Result<MultiHeadAttention> {
    auto layer = load_attention(file, options);
    HEADWISE_TRY(layer);
    HEADWISE_TRY(layer->set_rotary(std::move(rotary)));
    HEADWISE_TRY(layer->set_arithmetic(arithmetic));
    return layer;
  });
  return new LayerObject(  // nanobind owns it
      value_of(std::move(read)), rotary_of(keywords));
}

// Views of the layer's memory, which keep it alive.
nb::object params_of(Self self) {
  nb::dict dict;
  for_each_param(nb::cast<LayerObject&>(self).params(),
                 [&](std::string_view name, const AnyView& values) {
                   const nb::ndarray<nb::numpy, const float> array(
                       static_cast<const float*>(values.data()), values.rank(),
                       values.extents().data(), self);
                   dict[nb::str(name.data(), name.size())] = nb::cast(array);
                 });
  // An array that is put into a dict would change no parameter.
  return nb::steal(PyDictProxy_New(dict.ptr()));
}

// The arguments of from_params().
nb::tuple state_of(Self self) {
  const auto& layer = nb::cast<const LayerObject&>(self);
  const nb::dict config = config_dict(layer.config());
  nb::dict heads;
  for (const char* name : {"num_heads", "num_kv_heads", "head_dim", "dropout",
                           "qk_norm", "add_zero_attn", "arithmetic"}) {
    heads[name] = config[name];
  }
  if (!layer.config().kv_group_sizes.empty()) {
    heads["kv_group_sizes"] = config["kv_group_sizes"];
  }
  if (!layer.config().value_proj) {
    heads["vdim"] = config["vdim"];
  }
  heads["rotary"] = layer.rotary();
  return nb::make_tuple(params_of(self).attr("copy")(), heads);
}

void set_state(LayerObject& self, const nb::tuple& state) {
  const nb::kwargs heads(nb::borrow<nb::kwargs>(state[1]));
  new (&self) LayerObject(made_from(state[0], heads), rotary_of(heads));
}

constexpr char kForward[] =
    "(self, query: Array, key: Array | None = None, "
    "value: Array | None = None, **options: Any) -> Array | AttentionResult";

constexpr char kForwardDocumentation[] =
    R"(Project, split into heads, attend, merge, project.

    query         (B, Lq, query_dim)    or (Lq, query_dim) etc., unbatched
    key           (B, Lkv, kdim)        None: query
    value         (B, Lkv, vdim)        None: key
    output        (B, Lq, embed_dim)    num_heads * v_head_dim if not out_proj
    attn_weights  (B, num_heads, Lq, Lkv)
    lse           (B, num_heads, Lq)

float32, bfloat16 or float16. Options are those of attention(): mask, scale,
bias, softcap, dropout, attn_weights, scores, offsets, executor, ..., and

    head_gates       (num_heads)      float32: a factor on each head's context
    query_positions  (B, Lq)          of a layer with rotary positions; None:
    key_positions    (B, Lkv)         row numbers
    lse              True: also return the log-sum-exp of each row
    cache            a KvCache: query, key and value are the new tokens of its
    sequences        sequences (B), which see what these hold; give
                     mask=causal()
    out              an array for the output; nothing else is returned

A ragged batch is (1, rows, E). Returns the output, or an AttentionResult if more
was asked for. Errors: those of attention(); ValueError while a size is open.)";

// The arguments of create() that are no defaults.
nb::str text_of(Self self) {
  const nb::dict defaults = config_dict({});
  nb::dict given;
  for (const auto& [name, value] :
       config_dict(nb::cast<LayerObject&>(self).config())) {
    if (!value.equal(defaults[name])) {
      given[name] = value;
    }
  }
  return object_text(self, given);
}

constexpr char kCreateDocumentation[] =
    R"(Draws parameters with the distribution of torch.nn.Linear.

    embed_dim       size of the output
    num_heads
    seed            the same numbers on every machine
    num_kv_heads    None: num_heads, or as many as there are groups
    kv_group_sizes  how many query heads read each key head; None: evenly
    dropout         on the attention weights, in training; default 0
    bias            in all four projections; default True
    query_dim, kdim, vdim   None: embed_dim; "open": fix_sizes() sets it
    head_dim        None: embed_dim / num_heads
    v_head_dim      None: head_dim
    out_proj, value_proj    default True
    scoring         "dot" (default) or "additive"
    qk_norm         {"kind": "rms" or "layer", "eps": 1e-6, "over": "head",
                    "each_head" or "projection", "plus_one": False,
                    "bias": False}
    rotary          {"rotary_dim": 64, "base": 10000, "layout": "halves" or
                    "interleaved", "scaling": {"kind": "linear", "ntk", "yarn" or
                    "llama3", "factor": 4, ...}}, or tables "cos" and "sin",
                    (positions, rotary_dim / 2)
    add_bias_kv, add_zero_attn   default False
    arithmetic      "exact" (default), or "bf16": projections and attention
                    multiply numbers rounded to bfloat16

Errors: ValueError for sizes that do not fit.)";

}  // namespace

void bind_layer(nb::module_& module) {
  // Python reads them as long as it runs.
  static const std::string forward = std::string("def forward") + kForward;
  static const std::string call = std::string("def __call__") + kForward;
  nb::class_<LayerObject>(module, "MultiHeadAttention",
                          R"(The layer with its projections.

    >>> layer = headwise.MultiHeadAttention.create(embed_dim=64, num_heads=8, seed=7)
    >>> x = np.ones((2, 5, 64), np.float32)
    >>> layer(x, mask=headwise.causal()).shape
    (2, 5, 64)
    >>> saved = layer.forward_for_backward(x)
    >>> gradients = saved.backward(np.ones_like(x))
    >>> layer.set_params({name: layer.params[name] - 0.01 * gradient
    ...                   for name, gradient in gradients.params.items()})

    w_q.weight  (num_heads * head_dim, query_dim)     w_q.bias  (out features)
    w_k.weight  (num_kv_heads * head_dim, kdim)       w_k.bias
    w_v.weight  (num_kv_heads * v_head_dim, vdim)     w_v.bias
    w_o.weight  (embed_dim, num_heads * v_head_dim)   w_o.bias
    w_score.weight  (num_heads, head_dim)             additive scoring only
    q_norm.weight, q_norm.bias, k_norm.weight, k_norm.bias   with qk_norm
    bias_k  (num_kv_heads * head_dim)   bias_v  (num_kv_heads * v_head_dim)

Calls may be in several threads at once.)")
      .def_static("create", &create, nb::kw_only(), nb::arg("seed") = 0,
                  nb::arg("config"),
                  nb::sig("def create(*, embed_dim: int, num_heads: int, "
                          "seed: int = 0, **config: Unpack[LayerConfig]) "
                          "-> MultiHeadAttention"),
                  kCreateDocumentation)
      .def_static(
          "from_params", &from_params, nb::arg("params"), nb::arg("heads"),
          nb::sig("def from_params(params: Mapping[str, Array], *, "
                  "num_heads: int, num_kv_heads: int | None = None, "
                  "kv_group_sizes: Integers | None = None, "
                  "vdim: int | None = None, head_dim: int | None = None, "
                  "dropout: float = 0.0, qk_norm: QkNorm | None = None, "
                  "rotary: Rotary | None = None, "
                  "add_zero_attn: bool = False, "
                  "arithmetic: Arithmetic = 'exact') -> MultiHeadAttention"),
          "A layer with a copy of these parameters, float32, bfloat16 or "
          "float16; sizes come from them. vdim: of a layer without w_v. "
          "Errors: ValueError for shapes that do not fit, TypeError for "
          "unknown names.")
      .def_static(
          "load", &load, nb::arg("path"), nb::arg("options"),
          nb::sig("def load(path: str | PathLike[str], *, "
                  "layer: int | None = None, layout: str | None = None, "
                  "prefix: str | None = None, "
                  "num_heads: int | None = None, "
                  "num_kv_heads: int | None = None, "
                  "default_num_heads: int | None = None, "
                  "vdim: int | None = None, "
                  "qk_norm: QkNorm | None = None, "
                  "rotary: Rotary | None = None, "
                  "add_zero_attn: bool = False, "
                  "arithmetic: Arithmetic = 'exact') -> MultiHeadAttention"),
          "A layer of a .safetensors, its index, a .npz or a folder of .npy, "
          "in "
          "any layout that `headwise convert` knows. `layer` is its number in "
          "a "
          "file of several, `prefix` the beginning of what its names begin "
          "with. Errors: OSError; ValueError for a file without a "
          "layer, or does not say how many heads it has.")
      .def(
          "save", &LayerObject::save, nb::arg("path"),
          nb::sig("def save(self, path: str | PathLike[str]) -> None"),
          "Writes the parameters and the number of heads to a .safetensors, or "
          "else a .npz, whole or not at all. load() reads them; rotary and "
          "qk_norm are not in the file. Errors: OSError; NotImplementedError "
          "for a layer with kv_group_sizes.")
      .def("forward", &LayerObject::forward, nb::arg("query").none(),
           nb::arg("key") = nb::none(), nb::arg("value") = nb::none(),
           nb::arg("options"), nb::sig(forward.c_str()), kForwardDocumentation)
      .def("__call__", &LayerObject::forward, nb::arg("query").none(),
           nb::arg("key") = nb::none(), nb::arg("value") = nb::none(),
           nb::arg("options"), nb::sig(call.c_str()), "forward()")
      .def("__getstate__", &state_of)
      .def("__setstate__", &set_state)
      .def("__repr__", &text_of)
      .def(
          "forward_for_backward",
          [](Self self, nb::handle query, nb::handle key, nb::handle value,
             const nb::kwargs& options) {
            return new SavedLayer(  // nanobind owns it
                nb::borrow(self), query, key, value, options);
          },
          nb::arg("query").none(), nb::arg("key") = nb::none(),
          nb::arg("value") = nb::none(), nb::arg("options"),
          nb::sig("def forward_for_backward(self, query: _A, "
                  "key: Array | None = None, value: Array | None = None, "
                  "**options: Unpack[TrainingOptions]) -> SavedLayer[_A]"),
          "The forward pass of training: forward() but cache, sequences and "
          "out. "
          "Dropout needs dropout={\"training\": True, \"step\": n}, n the "
          "number of the training step; ValueError without.")
      .def("fix_sizes", &LayerObject::fix_sizes, nb::arg("sizes"),
           nb::sig("def fix_sizes(self, *, query_dim: int | None = None, "
                   "kdim: int | None = None, vdim: int | None = None) -> None"),
           "Sets the input sizes that are still open and draws the parameters. "
           "Errors: ValueError for a size that is missing or differs.")
      .def("set_rotary", &LayerObject::set_rotary, nb::arg("rotary").none(),
           nb::sig("def set_rotary(self, rotary: Rotary | None) -> "
                   "None"),
           "From now on queries and keys are rotated in this way, or, with "
           "None, no longer. Errors: ValueError for a rotary_dim above "
           "head_dim.")
      .def(
          "set_params", &LayerObject::set_params, nb::arg("params"),
          nb::sig("def set_params(self, params: Mapping[str, Array]) -> None"),
          "Copies arrays of float32, bfloat16 or float16 into the parameters "
          "of these names; the other parameters stay. Waits for calls that "
          "run. Errors, after which nothing has changed: ValueError for a name "
          "that the layer does not have, and for other shapes.")
      .def("share_memory_with", &LayerObject::share_memory_with,
           nb::arg("other"),
           nb::sig("def share_memory_with(self, other: MultiHeadAttention) -> "
                   "None"),
           "A layer keeps the memory of its calls for later ones. From now on "
           "both use what `other` keeps: layers that run one after another "
           "need it only once. Waits for calls that run.")
      .def_prop_ro(
          "params", &params_of,
          nb::sig("def params(self) -> Mapping[str, NDArray[numpy.float32]]"),
          "The parameters by name: NumPy's views of the layer's "
          "memory, read-only; set_params() changes them. Errors: "
          "ValueError while a size is open.")
      .def_prop_ro(
          "config",
          [](const LayerObject& layer) { return config_dict(layer.config()); },
          nb::sig("def config(self) -> dict[str, Any]"),
          "The arguments of create() with every size filled in; rotary: "
          "whether there is one.");
}

}  // namespace headwise::python
