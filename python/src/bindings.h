// What headwise._core consists of, in the order in which it is registered
// (module.cc). Each function is in the file that its comment names.
#pragma once

#include <nanobind/nanobind.h>

namespace headwise::python {

namespace nb = nanobind;

void bind_executor(nb::module_& module);            // executor_object.cc
void bind_targets(nb::module_& module);             // targets.cc
void bind_masks(nb::module_& module);               // mask_object.cc
void bind_alibi(nb::module_& module);               // alibi.cc
void bind_statistics(nb::module_& module);          // statistics_object.cc
void bind_attention(nb::module_& module);           // attention.cc
void bind_explain(nb::module_& module);             // explain.cc
void bind_attention_plan(nb::module_& module);      // attention_plan.cc
void bind_sentence_encoder(nb::module_& module);    // sentence_encoder.cc
void bind_attention_backward(nb::module_& module);  // attention_backward.cc
void bind_attention_flow(nb::module_& module);      // attention_flow.cc
void bind_kv_cache(nb::module_& module);            // kv_cache_object.cc
void bind_decode_plan(nb::module_& module);         // decode_plan.cc
void bind_layer_backward(nb::module_& module);      // layer_backward.cc
void bind_layer(nb::module_& module);               // multi_head_attention.cc
void bind_remove_heads(nb::module_& module);        // remove_heads.cc
void bind_importance(nb::module_& module);          // importance.cc
void bind_mean_interval(nb::module_& module);       // mean_interval.cc
void bind_view_page(nb::module_& module);           // view_page.cc
void bind_safetensors(nb::module_& module);         // safetensors.cc
void bind_tokenizer(nb::module_& module);           // tokenizer_object.cc
void bind_generate(nb::module_& module);            // generate.cc

}  // namespace headwise::python
