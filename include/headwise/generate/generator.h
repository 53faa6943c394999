// Generates tokens with a decoder, one for each running sequence in a step:
//
//   add()   a request: a prompt, and when to end
//   step()  the next token of every request that there is room for
//
// Requests may be added at any time; those for which the cache has no room
// wait. A request's tokens, logits and weights have the same bits whatever the
// others are, when it came, the chunks of its prompt and the threads.
//
// Row n of the attention weights of a head is that of the query that chose
// generated token n: of the last token of the prompt, then of each generated
// token.
//
// Example:
//   Transformer model = Transformer::read("model").value();
//   Generator generator = Generator::create(model, {.max_tokens =
//   512}).value(); std::size_t request = generator.add({.prompt = {1, 450,
//   4996}}).value(); while (!generator.done()) {
//     Status s = generator.step([&](const GeneratedToken& token) {
//       std::cout << token.id << "\n";
//       return token.id != 13;  // false ends the request
//     });
//   }
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "headwise/base/dtype.h"
#include "headwise/base/function_ref.h"
#include "headwise/base/hidden.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/generate/sampling.h"
#include "headwise/run/executor.h"
#include "headwise/steps/head_gates.h"
#include "headwise/steps/tokens.h"
#include "headwise/transformer/model_pass.h"
#include "headwise/transformer/transformer.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

struct GeneratorOptions {
  // The prompts and generated tokens of all running requests.
  std::size_t max_tokens = 0;
  std::size_t max_sequences = 1;
  std::size_t chunk = 512;  // tokens of a prompt in one pass, at most
  DType cache_dtype = DType::float32;
  // After each step, this many tokens stay in each layer's cache (ModelCache::
  // keep_most_received()). 0: all.
  std::size_t keep_tokens = 0;
  bool sums_received = false;  // for Generator::received(); keep_tokens sums it
  // What every pass does to the heads.
  HeadGateSpan head_gates{};
  ModelHooks hooks{};
  // What each token tells of heads: the weights of these, none of an encoder,
  // and the statistics of all.
  std::vector<AttentionPlace> heads{};
  bool statistics = false;
  const Executor* executor = nullptr;  // null: Executor::default_executor()
};

struct GenerationRequest {
  std::vector<TokenId> prompt;  // of an encoder-decoder: what its encoder reads
  // Of an encoder-decoder, what its decoder begins with. Empty: the model's.
  std::vector<TokenId> decoder_prompt{};
  std::size_t max_new_tokens = 64;
  std::vector<TokenId>
      end_ids{};  // each ends the request; it is generated, too
  Sampling sampling{};
  std::uint32_t stream = 0;  // of random numbers
};

enum class EndReason : std::uint8_t {
  end_token,
  max_new_tokens,
  positions,  // the model has no more
  stopped,    // by who sees the tokens
};

// Of one layer's attention.
struct HeadStatistics {
  AttentionPlace place{};
  Tensor<float, 2> rows{};  // (heads, kStatistics)
};

struct GeneratedToken {
  std::size_t request = 0;
  std::size_t number = 0;  // of this request, from 0
  TokenId id = 0;
  double log_probability = 0;     // before temperature, top_k and top_p
  std::span<const float> logits;  // (vocab_size)
  std::optional<EndReason> end{};
  // Of GeneratorOptions::heads, over the tokens so far or, of cross-attention,
  // over the encoder's. 0 for a token that was evicted.
  std::span<const std::vector<float>> attn_weights{};
  // Of every layer, self-attention before cross-attention.
  std::span<const HeadStatistics> statistics{};
};

class Generator {
 public:
  // The model, and what the options look into, must outlive it. Errors: those
  // of ModelCache::create() and Transformer::hidden(); invalid_argument for
  // heads of an encoder, unsupported for a model without logits.
  static Result<Generator> create(const Transformer& model,
                                  const GeneratorOptions& options);

  // Its number, from 0. Errors: invalid_argument for an empty prompt;
  // out_of_range for ids that the vocabulary does not have, for a prompt with
  // more tokens than positions, and for a request that never has room; those of
  // check_sampling().
  Result<std::size_t> add(GenerationRequest request);
  bool done() const;  // no request runs or waits

  // `see` is given each token, in the order of the requests' numbers; false
  // ends its request. Errors: those of the passes and of `see`, after which the
  // generator can only be destroyed.
  using SeeToken = FunctionRef<Result<bool>(const GeneratedToken& token)>;
  Status step(SeeToken see);

  // While a token of the request is seen: the attention that the tokens of its
  // sequence received so far in a layer, (heads, tokens), 0 where they were
  // evicted.
  Result<Tensor<float, 2>> received(std::size_t request,
                                    std::size_t layer) const;

 private:
  struct HEADWISE_HIDDEN State;
  explicit Generator(Hidden<State> state) : state_(std::move(state)) {}
  Hidden<State> state_;
};

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
