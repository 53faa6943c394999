#include "headwise/models/causal_model.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "base/check.h"
#include "base/copy_of.h"
#include "base/out_of_memory.h"
#include "headwise/interop/file_subject.h"
#include "models/causal_params.h"
#include "models/causal_state.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kCausalModel = "causal_model";

const Executor& executor_of(const Executor* given) {
  return given != nullptr ? *given : Executor::default_executor();
}

// x of the first layer that is run.
Result<Tensor<float, 3>> entering(const CausalParams& params,
                                  const RaggedTokens& ids,
                                  const std::optional<LayerEntry>& from) {
  HEADWISE_ASSIGN(const auto rows, causal_rows(ids));
  if (!from) {
    return embedded(params, rows);
  }
  HEADWISE_TRY(check_shape(
      kCausalModel, "from.hidden", from->hidden.extents(),
      "(rows, hidden_size)",
      Extents<2>{rows.tokens.extent(1), params.config.hidden_size}));
  return copy_of(as_batch_of_one(from->hidden));
}

// x after the last layer that is run.
Result<Tensor<float, 3>> run_layers(const CausalParams& params,
                                    const RaggedTokens& ids,
                                    const ModelPass& pass) {
  const Executor& executor = executor_of(pass.executor);
  const std::vector<std::int64_t> offsets = offsets_of(ids);
  HEADWISE_ASSIGN(auto x, entering(params, ids, pass.from));
  const AttentionOptions options = {
      .mask = causal(), .offsets = offsets, .executor = &executor};
  const std::size_t first = pass.from ? pass.from->layer : 0;
  const std::size_t last = pass.before_layer.value_or(params.layers.size());
  for (std::size_t n = first; n < last && x.size() != 0; ++n) {
    const auto& [norm, attention] = params.layers[n];
    if (pass.see_entries) {
      HEADWISE_TRY(pass.see_entries(n, std::as_const(x).view()));
    }
    HEADWISE_ASSIGN(const auto input, normalized(x, norm, executor));
    if (pass.before_each) {
      HEADWISE_TRY(pass.before_each(n, input.view()));
    }
    const HeadHooks hooks = hooks_at(pass.hooks, {n});
    HEADWISE_ASSIGN(const auto attended,
                    attention.forward(
                        input.view(), input.view(), input.view(), options,
                        layer_options(pass.head_gates, n, pass.hooks, hooks)));
    add_to(x, attended.output);
  }
  return x;
}

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

}  // namespace

Result<CausalRows> causal_rows(const RaggedTokens& ids) {
  const auto rows = static_cast<std::size_t>(offsets_of(ids).back());
  HEADWISE_ASSIGN(auto tokens, Tensor<TokenId, 2>::create_unset({1, rows}));
  HEADWISE_ASSIGN(auto positions, Tensor<TokenId, 2>::create_unset({1, rows}));
  std::size_t row = 0;
  for (const auto& sequence : ids) {
    for (std::size_t t = 0; t < sequence.size(); ++t, ++row) {
      tokens(0, row) = sequence[t];
      positions(0, row) = static_cast<TokenId>(t);
    }
  }
  return CausalRows{std::move(tokens), std::move(positions)};
}

Result<Tensor<float, 3>> embedded(const CausalParams& params,
                                  const CausalRows& rows) {
  HEADWISE_ASSIGN(auto x, params.token.forward(rows.tokens));
  HEADWISE_ASSIGN(const auto places, params.position.forward(rows.positions));
  add_to(x, places);
  return x;
}

std::vector<std::size_t> kept_in(const CausalConfig& config,
                                 std::size_t layer) {
  if (!config.kept_heads.empty()) {
    return config.kept_heads[layer];
  }
  std::vector<std::size_t> all(config.num_heads);
  std::iota(all.begin(), all.end(), std::size_t{0});
  return all;
}

Status check_call(const CausalParams& params, const RaggedTokens& ids,
                  const ModelPass& pass) {
  const std::size_t layers = params.layers.size();
  const std::size_t before = pass.before_layer.value_or(layers);
  HEADWISE_TRY(
      check_layer_number(kCausalModel, "before_layer", before, layers));
  HEADWISE_TRY(check_model_gates(
      kCausalModel, pass.head_gates, layers, [&](std::size_t layer) {
        return params.layers[layer].attention.config().num_heads;
      }));
  HEADWISE_TRY(check_sequences(kCausalModel, ids, params.config.max_positions,
                               params.config.vocab_size));
  return pass.from ? check_layer_number(kCausalModel, "from.layer",
                                        pass.from->layer, before)
                   : ok();
}

