// Removes heads from a layer, from its parameters and from its work:
//
//   w_q  loses the rows of a head          w_o  loses its columns
//   w_k, w_v  lose the rows of a key/value head once all query heads of its
//             group are removed
//   w_score   loses the head's row, in a layer with additive scoring
//   q_norm, k_norm  lose the head's parameters where each head has its own
//   bias_k, bias_v  lose the features of a key/value head, as w_k and w_v
//
// The remaining rows and columns keep their bits. Groups may then have
// different numbers of query heads, and a layer may have no heads at all. The
// context of a remaining head has the same bits as before, and the output is
// that with gates of 0 (steps/head_gates.h) except for the order of the sums in
// w_o.
//
// Each query's attention weights sum to 1, so a removed head added w_o b_v,
// over its columns, to every output whatever it attended to. By default this
// constant is added to the output bias. (To a fully masked row the head added
// nothing; that difference remains.) Removing heads one after another gives the
// same bits as removing them all at once, except in this bias, which is rounded
// each time.
//
// A layer in bf16 stays in it, and keeps its parameters in float32.
//
// Dropout depends on the position of a head in the layer, so the remaining
// heads get other random numbers.
//
// Errors: out_of_range for a head that does not exist; invalid_argument for one
// that is given twice; unsupported for a layer without w_o, for a layer without
// w_v that would lose a key/value head, for a layer with a norm over the whole
// projection, which the features of a removed head are part of, and for one
// that was kept only for inference or has open sizes; out_of_memory.
//
// Source: Michel, Levy & Neubig 2019, arXiv:1905.10650.
//
// Example:
//   MultiHeadAttention pruned = remove_heads(mha, {{1, 4}}).value();
//   // of a model, whose smaller folder is then written
//   SentenceClassifier model = SentenceClassifier::read("topics").value();
//   std::vector<HeadId> heads = {{0, 3}, {2, 1}};
//   Status s = remove_heads(model.encoder.encoder(), heads);
//   s = write_pruned("topics", "smaller", model.encoder.encoder());
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "headwise/base/result.h"
#include "headwise/base/tensor_view.h"
#include "headwise/models/sentence_encoder.h"
#include "headwise/module/multi_head_attention.h"
#include "headwise/prune/importance.h"
#include "headwise/transformer/transformer.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// What to do with the constant that a removed head added to every output.
enum class ConstantPart { into_bias, dropped };

Result<MultiHeadAttention> remove_heads(
    const MultiHeadAttention& layer, std::span<const std::size_t> heads,
    ConstantPart constant = ConstantPart::into_bias);

// The same for a model; a transformer must have been read for training, and
// its layers without an output bias drop the constant, since its files have no
// place for it. Heads have the numbers from before any pruning. Either all of
// them are removed or nothing changes.
Status remove_heads(Transformer& encoder, std::span<const HeadId> heads,
                    ConstantPart constant = ConstantPart::into_bias);

// Corrects the outputs of a pruned encoder by least squares on at most 256 of
// the texts, evenly spread: more texts change little and take memory. The
// progress counts layers. Errors: those of SentenceEncoder::tokenize().
Status correct_on_texts(Transformer& pruned, const SentenceEncoder& whole,
                        std::span<const std::string_view> texts,
                        const SentenceOptions& options = {});

struct WritePrunedOptions {
  // Removed heads become zeros, so that every layer has all its heads.
  // Otherwise they are gone.
  bool full_size = false;
  bool keep_other_files = false;  // as in ModelChanges
};

// The model of the folder `source` with the attention of `pruned`. Errors:
// those of write_model().
Status write_pruned(const std::string& source, const std::string& folder,
                    const Transformer& pruned,
                    const WritePrunedOptions& options = {});

// The mean cosine similarity of the rows of two matrices, both
// (texts, embedding_size). Errors: shape_mismatch.
Result<double> mean_cosine(TensorView<const float, 2> a,
                           TensorView<const float, 2> b);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
