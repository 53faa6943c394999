#include "headwise/generate/text_generator.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/check.h"
#include "base/out_of_memory.h"
#include "generate/generation_settings.h"
#include "generate/stopped_text.h"
#include "headwise/attention/statistics_options.h"
#include "headwise/models/model_settings.h"
#include "headwise/models/sentence_encoder.h"
#include "models/family_text_model.h"

namespace headwise::inline HEADWISE_ABI {

struct TextGenerator::State {
  // With a tokenizer the first, without one the second.
  std::optional<SentenceEncoder> with_tokenizer{};
  std::optional<Transformer> alone{};
  GenerationSettings settings{};
};

namespace {

constexpr std::string_view kTextGenerator = "text_generator";

// One text while it is generated.
class Growing {
 public:
  Growing(const TextGenerator& model, const TextOptions& options)
      : options_(options), stopped_(model.tokenizer(), options.stops) {}

  // The text that the token adds.
  Result<std::string> add(const GeneratedToken& token,
                          const Generator& generator, std::size_t layers) {
    made_.ids.push_back(token.id);
    made_.log_probabilities.push_back(token.log_probability);
    made_.end = token.end;
    HEADWISE_ASSIGN(auto text, stopped_.add(token.id));
    if (!stopped_.stopped() && token.end) {
      HEADWISE_ASSIGN(const auto rest, stopped_.finish());
      text += rest;
    }
    if (stopped_.stopped()) {
      made_.end = EndReason::stopped;
    }
    made_.text += text;
    HEADWISE_TRY(keep_heads(token));
    if (options_.received && made_.end) {
      for (std::size_t n = 0; n < layers; ++n) {
        HEADWISE_ASSIGN(made_.received.emplace_back(),
                        generator.received(token.request, n));
      }
    }
    return text;
  }
  bool has_ended() const { return made_.end.has_value(); }

  // `tokens` of the decoder's prompt.
  Result<GeneratedText> take(std::size_t tokens, std::size_t vocab_size) && {
    const std::size_t steps = made_.ids.size();
    for (std::size_t n = 0; n < rows_.size(); ++n) {
      const bool is_self = options_.heads[n].kind == AttentionKind::self;
      Tensor<float, 2>& weights = made_.attn_weights.emplace_back();
      HEADWISE_ASSIGN(weights, Tensor<float, 2>::create(
                                   {steps, is_self ? tokens + steps
                                                   : rows_[n].front().size()}));
      for (std::size_t i = 0; i < steps; ++i) {
        std::ranges::copy(rows_[n][i], &weights(i, 0));
      }
    }
    if (options_.logits) {
      HEADWISE_ASSIGN(made_.logits,
                      Tensor<float, 2>::create_unset({steps, vocab_size}));
      std::ranges::copy(logits_, made_.logits.data());
    }
    return std::move(made_);
  }

 private:
  Status keep_heads(const GeneratedToken& token) {
    rows_.resize(token.attn_weights.size());
    for (std::size_t n = 0; n < rows_.size(); ++n) {
      rows_[n].push_back(token.attn_weights[n]);
    }
    if (options_.statistics) {
      auto& of_step = made_.statistics.emplace_back();
      for (const HeadStatistics& one : token.statistics) {
        HEADWISE_ASSIGN(auto rows, one.rows.clone());
        of_step.push_back({one.place, std::move(rows)});
      }
    }
    if (options_.logits) {
      logits_.insert(logits_.end(), token.logits.begin(), token.logits.end());
    }
    return ok();
  }

