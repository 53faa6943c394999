#include "headwise/transformer/model_cache.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/out_of_memory.h"
#include "transformer/cached_sequences.h"
#include "transformer/pass_parts.h"

namespace headwise::inline HEADWISE_ABI {

using transformer::CachedSequence;
using transformer::CrossKeys;
using transformer::kModelCache;
using transformer::Rows;

namespace {

constexpr std::size_t kPage = 128;

std::size_t pages_of(std::size_t tokens) {
  return (tokens + kPage - 1) / kPage;
}

Error not_supported(Message given, Message expected) {
  return {ErrorCode::unsupported,
          ErrorDetails{.operation = std::string(kModelCache),
                       .given = std::move(given),
                       .expected = std::move(expected)}};
}

// The tokens to keep of those that received `sums`: the last count / 2, and the
// first of the others in the order of what they received.
std::vector<std::int64_t> most_received(const std::vector<double>& sums,
                                        std::size_t count) {
  const std::size_t recent = std::min(count / 2, sums.size());
  std::vector<std::int64_t> kept(sums.size());
  std::iota(kept.begin(), kept.end(), std::int64_t{0});
  const auto last = kept.end() - static_cast<std::ptrdiff_t>(recent);
  std::stable_sort(kept.begin(), last, [&](std::int64_t a, std::int64_t b) {
    return sums[static_cast<std::size_t>(a)] >
           sums[static_cast<std::size_t>(b)];
  });
  kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(count - recent), last);
  std::ranges::sort(kept);
  return kept;
}

}  // namespace

Result<CachedSequence*> ModelCache::State::find(SequenceId id) {
  if (id.slot >= sequences.size() || !sequences[id.slot].in_use ||
      sequences[id.slot].generation != id.generation) {
    return argument_error(kModelCache, "id", "is of no sequence",
                          "the id of a running sequence",
                          ErrorCode::out_of_range);
  }
  return &sequences[id.slot];
}

Result<SequenceId> ModelCache::State::add() {
  const auto free =
      std::ranges::find(sequences, false, &CachedSequence::in_use);
  if (free == sequences.end()) {
    return value_error(kModelCache, "sequences",
                       std::to_string(sequences.size() + 1),
                       message("at most max_sequences = {}", sequences.size()),
                       ErrorCode::out_of_range);
  }
  CachedSequence made{.generation = free->generation, .in_use = true};
  for (auto& layer : layers) {
    SequenceId& id = made.ids.emplace_back();
    if (layer) {
      HEADWISE_ASSIGN(id, layer->add());
    }
  }
  *free = std::move(made);
  return SequenceId{static_cast<std::uint32_t>(free - sequences.begin()),
                    free->generation};
}

void ModelCache::State::erase(CachedSequence& sequence) {
  for (std::size_t n = 0; n < layers.size(); ++n) {
    if (layers[n]) {
      const Status s = layers[n]->erase(sequence.ids[n]);
      static_cast<void>(s);  // of a sequence that is there: no error
    }
  }
  sequence = {.generation = sequence.generation + 1};
}

Result<std::vector<CachedSequence*>> ModelCache::State::take(
    std::span<const SequenceId> ids, const RaggedTokens& tokens) {
  if (ids.size() != tokens.size()) {
    return argument_error(
        kModelCache, "sequences", message("has {} ids", ids.size()),
        message("{}, one for each sequence of tokens", tokens.size()));
  }
  std::vector<CachedSequence*> found;
  std::size_t pages = 0;
  for (std::size_t b = 0; b < ids.size(); ++b) {
    HEADWISE_ASSIGN(CachedSequence* const sequence, find(ids[b]));
    if (std::ranges::find(found, sequence) != found.end()) {
      return argument_error(kModelCache, "sequences", "has a sequence twice",
                            "each once");
    }
    found.push_back(sequence);
    const std::size_t most = model->shape.max_positions;
    const std::size_t length = sequence->given + tokens[b].size();
    if (most != 0 && length > most) {
      return argument_error(kModelCache, "tokens[" + std::to_string(b) + "]",
                            message("ends at {} tokens", length),
                            message("at most {}", most),
                            ErrorCode::out_of_range);
    }
    const std::size_t held = sequence->held_in(0);
    pages += pages_of(held + tokens[b].size()) - pages_of(held);
  }
  for (const auto& layer : layers) {
    if (layer && pages > layer->free_pages()) {
      return argument_error(kModelCache, "tokens",
                            message("need {} pages of {} tokens", pages, kPage),
                            message("at most {}", layer->free_pages()),
                            ErrorCode::out_of_range);
    }
  }
  return found;
}