CausalModel::State::State(CausalParams params)
    : CausalParams(std::move(params)),
      shape{.num_layers = config.num_layers,
            .num_heads = config.num_heads,
            .hidden_size = config.hidden_size,
            .vocab_size = config.vocab_size,
            .max_tokens = config.max_positions,
            .max_tokens_key = "max_position_embeddings",
            .max_positions = config.max_positions,
            .causal = true} {}

Result<CausalModel> CausalModel::create(const CausalConfig& config,
                                        Vocabulary vocabulary, Seed seed,
                                        Arithmetic arithmetic) try {
  HEADWISE_ASSIGN(auto params, draw_causal_params(config, std::move(vocabulary),
                                                  seed, arithmetic));
  return CausalModel(std::make_unique<State>(std::move(params)));
} catch (...) {
  return caught_out_of_memory();
}

Result<CausalModel> CausalModel::read(const std::string& folder,
                                      Arithmetic arithmetic) try {
  HEADWISE_ASSIGN(auto params, read_causal_params(folder, arithmetic));
  return CausalModel(std::make_unique<State>(std::move(params)));
} catch (...) {
  return caught_out_of_memory();
}

const CausalConfig& CausalModel::config() const { return state_->config; }
const Vocabulary& CausalModel::vocabulary() const { return state_->vocabulary; }
const TextModelShape& CausalModel::shape() const { return state_->shape; }

std::vector<std::size_t> CausalModel::heads_in(std::size_t layer) const {
  return kept_in(config(), layer);
}

const MultiHeadAttention& CausalModel::attention(std::size_t layer) const {
  return state_->layers[layer].attention;
}

std::string_view CausalModel::token(TokenId id) const {
  return vocabulary().token(id);
}

Result<ModelTokens> CausalModel::encode(std::string_view text,
                                        std::size_t max_tokens) const try {
  HEADWISE_TRY(check_utf8(
      ErrorDetails{.operation = "encode", .argument = "text"}, text));
  ModelTokens tokens;
  for (auto begin = text.begin(); begin != text.end();) {
    const auto word = std::find_if_not(begin, text.end(), is_space);
    begin = std::find_if(word, text.end(), is_space);
    if (word == begin) {
      break;
    }
    if (tokens.ids.size() == max_tokens) {
      ++tokens.cut;
      continue;
    }
    tokens.ids.push_back(
        vocabulary().find({word, begin}).value_or(vocabulary().unk()));
  }
  return tokens;
} catch (...) {
  return caught_out_of_memory();
}

Status CausalModel::run(const RaggedTokens& ids, const ModelPass& pass) const {
  const auto done = hidden(ids, pass);
  return done ? ok() : Status(done.error());
}

Result<Tensor<float, 2>> CausalModel::hidden(const RaggedTokens& ids,
                                             const ModelPass& pass) const try {
  HEADWISE_TRY(check_call(*state_, ids, pass));
  HEADWISE_ASSIGN(auto x, run_layers(*state_, ids, pass));
  return std::move(x).without_batch();
} catch (...) {
  return caught_out_of_memory();
}

Result<Tensor<float, 2>> CausalModel::unembed(TensorView<const float, 2> hidden,
                                              const Executor* executor) const
    try {
  HEADWISE_TRY(check_shape(kCausalModel, "hidden", hidden.extents(),
                           "(rows, hidden_size)",
                           Extents<2>{hidden.extent(0), config().hidden_size}));
  HEADWISE_ASSIGN(auto norm, Tensor<float, 2>::create_unset(hidden.extents()));
  HEADWISE_TRY(
      layer_norm(hidden, state_->norm, norm.view(), executor_of(executor)));
  const auto normed =
      std::move(norm).with_extents<3>({1, hidden.extent(0), hidden.extent(1)});
  HEADWISE_ASSIGN(auto logits, state_->unembedding.forward(
                                   normed, "hidden", executor_of(executor)));
  return std::move(logits).without_batch();
} catch (...) {
  return caught_out_of_memory();
}

Result<ModelGradients> CausalModel::gate_gradients(
    const RaggedTokens& ids, const ModelPass& pass,
    LogitsGradient d_logits) const {
  HEADWISE_ASSIGN(auto saved, forward_for_backward(ids, pass));
  HEADWISE_ASSIGN(const auto d, d_logits(saved.logits()));
  return backward(saved, d, ModelWanted::gates);
}

std::optional<TokenId> CausalModel::find(std::string_view token) const {
  return vocabulary().find(token);
}

}  // namespace headwise::inline HEADWISE_ABI
