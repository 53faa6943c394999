// The backward pass in parts: each call goes on from the sums that the call
// before left and leaves its own. So several machines can each do a part, and
// only the sums move. There are two passes:
//
//   pass         in parts of   gradients and state
//   key_part     the keys      query, alibi, sinks
//   query_part   the queries   key, value
//
//   part     state     writes
//   all      none      the gradients (default: the call has all)
//   first    out       the state
//   middle   in, out   the state
//   last     in        the gradients; the state of query, key and value stays
//                      as it is, if it has memory of its own
//
// The gradients have the bits of one call, wherever it is cut. Parts come in
// order: rounding depends on it, so the states of two parts cannot be joined.
// A part without keys or queries passes the state on.
//
// Parts of the keys (attention/state.h says how they are cut, and what their
// options are): every part has all queries, and everything that belongs to
// them. The saved output and softmax_rows are those of all keys. d_alibi is
// wanted in all parts or in none: where it is, the parts have a state.alibi.
//
// Parts of the queries: every part has the same keys and values. query, output,
// softmax_rows and d_output are those of the part, and the options those of a
// call on its tensors. With n queries before the part, in a ragged batch of the
// sequence:
//
//   query_start                n more than in one call; not bottom_right()
//   dense masks, biases,       the rows from n on
//   keep masks, key_lengths
//   by row, the query ids of
//   documents
//   everything else            the same
//
// A part ends after a multiple of 48 queries, in a ragged batch of each
// sequence, or with the last query of a head: queries are summed in blocks of
// 48 (docs/arithmetic.md, "Parts of the queries"). The library cannot check
// this. A part that ends elsewhere changes the bits, without an error.
//
// The gradient of a key goes through the query heads of its group one after
// another. So where several query heads read a key head, each call has one of
// them, or all queries of some: the first part is the first one of the group's
// first head, the last part the last one of its last head. A view of every
// G-th head, with what the options have of those heads, is such a call for all
// groups of G heads at once.
//
// A call may have only some of the keys: a machine that owns some of them
// processes all queries against those, with the options of a part of the keys
// and without added keys.
//
// Errors: unsupported for a call with both kinds of part, for any other
// gradient than those above, for attention weights, returned scores and
// EmptyRow::uniform, on GPUs and in reference_attention_backward();
// invalid_argument for key_starts that are not multiples of 128 in a part of
// the keys.
//
// Example: d_key and d_value of 100 causal tokens, in parts of 48 and 52
// queries.
//
//   GradientState state = {.key = k_sums, .value = v_sums};  // as key, value
//   Status s = attention_backward(
//       {q_48, k, v, out_48, rows_48, d_out_48}, {.state = state},
//       {.mask = causal()}, {.query_part = QueryPart::first});
//   s = attention_backward(
//       {q_52, k, v, out_52, rows_52, d_out_52},
//       {.key = d_k, .value = d_v, .state = state},
//       {.mask = causal(), .query_start = 48},
//       {.query_part = QueryPart::last});
#pragma once

#include <cstdint>

#include "headwise/base/tensor_view.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// Which part of the queries a backward call is given.
enum class QueryPart : std::uint8_t { all, first, middle, last };

// The sums of the parts so far, before they are scaled: float32 in every call,
// with any strides. They have memory of their own, or, in float32, those of the
// query, the key and the value are the same views as the last part's gradients.
// In a ragged batch the axes are those of its tensors: (1, queries, Hq, D) and
// so on.
struct GradientState {
  TensorView<float, 4> query{};  // (B, Lq, Hq, D), of a part of the keys
  TensorView<float, 4> key{};    // (B, Lkv, Hkv, D), of a part of the queries
  TensorView<float, 4> value{};  // (B, Lkv, Hkv, Dv), likewise
  // (B, Hq, Lq), of a part of the keys or a call with all keys: what each row
  // adds to d_alibi, where that is wanted. The last part also writes it, so
  // that callers that each have some rows can collect these numbers and add
  // them up in the order of sequences and rows.
  TensorView<float, 3> alibi{};
  // The same for d_sinks. These numbers need no keys: only the last part has
  // them, and it does not read them.
  TensorView<float, 3> sinks{};
  // (as the gradient of the bias), of a call with all keys and queries. It is
  // read: d_bias starts from these sums instead of 0. So callers that each have
  // some heads of a bias that is broadcast over the heads can add to it one
  // after another, sequence by sequence.
  TensorView<const float, 4> bias{};
};

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
