// What can be done with a pruned sentence encoder: correct its outputs on
// texts, write its folder, and measure how far its embeddings moved.
//
// Example:
//   SentenceClassifier model = SentenceClassifier::read("topics").value();
//   std::vector<HeadId> heads = {{0, 3}, {2, 1}};
//   Status s = remove_heads(model.encoder.encoder(), heads);
//   s = write_pruned("topics", "smaller", model.encoder.encoder());
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "headwise/base/result.h"
#include "headwise/base/tensor_view.h"
#include "headwise/models/bert_encoder.h"
#include "headwise/models/sentence_encoder.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// correct_outputs() on at most 256 of the texts, evenly spread: more texts
// change little and take memory. The progress counts layers. Errors: those of
// correct_outputs() and SentenceEncoder::tokenize().
Status correct_on_texts(BertEncoder& pruned, const SentenceEncoder& whole,
                        std::span<const std::string_view> texts,
                        const SentenceOptions& options = {});

struct WritePrunedOptions {
  // Removed heads become zeros, so that every layer has all its heads
  // (full_size.h). Otherwise they are gone.
  bool full_size = false;
  bool keep_other_files = false;  // as in ModelChanges
};

// The model of the folder `source` with the attention of `pruned`. Errors:
// those of write_model() and full_size_attention().
Status write_pruned(const std::string& source, const std::string& folder,
                    const BertEncoder& pruned,
                    const WritePrunedOptions& options = {});

// The mean cosine similarity of the rows of two matrices, both
// (texts, embedding_size). Errors: shape_mismatch.
Result<double> mean_cosine(TensorView<const float, 2> a,
                           TensorView<const float, 2> b);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
