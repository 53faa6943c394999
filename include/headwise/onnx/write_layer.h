// A layer of multi-head attention as an ONNX model of opset 23, which ONNX
// Runtime runs.
//
//   query      (batch, length, query_dim)    in   float32
//   key        (batch, key_length, kdim)     in   with `.cross_attention`
//   value      (batch, key_length, vdim)     in   with `.cross_attention`
//   attn_mask  (mask_batch, mask_heads, length, key_length)   in   with `.mask`
//   position_ids      (batch, length)        in   int64, of a layer with
//   key_position_ids  (batch, key_length)         rotary positions
//   output     (batch, length, embed_dim)    out  float32
//
// Batch and lengths are dynamic. In self-attention key_length is length, and
// key, value and key_position_ids are left out. mask_batch is 1 or the batch
// size, mask_heads 1 or the number of query heads.
//
// The graph: MatMul and Add for each projection, RMSNormalization or
// LayerNormalization for qk_norm, RotaryEmbedding, Attention. Key heads shared
// by groups of different sizes are repeated for each query head. Dropout is
// left out. The graph computes in float32, also for a layer in bf16, whose
// parameters are float32.
//
// Example:
//   auto layer = load_attention("model.safetensors", {.layer = 3}).value();
//   Status s = write_onnx_layer("layer3.onnx", layer, {.causal = true});
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "headwise/base/result.h"
#include "headwise/module/multi_head_attention.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

enum class OnnxMask {
  none,
  boolean,  // true: the query may attend to the key
  added,    // float32, added to the scores
};

struct OnnxLayerOptions {
  // Keys and values are inputs of their own; always so in a layer whose inputs
  // differ in size.
  bool cross_attention = false;
  bool causal = false;  // query i attends to keys 0 to i
  OnnxMask mask = OnnxMask::none;
  std::optional<double> scale{};    // as AttentionOptions::scale
  std::optional<double> softcap{};  // as AttentionOptions::softcap
  // Rotary positions are 0 to this number minus 1. At most as many as the
  // layer has.
  std::size_t positions = 2048;
};

// Replaces the file as a whole or not at all. Errors: unsupported for a layer
// that opset 23 cannot express (additive scoring, added keys, no heads and no
// output projection), for one of 2 GiB or more, and in a build without ONNX;
// invalid_argument for an open input size, for a layer of
// Linear::for_inference and for a scale or softcap out of its range; io_error;
// out_of_memory.
Status write_onnx_layer(const std::string& path,
                        const MultiHeadAttention& layer,
                        const OnnxLayerOptions& options = {});

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
