#include "headwise/generate/generator.h"

#include <algorithm>
#include <deque>
#include <string>

#include "base/check.h"
#include "base/out_of_memory.h"
#include "generate/step_heads.h"
#include "headwise/transformer/model_cache.h"
#include "transformer/transformer_state.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kGenerator = "generator";

struct Running {
  std::size_t number = 0;
  GenerationRequest request{};
  std::vector<TokenId> tokens{};  // of the decoder, generated ones included
  std::size_t generated = 0;
  SequenceId id{};

  // The most tokens that it comes to.
  std::size_t most_tokens() const {
    return tokens.size() - generated + request.max_new_tokens;
  }
};

Status check_options(const TransformerShape& shape,
                     const GeneratorOptions& options) {
  if (!shape.has_logits) {
    return Error{
        ErrorCode::unsupported,
        {.operation = std::string(kGenerator),
         .given = message("a model of type {} has no logits", shape.family)}};
  }
  HEADWISE_TRY(check_at_least_one(kGenerator, "chunk", options.chunk));
  for (const AttentionPlace& place : options.heads) {
    if (place.kind == AttentionKind::encoder || !place.head) {
      return argument_error(kGenerator, "heads", "has a head of the encoder",
                            "heads of self-attention and cross-attention");
    }
  }
  return ok();
}

}  // namespace

struct Generator::State {
  const Transformer& model;
  GeneratorOptions options;
  ModelCache cache;
  std::vector<Running> running{};
  std::deque<Running> waiting{};
  std::size_t added = 0;

  ModelPass pass(std::span<const SequenceId> sequences) {
    return {.head_gates = options.head_gates,
            .hooks = options.hooks,
            .cache = &cache,
            .sequences = sequences,
            .executor = options.executor};
  }

  // Runs all tokens but the last that the cache does not have.
  Status feed(const Running& one) {
    for (;;) {
      HEADWISE_ASSIGN(const auto given, cache.length(one.id));
      const std::size_t left = one.tokens.size() - 1 - given;
      if (left == 0) {
        return ok();
      }
      const auto from = one.tokens.begin() + static_cast<std::ptrdiff_t>(given);
      const auto count =
          static_cast<std::ptrdiff_t>(std::min(left, options.chunk));
      const auto done =
          model.hidden({{from, from + count}}, pass({&one.id, 1}));
      HEADWISE_TRY(done);
    }
  }

  Status begin(Running& one) {
    if (model.shape().encoder_layers != 0) {
      HEADWISE_ASSIGN(one.id, cache.begin(one.request.prompt,
                                          {.hooks = options.hooks,
                                           .executor = options.executor}));
    } else {
      HEADWISE_ASSIGN(one.id, cache.begin(one.tokens.size()));
    }
    return feed(one);
  }

  // Lets requests run, in the order in which they came.
  Status admit() {
    std::size_t used = 0;
    for (const Running& one : running) {
      used += one.most_tokens();
    }
    while (!waiting.empty() && running.size() < options.max_sequences &&
           used + waiting.front().most_tokens() <= options.max_tokens) {
      running.push_back(std::move(waiting.front()));
      waiting.pop_front();
      used += running.back().most_tokens();
      HEADWISE_TRY(begin(running.back()));
    }
    return ok();
  }

  // A rotation that depends on the length changes every key.
  Status begin_anew_where_needed() {
    for (Running& one : running) {
      HEADWISE_ASSIGN(const bool anew,
                      cache.rotates_anew(one.id, one.tokens.size()));
      if (anew) {
        HEADWISE_TRY(cache.erase(one.id));
        HEADWISE_TRY(begin(one));
      }
    }
    return ok();
  }

  // The logits after the last token of each running request.
  Result<Tensor<float, 2>> run(StepHeads& heads) {
    RaggedTokens last;
    std::vector<SequenceId> ids;
    for (const Running& one : running) {
      last.push_back({one.tokens.back()});
      ids.push_back(one.id);
    }
    ModelPass pass = this->pass(ids);
    heads.see_in(pass);
    HEADWISE_ASSIGN(const auto hidden, model.hidden(last, pass));
    return model.logits(hidden, options.executor);
  }

  std::optional<EndReason> end_of(const Running& one) const {
    const std::size_t most = model.shape().max_positions;
    const auto& ends = one.request.end_ids;
    return std::ranges::find(ends, one.tokens.back()) != ends.end()
               ? std::optional(EndReason::end_token)
           : one.generated == one.request.max_new_tokens
               ? std::optional(EndReason::max_new_tokens)
           : most != 0 && one.tokens.size() > most
               ? std::optional(EndReason::positions)
               : std::nullopt;
  }

