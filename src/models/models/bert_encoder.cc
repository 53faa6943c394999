#include "headwise/models/bert_encoder.h"

#include <algorithm>
#include <functional>
#include <span>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/out_of_memory.h"
#include "headwise/steps/activation.h"
#include "models/bert_rows.h"
#include "run/float_environment.h"
#include "steps/check_head_gates.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kBertEncoder = "bert_encoder";

Status resize(BertMemory& memory, std::size_t rows, const BertConfig& config) {
  const auto make = [&](Tensor<float, 3>& tensor, std::size_t features) {
    auto made = Tensor<float, 3>::create_unset_in(std::move(tensor),
                                                  {1, rows, features});
    if (made) {
      tensor = *std::move(made);
    }
    return made ? ok() : Status(made.error());
  };
  HEADWISE_TRY(make(memory.hidden, config.hidden_size));
  HEADWISE_TRY(make(memory.attended, config.hidden_size));
  return make(memory.intermediate, config.intermediate_size);
}

// The options of one layer's attention.
struct LayerCallOptions {
  const AttentionOptions& attention;
  LayerOptions layer;
};

// attended = attention(hidden), and its weights where they are wanted.
Status attend(const MultiHeadAttention& attention,
              const LayerCallOptions& options, BertMemory& memory,
              std::vector<Tensor<float, 4>>& attn_weights) {
  const auto x = std::as_const(memory.hidden).view();
  if (options.attention.attn_weights == AttnWeights::none) {
    return attention.forward_into(x, x, x, memory.attended.view(),
                                  options.attention, options.layer);
  }
  HEADWISE_ASSIGN(auto result,
                  attention.forward(x, x, x, options.attention, options.layer));
  memory.attended = std::move(result.output);
  attn_weights.push_back(std::move(result.attn_weights));
  return ok();
}

// hidden = LayerNorm(hidden + attended)
Status add_norm(const LayerNormParams& norm, BertMemory& memory,
                const Executor& executor) {
  return add_layer_norm(rows_of(memory.attended), rows_of(memory.hidden), norm,
                        rows_of(memory.hidden), executor);
}

// attended = w_out gelu(w_in hidden)
Status feed_forward(const BertLayer& layer, BertMemory& memory,
                    const Executor& executor) {
  const TensorView<float, 3> intermediate = memory.intermediate.view();
  HEADWISE_TRY(layer.intermediate.forward_into(
      std::as_const(memory.hidden).view(), intermediate, "hidden", executor));
  HEADWISE_TRY(activate(Activation::gelu,
                        rows_of(std::as_const(memory.intermediate).view()),
                        rows_of(intermediate), executor));
  return layer.output.forward_into(std::as_const(memory.intermediate).view(),
                                   memory.attended.view(), "intermediate",
                                   executor);
}

Status run_layer(const BertLayer& layer, const LayerCallOptions& options,
                 BertMemory& memory,
                 std::vector<Tensor<float, 4>>& attn_weights) {
  const Executor& executor = *options.attention.executor;
  HEADWISE_TRY(attend(layer.attention, options, memory, attn_weights));
  HEADWISE_TRY(add_norm(layer.attention_norm, memory, executor));
  HEADWISE_TRY(feed_forward(layer, memory, executor));
  return add_norm(layer.output_norm, memory, executor);
}

// memory.hidden = the input of the first layer that is run.
Status enter(const RaggedTokens& ids, std::span<const std::int64_t> offsets,
             const BertEmbeddings& embeddings, const ModelPass& pass,
             BertMemory& memory, const Executor& executor) {
  const std::optional<LayerEntry>& from = pass.from;
  const TensorView<float, 2> hidden = rows_of(memory.hidden.view());
  if (!from) {
    embed(ids, pass.token_types, offsets, embeddings, memory.hidden.view(),
          executor);
    return layer_norm(hidden, embeddings.norm, hidden, executor);
  }
  for (std::size_t row = 0; row < hidden.extent(0); ++row) {
    for (std::size_t e = 0; e < hidden.extent(1); ++e) {
      hidden(row, e) = from->hidden(row, e);
    }
  }
  return ok();
}

// Errors: shape_mismatch, out_of_range.
Status check_token_types(const BertParams& params, const RaggedTokens& ids,
                         std::span<const std::vector<TokenId>> types) {
  if (types.empty()) {
    return ok();
  }
  if (types.size() != ids.size()) {
    return argument_error(
        kBertEncoder, "token_types", message("has {} sequences", types.size()),
        std::to_string(ids.size()), ErrorCode::shape_mismatch);
  }
  const std::size_t known = params.embeddings.places.size();
  for (std::size_t b = 0; b < ids.size(); ++b) {
    const std::string name = "token_types[" + std::to_string(b) + "]";
    if (types[b].size() != ids[b].size()) {
      return argument_error(
          kBertEncoder, name, message("has {} types", types[b].size()),
          std::to_string(ids[b].size()), ErrorCode::shape_mismatch);
    }
    for (const TokenId type : types[b]) {
      if (type < 0 || static_cast<std::size_t>(type) >= known) {
        return value_error(
            kBertEncoder, name, std::to_string(type),
            known == 1 ? "0: the model has no token types" : "0 or 1",
            ErrorCode::out_of_range);
      }
    }
  }
  return ok();
}

