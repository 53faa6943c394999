// Attention over chunks of the keys (split-KV): a call takes the keys that it
// is given and saves the partial result of each row; the next call resumes from
// it. Keys and values may come piece by piece, or lie in several memories or
// machines, and only the state moves.
//
//   part     state     writes
//   all      none      the outputs (default: the call has all keys)
//   first    out       the state
//   middle   in, out   the state
//   last     in        the outputs; the state stays as it is, if it has
//                      memory of its own
//
// The outputs have the bits of one call on all keys, wherever the keys are cut.
// Parts come in the order of the keys: rounding depends on it, so the states of
// two parts cannot be joined.
//
// Every part has the same queries. A part without keys passes the state on. A
// part that is not the last has a multiple of 128 keys, in a ragged batch of
// each sequence: keys are summed in blocks of 128 (docs/arithmetic.md, "Parts
// of the keys").
//
// The options are those of a call on the part's tensors: its first key is key
// 0. With n keys before the part, in a ragged batch of the sequence:
//
//   query_start                n less than in one call; not bottom_right()
//   dense masks, biases,       the columns from n on
//   key_padding, the key ids
//   of documents
//   key_lengths, key_starts    max(number - n, 0), at most the part's Lkv
//   keep_first of a window     max(keep_first - n, 0)
//   dropout.place              first_key n
//   keep masks                 the columns from n on, and as many behind the
//                              part's keys as the call has added keys
//   sinks, added_keys          the same; only the last part takes them
//   everything else            the same
//
// The backward pass also takes parts of the keys: attention/gradient_state.h.
//
// Errors: unsupported for attention weights, scores, statistics and
// EmptyRow::uniform, which need all keys at once, and for caches, GPUs,
// reference_attention() and stepwise_attention(); invalid_argument for
// key_starts that are not multiples of 128.
//
// Example: causal attention of the last 20 of 300 tokens, in parts of 256 and
// 44 keys.
//
//   AttentionState state = {rows, context};  // (B, Hq, 20, 2), (B, 20, Hq, Dv)
//   Status s = attention(q, k_256, v_256, {.state = state},
//                        {.mask = causal(), .query_start = 280},
//                        {.key_part = KeyPart::first});
//   s = attention(q, k_44, v_44, {.output = out, .state = state},
//                 {.mask = causal(), .query_start = 280 - 256},
//                 {.key_part = KeyPart::last});
#pragma once

#include <cstdint>

#include "headwise/base/tensor_view.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// Which part of the keys a call is given.
enum class KeyPart : std::uint8_t { all, first, middle, last };

// What the rows have after some parts of the keys: float32 in every call, with
// any strides. It has memory of its own, or that of what it becomes: the same
// views as the last part's `softmax_rows` and, in float32, `output`. In a
// ragged batch the axes are those of its tensors: (1, Hq, queries, 2) and (1,
// queries, Hq, Dv).
struct AttentionState {
  // (B, Hq, Lq, 2): the maximum of the row's scores times log2 e, and the sum
  // of its exponentials, 0 for a row that has seen no key. As
  // AttentionOutputs::softmax_rows, of the keys so far.
  TensorView<float, 4> softmax_rows{};
  // (B, Lq, Hq, Dv): the weighted values before they are divided by the sum; 0
  // for a row that has seen no key.
  TensorView<float, 4> context{};
};

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
