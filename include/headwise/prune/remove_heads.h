// Heads taken out of a layer: out of its parameters and out of its work.
//
//   w_q  loses the rows of a head          w_o  loses its columns
//   w_k, w_v  lose the rows of a key/value head that no query head reads any
//             more: it goes when its whole group has gone
//   w_score   loses the head's row, in a layer with additive scoring
//
// What is left has the rows, columns and bits that it had; a layer may have
// fewer query heads in one group than in another, and no head at all. So the
// context of a head that stays has the same bits, and the output is that of
// gates of 0 (steps/head_gates.h) but for the order in which w_o sums.
//
// Each query's attention weights sum to 1, so a removed head added w_o b_v of
// its columns to every output whatever it attended to: this part goes into the
// output bias, unless it is not wanted. (To a query with no key it added
// nothing; that difference stays.) One after another gives the bits of all at
// once but for this bias, which is rounded each time.
//
// Dropout draws for a head by its place in the layer: the heads that stay have
// other numbers then.
//
// Errors: out_of_range for a head that is not there; invalid_argument for one
// that is named twice; unsupported for a layer without w_o, for one whose
// values are shared out without w_v and would lose some, and for one that was
// kept for inference alone or has open sizes; out_of_memory.
//
// Source: Michel, Levy & Neubig 2019, arXiv:1905.10650.
//
// Example:
//   MultiHeadAttention pruned = remove_heads(mha, {{1, 4}}).value();
#pragma once

#include <cstddef>
#include <span>

#include "headwise/base/result.h"
#include "headwise/models/bert_encoder.h"
#include "headwise/module/multi_head_attention.h"
#include "headwise/prune/importance.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// What becomes of what a head adds to every output.
enum class ConstantPart { into_bias, dropped };

Result<MultiHeadAttention> remove_heads(
    const MultiHeadAttention& layer, std::span<const std::size_t> heads,
    ConstantPart constant = ConstantPart::into_bias);

// The same of an encoder, which must have been read for training, by the
// numbers that its heads had before any was pruned. Nothing is changed unless
// all can be.
Status remove_heads(BertEncoder& encoder, std::span<const HeadId> heads,
                    ConstantPart constant = ConstantPart::into_bias);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
