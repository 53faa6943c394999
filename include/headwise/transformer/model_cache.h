// What a decoder keeps of the tokens so far: the keys and values of every
// layer, and of an encoder-decoder those of what its encoder read. A pass over
// the next tokens (ModelPass::cache) computes these alone.
//
//   begin()   adds sequences; an encoder-decoder reads its encoder's tokens
//   hidden()  with the cache: adds tokens to sequences (transformer.h)
//   erase()   ends a sequence
//
// A row has the bits of a pass over all tokens of its sequence at once,
// whatever the chunks in which they came and the other sequences; a sequence
// whose tokens were evicted, those of attention to what is left
// (decode/kv_cache.h).
//
// Where the length of a sequence decides on the frequencies of its rotation
// (dynamic, longrope), they change while it grows, and all its keys with them:
// then begin anew, with the length that is expected.
//
// One pass at a time may use a cache; the model must outlive it.
//
// Example:
//   Transformer model = Transformer::read("model").value();
//   ModelCache cache = ModelCache::create(model, {.max_tokens = 512}).value();
//   SequenceId id = cache.begin().value();
//   RaggedTokens prompt = {{1, 450, 4996}};
//   Tensor<float, 2> hidden =
//       model.hidden(prompt, {.cache = &cache, .sequences = {&id, 1}}).value();
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "headwise/base/dtype.h"
#include "headwise/base/hidden.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/decode/kv_cache.h"
#include "headwise/run/executor.h"
#include "headwise/steps/tokens.h"
#include "headwise/transformer/model_pass.h"
#include "headwise/transformer/transformer.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

struct ModelCacheOptions {
  std::size_t max_tokens = 0;  // over all sequences
  std::size_t max_sequences = 1;
  DType dtype = DType::float32;  // of stored keys and values
  // Sums the attention that each token receives (KvCacheOptions).
  bool sums_received = false;
};

class ModelCache {
 public:
  // Errors: those of KvCache::create(); unsupported for a model that is no
  // decoder.
  static Result<ModelCache> create(const Transformer& model,
                                   const ModelCacheOptions& options);

  // A sequence without tokens. With a length above 0 it rotates as one of that
  // length until it is longer. Errors: out_of_range if there are max_sequences
  // already; invalid_argument for an encoder-decoder.
  Result<SequenceId> begin(std::size_t length = 0);
  // Of an encoder-decoder, whose encoder reads these ids, with the hooks of
  // `pass` and what it sees. Errors: also those of Transformer::hidden().
  Result<SequenceId> begin(std::span<const TokenId> encoder_ids,
                           const ModelPass& pass = {});
  // Errors, here and below: out_of_range for a sequence that does not exist.
  Status erase(SequenceId id);

  // The tokens that the sequence was given, also those that were evicted.
  Result<std::size_t> length(SequenceId id) const;
  // Those that its encoder read.
  Result<std::size_t> encoder_length(SequenceId id) const;
  // Whether its rotation is another once it has this length.
  Result<bool> rotates_anew(SequenceId id, std::size_t length) const;

  // Keeps in each layer `count` tokens of those that it has: the last
  // count / 2, and of the others those that received most attention, summed
  // over the heads. Errors: unsupported where received attention is not summed,
  // and for a sequence whose rotation depends on its length.
  Status keep_most_received(SequenceId id, std::size_t count);
  // Which tokens of the sequence a layer holds, ascending.
  Result<std::vector<std::int64_t>> held(SequenceId id,
                                         std::size_t layer) const;
  // What they received of the decoder's queries so far, (heads, tokens held).
  // Errors: unsupported, as above.
  Result<Tensor<float, 2>> received(SequenceId id, std::size_t layer) const;

  struct HEADWISE_HIDDEN State;

 private:
  friend class Transformer;
  explicit ModelCache(Hidden<State> state) : state_(std::move(state)) {}

  Hidden<State> state_;
};

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