  // Chooses the next token of a request; whether the request goes on.
  Result<bool> extend(Running& one, std::span<const float> logits,
                      const SeenHeads& seen, const SeeToken& see) {
    HEADWISE_ASSIGN(const TokenId id,
                    next_token(logits, one.request.sampling,
                               {one.request.stream, one.generated}));
    GeneratedToken token{.request = one.number,
                         .number = one.generated,
                         .id = id,
                         .log_probability = log_probability(logits, id),
                         .logits = logits,
                         .attn_weights = seen.attn_weights,
                         .statistics = seen.statistics};
    one.tokens.push_back(id);
    ++one.generated;
    token.end = end_of(one);
    HEADWISE_ASSIGN(const bool go_on, see(token));
    return go_on && !token.end;
  }
};

Result<Generator> Generator::create(const Transformer& model,
                                    const GeneratorOptions& options) {
  return catching_out_of_memory([&]() -> Result<Generator> {
    HEADWISE_TRY(check_options(model.shape(), options));
    HEADWISE_ASSIGN(
        auto cache,
        ModelCache::create(model, {.max_tokens = options.max_tokens,
                                   .max_sequences = options.max_sequences,
                                   .dtype = options.cache_dtype,
                                   .sums_received = options.sums_received ||
                                                    options.keep_tokens != 0}));
    return Generator(
        std::make_unique<State>(State{model, options, std::move(cache)}));
  });
}

Result<std::size_t> Generator::add(GenerationRequest request) {
  return catching_out_of_memory([&]() -> Result<std::size_t> {
    const TransformerShape& shape = state_->model.shape();
    HEADWISE_TRY(check_sampling(kGenerator, request.sampling));
    HEADWISE_TRY(check_at_least_one(kGenerator, "max_new_tokens",
                                    request.max_new_tokens));
    if (request.prompt.empty()) {
      return argument_error(kGenerator, "prompt", "has no tokens",
                            "at least 1");
    }
    Running one{.number = state_->added, .request = std::move(request)};
    one.tokens = shape.encoder_layers == 0 ? one.request.prompt
                                           : one.request.decoder_prompt;
    if (one.tokens.empty()) {
      one.tokens = {shape.decoder_start};
    }
    HEADWISE_TRY(check_ids({one.request.prompt, one.tokens}, "prompt", shape));
    if (one.most_tokens() > state_->options.max_tokens) {
      return argument_error(
          kGenerator, "request",
          message("may come to {} tokens", one.most_tokens()),
          message("at most max_tokens = {}", state_->options.max_tokens),
          ErrorCode::out_of_range);
    }
    state_->waiting.push_back(std::move(one));
    return state_->added++;
  });
}

bool Generator::done() const {
  return state_->running.empty() && state_->waiting.empty();
}

Status Generator::step(SeeToken see) {
  return catching_out_of_memory([&]() -> Status {
    State& state = *state_;
    HEADWISE_TRY(state.admit());
    HEADWISE_TRY(state.begin_anew_where_needed());
    if (state.running.empty()) {
      return ok();
    }
    StepHeads heads(state.options, state.running.size());
    HEADWISE_ASSIGN(const auto logits, state.run(heads));
    std::vector<Running> left;
    for (std::size_t b = 0; b < state.running.size(); ++b) {
      Running& one = state.running[b];
      HEADWISE_ASSIGN(const auto seen,
                      heads.of(b, state.cache, one.id, one.tokens.size()));
      HEADWISE_ASSIGN(
          const bool goes_on,
          state.extend(one, {&logits(b, 0), logits.extent(1)}, seen, see));
      if (!goes_on) {
        HEADWISE_TRY(state.cache.erase(one.id));
        continue;
      }
      if (state.options.keep_tokens != 0) {
        HEADWISE_TRY(
            state.cache.keep_most_received(one.id, state.options.keep_tokens));
      }
      left.push_back(std::move(one));
    }
    state.running = std::move(left);
    return ok();
  });
}

Result<Tensor<float, 2>> Generator::received(std::size_t request,
                                             std::size_t layer) const {
  return catching_out_of_memory([&]() -> Result<Tensor<float, 2>> {
    const auto& running = state_->running;
    const auto one = std::ranges::find(running, request, &Running::number);
    if (one == running.end()) {
      return value_error(kGenerator, "request", std::to_string(request),
                         "one that is running", ErrorCode::out_of_range);
    }
    HEADWISE_ASSIGN(const auto sums, state_->cache.received(one->id, layer));
    HEADWISE_ASSIGN(const auto held, state_->cache.held(one->id, layer));
    HEADWISE_ASSIGN(const auto length, state_->cache.length(one->id));
    HEADWISE_ASSIGN(auto all,
                    Tensor<float, 2>::create({sums.extent(0), length}));
    for (std::size_t h = 0; h < sums.extent(0); ++h) {
      for (std::size_t t = 0; t < held.size(); ++t) {
        all(h, static_cast<std::size_t>(held[t])) = sums(h, t);
      }
    }
    return all;
  });
}

}  // namespace headwise::inline HEADWISE_ABI