Result<ModelCache> ModelCache::create(const Transformer& model,
                                      const ModelCacheOptions& options) {
  return catching_out_of_memory([&]() -> Result<ModelCache> {
    const auto& description = model.state_->description;
    const auto& stack = description.stack;
    if (!stack.causal) {
      return not_supported(
          message("a model of type {} is no decoder", description.family),
          "one that generates text");
    }
    auto state = std::make_unique<State>(
        State{.model = model.state_.get(), .options = options});
    state->sequences.resize(options.max_sequences);
    for (const auto& block : model.state_->params.stack.layers) {
      const auto& config = block->attention.config();
      auto& layer = state->layers.emplace_back();
      if (config.num_heads != 0) {
        HEADWISE_ASSIGN(
            layer, KvCache::create(
                       {.num_kv_heads = *config.num_kv_heads,
                        .head_dim = *config.head_dim,
                        .v_head_dim = *config.v_head_dim,
                        .dtype = options.dtype,
                        .page_size = kPage,
                        // The last page of a sequence may hold one token.
                        .max_tokens = options.max_tokens +
                                      options.max_sequences * (kPage - 1),
                        .max_sequences = options.max_sequences,
                        .received_heads =
                            options.sums_received ? config.num_heads : 0}));
      }
    }
    return ModelCache(std::move(state));
  });
}

Result<SequenceId> ModelCache::begin(std::size_t length) {
  return catching_out_of_memory([&]() -> Result<SequenceId> {
    if (state_->model->description.encoder) {
      return argument_error(kModelCache, "encoder_ids", "is not given",
                            "the tokens of the encoder");
    }
    HEADWISE_ASSIGN(const auto id, state_->add());
    state_->sequences[id.slot].expected = length;
    return id;
  });
}

Result<SequenceId> ModelCache::begin(std::span<const TokenId> encoder_ids,
                                     const ModelPass& pass) {
  return catching_out_of_memory([&]() -> Result<SequenceId> {
    const Transformer::State& model = *state_->model;
    const RaggedTokens ids = {{encoder_ids.begin(), encoder_ids.end()}};
    ModelPass of_encoder = pass;
    of_encoder.decoder_ids = &ids;  // of a model without an encoder: an error
    HEADWISE_TRY(check_pass(ids, of_encoder, model.description, model.params,
                            model.shape));
    HEADWISE_ASSIGN(
        const auto encoded,
        run_stack(model.description.encoder->stack, *model.params.encoder,
                  {.ids = ids, .pass = pass, .is_encoder = true}));
    const Executor& executor =
        pass.executor ? *pass.executor : Executor::default_executor();
    std::vector<CrossKeys> cross;
    for (const auto& block : model.params.stack.layers) {
      const auto& params = *block->cross->attention.params();
      const std::size_t heads = *block->cross->attention.config().num_kv_heads;
      HEADWISE_ASSIGN(auto key, transformer::projected_heads(
                                    params.w_k, encoded, heads, executor));
      HEADWISE_ASSIGN(auto value, transformer::projected_heads(
                                      *params.w_v, encoded, heads, executor));
      cross.push_back({std::move(key), std::move(value)});
    }
    HEADWISE_ASSIGN(const auto id, state_->add());
    state_->sequences[id.slot].cross = std::move(cross);
    return id;
  });
}

Status ModelCache::erase(SequenceId id) {
  HEADWISE_ASSIGN(CachedSequence* const sequence, state_->find(id));
  state_->erase(*sequence);
  return ok();
}

