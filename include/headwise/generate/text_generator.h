// A model folder or GGUF file as a function from prompts to generated texts,
// with what its heads looked at.
//
//   model.safetensors, config.json   Transformer::read()
//   tokenizer.json and the like      Tokenizer::read()
//   generation_config.json           the tokens that end a text: eos_token_id,
//                                    a number or a list; otherwise that of
//                                    config.json or of the GGUF
//
// A prompt is given to the model as it is: a chat template is not rendered.
// Pass the text that the template makes; special tokens in it are recognised.
//
// Errors of reading: those of these readers; bad_data for ids of the settings
// that the vocabulary does not have.
//
// Example:
//   TextGenerator model = TextGenerator::read("SmolLM2-135M").value();
//   RaggedTokens prompts = {model.prompt("The capital of France").value()};
//   auto texts = model.generate(prompts, {.max_new_tokens = 20}).value();
//   std::cout << texts[0].text << "\n";
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headwise/base/function_ref.h"
#include "headwise/base/hidden.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/generate/generator.h"
#include "headwise/generate/sampling.h"
#include "headwise/models/language_model.h"
#include "headwise/run/executor.h"
#include "headwise/steps/head_gates.h"
#include "headwise/steps/tokens.h"
#include "headwise/tokenizer/tokenizer.h"
#include "headwise/transformer/model_pass.h"
#include "headwise/transformer/transformer.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

struct GenerationSettings {
  std::vector<TokenId> end_ids{};
  TokenId decoder_start = 0;  // of an encoder-decoder
  // The keys of generation_config.json that would change the tokens and are
  // not used: "repetition_penalty".
  std::vector<std::string> unused{};
};

struct TextOptions {
  std::size_t max_new_tokens = 64;
  Sampling sampling{};  // prompt n draws from stream n
  // Each ends a text, in which it is not. Without a tokenizer: none.
  std::vector<std::string> stops{};
  std::size_t max_sequences = 8;  // of the prompts that run at a time
  std::size_t keep_tokens = 0;    // GeneratorOptions
  HeadGateSpan head_gates{};
  ModelHooks hooks{};
  std::vector<AttentionPlace> ablate{};  // these heads give nothing
  // What is kept of each text besides ids and log-probabilities.
  std::vector<AttentionPlace> heads{};
  bool statistics = false;
  bool received = false;
  bool logits = false;
  const Executor* executor = nullptr;  // null: Executor::default_executor()
};

struct GeneratedText {
  std::vector<TokenId> ids;
  std::vector<double> log_probabilities;  // of each id, in nats
  std::string text;                       // empty without a tokenizer
  // No value if the generation was ended while it ran.
  std::optional<EndReason> end{};
  // Of TextOptions::heads, (steps, L): L tokens of the prompt and generated, of
  // an encoder-decoder the tokens of its decoder; of cross-attention those of
  // its encoder. Row n is that of the query that chose id n.
  std::vector<Tensor<float, 2>> attn_weights{};
  std::vector<std::vector<HeadStatistics>> statistics{};  // of each step
  // What each token received in each layer, (heads, tokens).
  std::vector<Tensor<float, 2>> received{};
  Tensor<float, 2> logits{};  // (steps, vocab_size)
};

class TextGenerator {
 public:
  static Result<TextGenerator> read(const std::string& path,
                                    const ModelAccess& access = {});
  // The same without a tokenizer: prompts are ids.
  static Result<TextGenerator> read_ids_only(const std::string& path,
                                             const ModelAccess& access = {});

  const Transformer& model() const;
  const Tokenizer* tokenizer() const;  // null: none
  const GenerationSettings& settings() const;

  // The model as those see it who ask about heads; this is then as if it was
  // moved from. Null without a tokenizer. May throw std::bad_alloc.
  std::unique_ptr<LanguageModel> into_language_model() &&;

  // The ids of a prompt, with the tokens that the model adds to a text. Errors:
  // those of Tokenizer::encode(); invalid_argument without a tokenizer.
  Result<std::vector<TokenId>> prompt(std::string_view text) const;

  // `see` is given each token with the text that it adds, in whole characters
  // and without what may become a stop; false ends all. Errors: those of
  // Generator; invalid_argument for a stop that is empty and for heads that the
  // model lacks.
  using SeeText = FunctionRef<Result<bool>(const GeneratedToken& token,
                                           std::string_view text)>;
  Result<std::vector<GeneratedText>> generate(const RaggedTokens& prompts,
                                              const TextOptions& options,
                                              SeeText see) const;
  Result<std::vector<GeneratedText>> generate(
      const RaggedTokens& prompts, const TextOptions& options = {}) const;

  // The log-probability of each of these next tokens after the prompt, from one
  // pass over all of them. Errors: those of Transformer::hidden().
  Result<std::vector<double>> score(const std::vector<TokenId>& prompt,
                                    const std::vector<TokenId>& next,
                                    const Executor* executor = nullptr) const;

 private:
  struct HEADWISE_HIDDEN State;
  explicit TextGenerator(Hidden<State> state) : state_(std::move(state)) {}
  Hidden<State> state_;
};

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