  const TextOptions& options_;
  StoppedText stopped_;
  GeneratedText made_{};
  std::vector<std::vector<std::vector<float>>> rows_{};  // of each head
  std::vector<float> logits_{};
};

// What the hooks do, and these heads give nothing.
Result<ModelHooks> without_heads(const Transformer& model, ModelHooks hooks,
                                 const std::vector<AttentionPlace>& heads) {
  // By layer and kind, the heads' indices.
  std::map<std::pair<AttentionKind, std::size_t>, std::vector<std::size_t>>
      places;
  for (const AttentionPlace& head : heads) {
    HEADWISE_ASSIGN(const auto place, model.place_of(head));
    places[{head.kind, head.layer}].push_back(place);
  }
  if (places.empty()) {
    return hooks;
  }
  hooks.edit = [before = std::move(hooks.edit), places = std::move(places)](
                   HookPlace at, const HeadContext& given) -> Status {
    if (before) {
      HEADWISE_TRY(before(at, given));
    }
    const auto found = places.find({at.kind, at.layer});
    if (found == places.end()) {
      return ok();
    }
    const auto [B, L, H, D] = given.context.extents();
    for (const std::size_t h : found->second) {
      for (std::size_t l = 0; l < L; ++l) {
        std::fill_n(&given.context(0, l, h, 0), D, 0.0f);
      }
    }
    return ok();
  };
  return hooks;
}

Status check_stops(const std::vector<std::string>& stops) {
  for (std::size_t n = 0; n < stops.size(); ++n) {
    if (stops[n].empty()) {
      return argument_error(kTextGenerator, "stops[" + std::to_string(n) + "]",
                            "is empty", "a text");
    }
  }
  return ok();
}

}  // namespace

Result<TextGenerator> TextGenerator::read(const std::string& path,
                                          const ModelAccess& access) {
  return catching_out_of_memory([&]() -> Result<TextGenerator> {
    HEADWISE_ASSIGN(auto settings, read_model_settings(path));
    const std::string inner = settings.transformer_folder;
    HEADWISE_ASSIGN(auto model,
                    SentenceEncoder::read_of(std::move(settings), access));
    auto state = std::make_unique<State>();
    HEADWISE_ASSIGN(state->settings,
                    read_generation_settings(inner, model.encoder().shape()));
    state->with_tokenizer = std::move(model);
    return TextGenerator(std::move(state));
  });
}

Result<TextGenerator> TextGenerator::read_ids_only(const std::string& path,
                                                   const ModelAccess& access) {
  return catching_out_of_memory([&]() -> Result<TextGenerator> {
    HEADWISE_ASSIGN(auto model, Transformer::read(path, access));
    auto state = std::make_unique<State>();
    HEADWISE_ASSIGN(state->settings,
                    read_generation_settings(path, model.shape()));
    state->alone = std::move(model);
    return TextGenerator(std::move(state));
  });
}

const Transformer& TextGenerator::model() const {
  return state_->alone ? *state_->alone : state_->with_tokenizer->encoder();
}
const Tokenizer* TextGenerator::tokenizer() const {
  return state_->alone ? nullptr : &state_->with_tokenizer->tokenizer();
}
const GenerationSettings& TextGenerator::settings() const {
  return state_->settings;
}

std::unique_ptr<LanguageModel> TextGenerator::into_language_model() && {
  return state_->with_tokenizer
             ? family_text_model(*std::move(state_->with_tokenizer))
             : nullptr;
}

Result<std::vector<TokenId>> TextGenerator::prompt(
    std::string_view text) const {
  if (tokenizer() == nullptr) {
    return argument_error(kTextGenerator, "prompt", "is a text",
                          "ids: the model was read without a tokenizer");
  }
  HEADWISE_ASSIGN(auto encoded,
                  tokenizer()->encode(text, {.special_tokens_in_text = true}));
  return std::move(encoded.ids);
}

Result<std::vector<GeneratedText>> TextGenerator::generate(
    const RaggedTokens& prompts, const TextOptions& options) const {
  return generate(prompts, options,
                  [](const GeneratedToken&, std::string_view) -> Result<bool> {
                    return true;
                  });
}

Result<std::vector<GeneratedText>> TextGenerator::generate(
    const RaggedTokens& prompts, const TextOptions& options,
    SeeText see) const {
  return catching_out_of_memory([&]() -> Result<std::vector<GeneratedText>> {
    HEADWISE_TRY(check_stops(options.stops));
    HEADWISE_ASSIGN(auto hooks,
                    without_heads(model(), options.hooks, options.ablate));
    const TransformerShape& shape = model().shape();
    const bool has_encoder = shape.encoder_layers != 0;
    const std::vector<TokenId> start = {settings().decoder_start};
    std::vector<Growing> texts;
    std::size_t longest = 0;
    for (const auto& prompt : prompts) {
      texts.emplace_back(*this, options);
      longest = std::max(longest, (has_encoder ? start : prompt).size() +
                                      options.max_new_tokens);
    }
    const std::size_t at_a_time = std::max<std::size_t>(
        1, std::min(options.max_sequences, prompts.size()));
    HEADWISE_ASSIGN(
        auto generator,
        Generator::create(model(), {.max_tokens = at_a_time * longest,
                                    .max_sequences = at_a_time,
                                    .keep_tokens = options.keep_tokens,
                                    .sums_received = options.received,
                                    .head_gates = options.head_gates,
                                    .hooks = std::move(hooks),
                                    .heads = options.heads,
                                    .statistics = options.statistics,
                                    .executor = options.executor}));
    for (std::size_t n = 0; n < prompts.size(); ++n) {
      HEADWISE_TRY(generator.add({.prompt = prompts[n],
                                  .decoder_prompt = start,
                                  .max_new_tokens = options.max_new_tokens,
                                  .end_ids = settings().end_ids,
                                  .sampling = options.sampling,
                                  .stream = static_cast<std::uint32_t>(n)}));
    }
    bool go_on = true;
    while (go_on && !generator.done()) {
      HEADWISE_TRY(
          generator.step([&](const GeneratedToken& token) -> Result<bool> {
            Growing& growing = texts[token.request];
            HEADWISE_ASSIGN(const auto text,
                            growing.add(token, generator, shape.num_layers));
            if (go_on) {
              HEADWISE_ASSIGN(go_on, see(token, text));
            }
            return !growing.has_ended();
          }));
    }
    std::vector<GeneratedText> made;
    for (std::size_t n = 0; n < texts.size(); ++n) {
      HEADWISE_ASSIGN(auto text, std::move(texts[n]).take(
                                     (has_encoder ? start : prompts[n]).size(),
                                     shape.vocab_size));
      made.push_back(std::move(text));
    }
    return made;
  });
}

Result<std::vector<double>> TextGenerator::score(
    const std::vector<TokenId>& prompt, const std::vector<TokenId>& next,
    const Executor* executor) const {
  return catching_out_of_memory([&]() -> Result<std::vector<double>> {
    const bool has_encoder = model().shape().encoder_layers != 0;
    std::vector<TokenId> tokens =
        has_encoder ? std::vector{settings().decoder_start} : prompt;
    const std::size_t first = tokens.size() - 1;
    tokens.insert(tokens.end(), next.begin(), next.end());
    tokens.pop_back();
    const RaggedTokens decoder = {tokens};
    ModelPass pass{.executor = executor};
    pass.decoder_ids = has_encoder ? &decoder : nullptr;
    HEADWISE_ASSIGN(
        const auto hidden,
        model().hidden(has_encoder ? RaggedTokens{prompt} : decoder, pass));
    std::vector<double> scores;
    for (std::size_t n = 0; n < next.size(); ++n) {
      HEADWISE_ASSIGN(const auto logits, model().logits({&hidden(first + n, 0),
                                                         {1, hidden.extent(1)}},
                                                        executor));
      scores.push_back(log_probability(logits.elements(), next[n]));
    }
    return scores;
  });
}

}  // namespace headwise::inline HEADWISE_ABI
