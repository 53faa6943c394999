#include <nanobind/nanobind.h>

#include "bindings.h"
#include "headwise/version.h"

NB_MODULE(_core, module) {
  using namespace headwise::python;
  // A mask in a global variable outlives the interpreter's shutdown; that is no
  // leak of ours.
  nb::set_leak_warnings(false);
  module.doc() = "headwise in C++; use it through the package headwise.";
  module.attr("__version__") = headwise::version();
  bind_executor(module);
  bind_targets(module);
  bind_masks(module);
  bind_alibi(module);
  bind_statistics(module);
  bind_attention(module);
  bind_explain(module);
  bind_attention_plan(module);
  bind_sentence_encoder(module);
  bind_attention_backward(module);
  bind_attention_flow(module);
  bind_kv_cache(module);
  bind_decode_plan(module);
  bind_layer_backward(module);
  bind_layer(module);
  bind_remove_heads(module);
  bind_importance(module);
  bind_mean_interval(module);
  bind_view_page(module);
  bind_safetensors(module);
  bind_tokenizer(module);
  bind_generate(module);
}
