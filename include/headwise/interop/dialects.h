// What attention means in other libraries, as data. A dialect says how a
// library reads masks and what it does where libraries differ; read_mask() and
// apply_dialect() turn it into the options of a call. The kernels do not know
// dialects. docs/dialects.md has the tables of their rules.
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
#include <optional>
#include <span>
#include <string_view>

#include "headwise/attention/spec.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/interop/array.h"
#include "headwise/steps/bias.h"
#include "headwise/steps/mask.h"
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
inline QueryStart causal_start(const Dialect& dialect,
                               std::size_t past_length = 0) {
  switch (dialect.causal) {
    case CausalAlignment::top_left:
      return {};
    case CausalAlignment::bottom_right:
      return QueryStart::bottom_right();
    case CausalAlignment::after_cache:
      return static_cast<std::int64_t>(past_length);
  }
  return {};
}

// Sets query_start, empty_rows and, where the call returns attention weights,
// their form. All other options stay as they are.
void apply_dialect(const Dialect& dialect, const DialectCall& call,
                   AttentionOptions& options);

// Reads a mask of another library as a mask or a bias of headwise:
//
//   bool, int    nonzero = may attend, or masked (PyTorch's
//                MultiheadAttention), or lengths (d2l)
//   float        added to the scores; -inf masks
//
// A rank-3 mask is (B * H, Lq, Lkv), (H, Lq, Lkv) or (B, Lq, Lkv), as the
// dialect says. Numbers below -2e38 are read as -2e38, so they stay finite: a
// row of them attends to all keys equally, a row of -inf to none. A small added
// fill, such as ONNX Runtime's -1e4, becomes a bias.

// The sizes of the call that the mask belongs to.
struct MaskSizes {
  std::size_t B = 1;
  std::size_t Hq = 1;
  std::size_t Lq = 0;
  std::size_t Lkv = 0;
  bool batched = true;  // whether the tensors have a batch axis
};

// A mask or a bias, over these axes. The views of mask() and bias() point into
// this object, which must outlive the call.
struct DialectMask {
  std::optional<Tensor<bool, 1>> allowed{};
  std::optional<Tensor<float, 1>> added{};
  NamedAxes axes{};

  Mask mask() const { return allowed ? dense(allowed->data(), axes) : Mask(); }
  Bias bias() const { return added ? dense(added->data(), axes) : Bias(); }
};

// Errors, about the argument "mask": shape_mismatch for a rank or a size that
// the dialect does not take, invalid_argument for a type that it does not take,
// unsupported for a dialect without masks, out_of_memory.
Result<DialectMask> read_mask(const Dialect& dialect, const Array& mask,
                              const MaskSizes& sizes);

// A key padding mask, (B, Lkv), bool or integers, or floats where the library
// takes them; without a batch axis also (Lkv). Errors: the same, about
// "mask.key_padding".
Result<DialectMask> read_key_padding(const Dialect& dialect, const Array& mask,
                                     const MaskSizes& sizes);

// The sum of two masks that are added to the scores, over (B, H, Lq, Lkv).
// Errors: out_of_memory.
Result<DialectMask> sum_of(const DialectMask& a, const DialectMask& b,
                           const MaskSizes& sizes);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
