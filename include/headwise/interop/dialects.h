// What attention means in other libraries, as data. A dialect says how a
// library reads masks and what it does where libraries differ; read_mask()
// (interop/dialect_mask.h) and apply_dialect() turn it into the options of a
// call. The kernels do not know dialects. docs/dialects.md has the tables of
// their rules.
//
//   torch-mha        torch.nn.MultiheadAttention, PyTorch 2.15
//   torch-sdpa       torch.nn.functional.scaled_dot_product_attention
//   keras            keras.layers.MultiHeadAttention, Keras 3.15
//   jax              jax.nn.dot_product_attention, jax 0.10
//   flax             flax.linen and flax.nnx, flax 0.12
//   onnx-1.23        ONNX Attention as of onnx 1.23
//   onnx-1.21        the same up to onnx 1.21
//   ort-contrib      ONNX Runtime's com.microsoft.MultiHeadAttention
//   flash-attention  FlashAttention 2.1 and newer
//   transformers     eager attention of Hugging Face transformers
//   d2l              the layer of the book Dive into Deep Learning
//   fill-1e12        tutorial code with masked_fill(mask == 0, -1e12)
//   fill-1e10        tutorial code with masked_fill(mask == 0, -1e10)
//
// Example:
//   const Dialect* torch = find_dialect("torch-mha");
//   auto mask = read_mask(*torch, array, {B, Hq, Lq, Lkv}).value();
//   AttentionOptions options = {.mask = mask.mask(), .bias = mask.bias()};
//   apply_dialect(*torch, {.returns_weights = true}, options);
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "headwise/attention/spec.h"
#include "headwise/steps/named_axes.h"
#include "headwise/steps/softmax.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// What the elements of a mask mean.
enum class MaskReading : std::uint8_t {
  refused,  // the library takes no mask of this type
  attends,  // 1 = may attend, 0 = masked
  masks,    // 1 = masked, 0 = may attend
  added,    // a number that is added to the scores
  lengths,  // how many keys, from the first, may be attended to
};

// A mask of one rank.
struct MaskForm {
  std::size_t rank = 0;
  std::array<Axis, 4> axes{};  // the first `rank` of them
  MaskReading bools = MaskReading::refused;
  MaskReading integers = MaskReading::refused;
  MaskReading floats = MaskReading::refused;
  bool heads_in_batch = false;  // the first axis is B * H
  bool unbatched = false;       // only if the tensors have no batch axis
};

// Where the diagonal of a causal mask is.
enum class CausalAlignment : std::uint8_t {
  top_left,      // query 0 sees key 0
  bottom_right,  // the last query sees the last key
  after_cache,   // query 0 sees the past keys and the next one
};

enum class MaskFill : std::uint8_t {
  infinite,  // masked scores are -inf
  replaced,  // masked scores become a finite number
  added,     // a finite number is added to masked scores
};

enum class SoftcapOrder : std::uint8_t { before_mask, after_mask };
enum class TensorLayout : std::uint8_t { bhld, blhd };

struct Dialect {
  std::string_view name;
  std::span<const MaskForm> masks{};  // by rank; empty: it takes no mask
  bool broadcasts = true;             // axes of extent 1 are broadcast
  bool pads_short_masks = false;      // missing last keys are masked
  // Of a (B, Lkv) padding mask of bools or integers, and of floats.
  MaskReading key_padding = MaskReading::attends;
  MaskReading float_key_padding = MaskReading::refused;
  bool mask_excludes_causal = false;  // a call has one or the other
  CausalAlignment causal = CausalAlignment::top_left;
  MaskFill fill = MaskFill::infinite;
  double fill_value = 0;  // of a finite fill, for float32 scores
  // What a fully masked row gives, depending on what the call asks for.
  EmptyRow empty_rows = EmptyRow::zero;
  EmptyRow empty_rows_with_weights = EmptyRow::zero;
  EmptyRow empty_rows_with_dropout = EmptyRow::zero;
  // Whether a row of -inf in a mask that is added gives NaN instead, in a
  // library with a finite fill.
  bool minus_inf_gives_nan = false;
  // Whether returned attention weights include dropout.
  bool weights_after_dropout = false;
  bool averages_heads = false;  // of returned attention weights
  bool scale_is_fixed = false;  // at 1/sqrt(D); otherwise that is the default
  SoftcapOrder softcap = SoftcapOrder::before_mask;
  TensorLayout layout = TensorLayout::bhld;  // of tensors with heads
};

// Every dialect, in the order of the table above.
std::span<const Dialect> dialects();
// Null if no dialect has this name.
const Dialect* find_dialect(std::string_view name);

// What a call asks of a dialect.
struct DialectCall {
  bool returns_weights = false;
  bool dropout = false;
  bool adds_mask = false;       // a mask is added to the scores
  std::size_t past_length = 0;  // number of keys before those of the queries
};

// The position of query 0 among the keys under a causal mask.
QueryStart causal_start(const Dialect& dialect, std::size_t past_length = 0);

// Sets query_start, empty_rows and, where the call returns attention weights,
// their form. All other options stay as they are.
void apply_dialect(const Dialect& dialect, const DialectCall& call,
                   AttentionOptions& options);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