Status check_entry(const BertParams& params, const RaggedTokens& ids,
                   const LayerEntry& from, std::size_t before) {
  HEADWISE_TRY(
      check_layer_number(kBertEncoder, "from.layer", from.layer, before));
  const auto rows = static_cast<std::size_t>(offsets_of(ids).back());
  return check_shape(kBertEncoder, "from.hidden", from.hidden.extents(),
                     "(rows, hidden_size)",
                     Extents<2>{rows, params.config.hidden_size});
}

}  // namespace

Result<Tensor<float, 3>> normalized(const Tensor<float, 3>& x,
                                    const LayerNormParams& norm,
                                    const Executor& executor) {
  HEADWISE_ASSIGN(auto y, Tensor<float, 3>::create_unset(x.extents()));
  HEADWISE_TRY(layer_norm(rows_of(x), norm, rows_of(y), executor));
  return y;
}

void embed(const RaggedTokens& ids,
           std::span<const std::vector<TokenId>> token_types,
           std::span<const std::int64_t> offsets,
           const BertEmbeddings& embeddings, TensorView<float, 3> hidden,
           const Executor& executor) {
  const std::size_t E = hidden.extent(2);
  executor.parallel_for(ids.size(), 8, [&](std::size_t begin, std::size_t end) {
    const FloatEnvironment environment;
    for (std::size_t b = begin; b < end; ++b) {
      for (std::size_t t = 0; t < ids[b].size(); ++t) {
        const float* const word =
            &embeddings.word(static_cast<std::size_t>(ids[b][t]), 0);
        const std::size_t type =
            token_types.empty() ? 0
                                : static_cast<std::size_t>(token_types[b][t]);
        const float* const place = &embeddings.places[type](t, 0);
        float* const to =
            &hidden(0, static_cast<std::size_t>(offsets[b]) + t, 0);
        std::transform(word, word + E, place, to, std::plus<>());
      }
    }
  });
}

Error error_for_inference(std::string_view operation) {
  return {ErrorCode::unsupported,
          ErrorDetails{.operation = std::string(operation),
                       .given = "the parameters were read for inference",
                       .expected = "BertUse::training"}};
}

Status check_call(const BertParams& params, const RaggedTokens& ids,
                  const ModelPass& pass) {
  const BertConfig& config = params.config;
  const std::size_t layers = params.layers.size();
  const std::size_t before = pass.before_layer.value_or(layers);
  HEADWISE_TRY(
      check_layer_number(kBertEncoder, "before_layer", before, layers));
  if (pass.from) {
    HEADWISE_TRY(check_entry(params, ids, *pass.from, before));
  }
  HEADWISE_TRY(check_model_gates(
      kBertEncoder, pass.head_gates, layers,
      [&](std::size_t layer) { return heads_of(config, layer); }));
  HEADWISE_TRY(check_sequences(kBertEncoder, ids, config.max_positions,
                               config.vocab_size));
  return check_token_types(params, ids, pass.token_types);
}

const BertConfig& BertEncoder::config() const { return state_->config; }

Arithmetic BertEncoder::arithmetic() const {
  return layers().empty() ? Arithmetic::exact
                          : layers().front().output.arithmetic();
}

const std::vector<BertLayer>& BertEncoder::layers() const {
  return state_->layers;
}

Status BertEncoder::forward_in(
    const RaggedTokens& ids, const ModelPass& pass, BertMemory& memory,
    std::vector<Tensor<float, 4>>& attn_weights) const {
  return catching_out_of_memory([&]() -> Status {
    HEADWISE_TRY(check_call(*state_, ids, pass));
    const auto& [config, embeddings, layers] =
        static_cast<const BertParams&>(*state_);
    const std::vector<std::int64_t> offsets = offsets_of(ids);
    HEADWISE_TRY(
        resize(memory, static_cast<std::size_t>(offsets.back()), config));
    if (offsets.back() == 0) {
      return ok();
    }
    AttentionOptions of_layers;
    of_layers.offsets = offsets;
    of_layers.attn_weights =
        pass.attn_weights ? AttnWeights::per_head : AttnWeights::none;
    of_layers.executor =
        pass.executor ? pass.executor : &Executor::default_executor();
    HEADWISE_TRY(
        enter(ids, offsets, embeddings, pass, memory, *of_layers.executor));
    const std::size_t last = pass.before_layer.value_or(layers.size());
    for (std::size_t n = pass.from ? pass.from->layer : 0; n < last; ++n) {
      for (const BeforeLayer* see : {&pass.see_entries, &pass.before_each}) {
        if (*see) {
          HEADWISE_TRY((*see)(n, std::as_const(memory.hidden).view()));
        }
      }
      const HeadHooks hooks = hooks_at(pass.hooks, {n});
      HEADWISE_TRY(run_layer(
          layers[n],
          {of_layers, layer_options(pass.head_gates, n, pass.hooks, hooks)},
          memory, attn_weights));
    }
    return ok();
  });
}

Result<BertResult> BertEncoder::forward(const RaggedTokens& ids,
                                        const ModelPass& pass) const try {
  BertMemory memory;
  BertResult result;
  HEADWISE_TRY(forward_in(ids, pass, memory, result.attn_weights));
  result.hidden = std::move(memory.hidden).without_batch();
  return result;
} catch (...) {
  return caught_out_of_memory();
}

}  // namespace headwise::inline HEADWISE_ABI