Result<std::size_t> ModelCache::length(SequenceId id) const {
  HEADWISE_ASSIGN(const CachedSequence* const sequence, state_->find(id));
  return sequence->given;
}

Result<std::size_t> ModelCache::encoder_length(SequenceId id) const {
  HEADWISE_ASSIGN(const CachedSequence* const sequence, state_->find(id));
  return sequence->cross.empty() ? 0 : sequence->cross[0].key.extent(1);
}

Result<bool> ModelCache::rotates_anew(SequenceId id, std::size_t length) const {
  HEADWISE_ASSIGN(const CachedSequence* const sequence, state_->find(id));
  const std::size_t now = sequence->rotation_length(0);
  return now != 0 && sequence->given != 0 &&
         std::ranges::any_of(state_->model->description.stack.rotary,
                             [&](const transformer::RotarySpec& rotary) {
                               return rotary.differs(now,
                                                     std::max(now, length));
                             });
}

Status ModelCache::keep_most_received(SequenceId id, std::size_t count) {
  return catching_out_of_memory([&]() -> Status {
    HEADWISE_ASSIGN(CachedSequence* const sequence, state_->find(id));
    if (std::ranges::any_of(
            state_->model->description.stack.rotary,
            [](const auto& rotary) { return rotary.limit != 0; })) {
      return not_supported("the length of a sequence decides on its rotation",
                           "a model with one rotation for all lengths");
    }
    std::vector<std::vector<std::int64_t>> held(state_->layers.size());
    for (std::size_t n = 0; n < held.size(); ++n) {
      HEADWISE_ASSIGN(held[n], this->held(id, n));
      if (held[n].size() <= count || !state_->layers[n]) {
        continue;
      }
      HEADWISE_ASSIGN(const auto received, this->received(id, n));
      std::vector<double> sums(held[n].size());
      for (std::size_t h = 0; h < received.extent(0); ++h) {
        for (std::size_t t = 0; t < sums.size(); ++t) {
          sums[t] += received(h, t);
        }
      }
      const auto kept = most_received(sums, count);
      HEADWISE_TRY(state_->layers[n]->keep(sequence->ids[n],
                                           {kept.data(), {kept.size()}}));
      std::vector<std::int64_t> left;
      for (const std::int64_t t : kept) {
        left.push_back(held[n][static_cast<std::size_t>(t)]);
      }
      held[n] = std::move(left);
    }
    sequence->held = std::move(held);
    return ok();
  });
}

Result<std::vector<std::int64_t>> ModelCache::held(SequenceId id,
                                                   std::size_t layer) const {
  return catching_out_of_memory([&]() -> Result<std::vector<std::int64_t>> {
    HEADWISE_ASSIGN(const CachedSequence* const sequence, state_->find(id));
    HEADWISE_TRY(check_layer_number(kModelCache, "layer", layer,
                                    state_->layers.size() - 1));
    if (!sequence->held.empty()) {
      return sequence->held[layer];
    }
    std::vector<std::int64_t> all(sequence->given);
    std::iota(all.begin(), all.end(), std::int64_t{0});
    return all;
  });
}

Result<Tensor<float, 2>> ModelCache::received(SequenceId id,
                                              std::size_t layer) const {
  return catching_out_of_memory([&]() -> Result<Tensor<float, 2>> {
    HEADWISE_ASSIGN(const CachedSequence* const sequence, state_->find(id));
    HEADWISE_TRY(check_layer_number(kModelCache, "layer", layer,
                                    state_->layers.size() - 1));
    const auto& cache = state_->layers[layer];
    if (!state_->options.sums_received) {
      return not_supported("received attention is not summed", "sums_received");
    }
    HEADWISE_ASSIGN(auto sums, Tensor<float, 2>::create(
                                   {cache ? cache->options().received_heads : 0,
                                    sequence->held_in(layer)}));
    if (cache) {
      HEADWISE_TRY(cache->read_received(sequence->ids[layer], 0, sums.view()));
    }
    return sums;
  });
}

}  // namespace headwise::inline HEADWISE_ABI
