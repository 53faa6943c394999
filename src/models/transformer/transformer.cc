#include "headwise/transformer/transformer.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/out_of_memory.h"
#include "transformer/cached_sequences.h"
#include "transformer/open_model.h"
#include "transformer/params.h"
#include "transformer/pass_parts.h"
#include "transformer/stack_run.h"
#include "transformer/tensor_reader.h"
#include "transformer/transformer_state.h"

namespace headwise::inline HEADWISE_ABI {

using transformer::Description;
using transformer::Encoded;
using transformer::kReadTransformer;
using transformer::Params;
using transformer::Rows;
using transformer::StackParams;
using transformer::StackSpec;

namespace {

Status check_decoder_ids(const RaggedTokens* decoder_ids, std::size_t sequences,
                         const TransformerShape& shape) {
  const bool is_given = decoder_ids != nullptr;
  if (is_given != (shape.encoder_layers != 0)) {
    return argument_error(
        kTransformer, "decoder_ids", is_given ? "is given" : "is not given",
        is_given ? message("none for a model of type {}", shape.family)
                 : "the tokens of the decoder");
  }
  if (is_given && decoder_ids->size() != sequences) {
    return argument_error(kTransformer, "decoder_ids",
                          message("has {} sequences", decoder_ids->size()),
                          message("{} as the encoder", sequences));
  }
  return is_given ? check_ids(*decoder_ids, "decoder_ids", shape) : ok();
}

// The index of a head among those of its layer. Errors: invalid_argument, in
// the name of `name`.
Result<std::size_t> index_of_head(const AttentionPlace& place,
                                  std::string_view name,
                                  const Description& description,
                                  const TransformerShape& shape) {
  const auto& [kind, layer, head] = place;
  const bool of_encoder = kind == AttentionKind::encoder;
  const bool is_there = kind == AttentionKind::self || shape.encoder_layers;
  const std::size_t layers =
      of_encoder ? shape.encoder_layers : shape.num_layers;
  const std::size_t count = of_encoder ? shape.encoder_heads : shape.num_heads;
  if (!is_there) {
    return argument_error(kTransformer, name, message("is {}", name_of(place)),
                          "a head of a model without an encoder, LAYER.HEAD");
  }
  if (layer >= layers || head.value_or(count) >= count) {
    return argument_error(
        kTransformer, name, message("is {}", name_of(place)),
        message("one of {} layers with {} heads each", layers, count));
  }
  if (kind == AttentionKind::cross) {
    return *head;
  }
  const std::vector<std::size_t> left =
      (of_encoder ? description.encoder->stack : description.stack)
          .heads_in(layer);
  const auto found = std::ranges::lower_bound(left, *head);
  if (found == left.end() || *found != *head) {
    return argument_error(kTransformer, name, message("is {}", name_of(place)),
                          "a head that was not pruned");
  }
  return static_cast<std::size_t>(found - left.begin());
}

Status check_heads(const std::vector<AttentionPlace>& heads,
                   const Description& description,
                   const TransformerShape& shape) {
  for (std::size_t n = 0; n < heads.size(); ++n) {
    HEADWISE_TRY(index_of_head(heads[n], "heads[" + std::to_string(n) + "]",
                               description, shape));
  }
  return ok();
}

// Errors: shape_mismatch, out_of_range.
Status check_token_types(std::span<const std::vector<TokenId>> types,
                         const RaggedTokens& ids, std::size_t known) {
  if (types.empty()) {
    return ok();
  }
  if (types.size() != ids.size()) {
    return argument_error(
        kTransformer, "token_types", message("has {} sequences", types.size()),
        std::to_string(ids.size()), ErrorCode::shape_mismatch);
  }
  for (std::size_t b = 0; b < ids.size(); ++b) {
    const std::string name = "token_types[" + std::to_string(b) + "]";
    if (types[b].size() != ids[b].size()) {
      return argument_error(
          kTransformer, name, message("has {} types", types[b].size()),
          std::to_string(ids[b].size()), ErrorCode::shape_mismatch);
    }
    for (const TokenId type : types[b]) {
      if (type < 0 || static_cast<std::size_t>(type) >= known) {
        return value_error(
            kTransformer, name, std::to_string(type),
            known == 1 ? "0: the model has no token types" : "0 or 1",
            ErrorCode::out_of_range);
      }
    }
  }
  return ok();
}

TransformerShape shape_of(const Description& description) {
  const StackSpec& stack = description.stack;
  const auto found = [&](transformer::Part part) {
    return std::ranges::find(description.names, part,
                             &transformer::TensorName::part);
  };
  const auto has = [&](transformer::Part part) {
    return found(part) != description.names.end();
  };
  const auto& embedding = stack.embedding;
  TransformerShape shape{
      .family = description.family,
      .num_layers = stack.layers.size(),
      .num_heads = stack.heads.num_heads,
      .num_kv_heads = stack.heads.num_kv_heads,
      .head_dim = stack.heads.head_dim,
      .hidden_size = stack.hidden_size,
      .vocab_size = embedding.vocab_size,
      .max_positions = embedding.positions == 0
                           ? 0
                           : embedding.positions - embedding.first_position,
      .token_types = embedding.token_types,
      .embedding_scale = embedding.scale,
      .has_position_table = has(transformer::Part::positions),
      .has_embedding_norm = has(transformer::Part::embedding_norm),
      .projects_embeddings = has(transformer::Part::embedding_projection),
      .norm_eps = stack.norm.eps,
      .norm_kind = stack.norm.kind,
      .causal = stack.causal,
      .has_logits =
          description.unembedding && !description.unembedding->may_miss};
  if (has(transformer::Part::attention_before)) {
    shape.attention_norm_from =
        found(transformer::Part::attention_before)->first_layer;
  }
  if (const auto& encoder = description.encoder) {
    shape.encoder_layers = encoder->stack.layers.size();
    shape.encoder_heads = encoder->stack.heads.num_heads;
    shape.decoder_start = description.decoder_start;
  }
  return shape;
}

// Errors: those of check_model_gates().
Status check_gates(const ModelPass& pass, const Params& params) {
  const auto& layers = params.stack.layers;
  return check_model_gates(
      kTransformer, pass.head_gates, layers.size(),
      [&](std::size_t n) { return layers[n]->attention.config().num_heads; });
}

}  // namespace

Status check_ids(const RaggedTokens& ids, std::string_view name,
                 const TransformerShape& shape) {
  const std::size_t most = shape.max_positions;
  for (std::size_t b = 0; b < ids.size(); ++b) {
    const std::string place = std::string(name) + "[" + std::to_string(b) + "]";
    if (most != 0 && ids[b].size() > most) {
      return argument_error(
          kTransformer, place, message("has {} tokens", ids[b].size()),
          message("at most {}", most), ErrorCode::out_of_range);
    }
    for (std::size_t t = 0; t < ids[b].size(); ++t) {
      const TokenId id = ids[b][t];
      if (id < 0 || static_cast<std::uint64_t>(id) >= shape.vocab_size) {
        return argument_error(
            kTransformer, place + "[" + std::to_string(t) + "]",
            message("is {}", id),
            message("0 to vocab_size - 1 = {}", shape.vocab_size - 1),
            ErrorCode::out_of_range);
      }
    }
  }
  return ok();
}

Status check_pass(const RaggedTokens& ids, const ModelPass& pass,
                  const Description& description, const Params& params,
                  const TransformerShape& shape) {
  HEADWISE_TRY(check_ids(ids, "tokens", shape));
  HEADWISE_TRY(check_decoder_ids(pass.decoder_ids, ids.size(), shape));
  HEADWISE_TRY(check_heads(pass.heads, description, shape));
  const std::size_t before = pass.before_layer.value_or(shape.num_layers);
  HEADWISE_TRY(check_layer_number(kTransformer, "before_layer", before,
                                  shape.num_layers));
  if (pass.from) {
    HEADWISE_TRY(check_layer_number(kTransformer, "from.layer",
                                    pass.from->layer, before));
    const RaggedTokens& rows = pass.decoder_ids ? *pass.decoder_ids : ids;
    HEADWISE_TRY(check_shape(
        kTransformer, "from.hidden", pass.from->hidden.extents(),
        "(rows, hidden_size)",
        Extents<2>{static_cast<std::size_t>(offsets_of(rows).back()),
                   shape.hidden_size}));
  }
  if (pass.see_statistics) {
    return value_error(kTransformer, "see_statistics", "given",
                       "a cache with it");
  }
  HEADWISE_TRY(check_gates(pass, params));
  const StackParams& stack = params.stack;
  return check_token_types(
      pass.token_types, ids,
      std::max<std::size_t>(1, stack.places.empty()
                                   ? stack.token_types.extent(0)
                                   : stack.places.size()));
}

Result<Transformer> Transformer::read(const std::string& path,
                                      const ModelAccess& access) {
  return catching_out_of_memory([&]() -> Result<Transformer> {
    HEADWISE_ASSIGN(auto opened, transformer::open_model(path, access.file));
    HEADWISE_ASSIGN(auto state, State::read(std::move(opened), access));
    return Transformer(std::move(state));
  });
}

Result<Transformer> Transformer::create(std::string_view config,
                                        NamedArrays params,
                                        const ModelAccess& access) {
  return catching_out_of_memory([&]() -> Result<Transformer> {
    HEADWISE_ASSIGN(
        auto description,
        transformer::describe_text(
            config, {std::string(transformer::kReadTransformer), "config"}));
    HEADWISE_ASSIGN(
        auto state,
        State::read({std::move(description),
                     ParamFile::of_arrays("params", std::move(params))},
                    access));
    return Transformer(std::move(state));
  });
}

Result<std::unique_ptr<Transformer::State>> Transformer::State::read(
    transformer::OpenModel opened, const ModelAccess& access) {
  auto& [description, file] = opened;
  if (access.encoder_alone) {
    description.keep_encoder();
  }
  HEADWISE_ASSIGN(auto params,
                  transformer::read_params(file, description, access));
  auto state =
      std::make_unique<State>(State{.description = std::move(description),
                                    .params = std::move(params),
                                    .shape = {},
                                    .use = access.use,
                                    .arithmetic = access.arithmetic});
  state->shape = shape_of(state->description);
  state->shape.has_logits = state->params.unembedding.has_value();
  for (std::size_t n = 0; n < state->shape.num_layers; ++n) {
    state->heads.push_back(state->description.stack.heads_in(n));
  }
  if (access.use == ModelUse::training && !state->description.encoder) {
    state->names = transformer::ParamNames(state->description, state->params);
  }
  return state;
}

Result<TransformerShape> Transformer::read_shape(const std::string& path) {
  return catching_out_of_memory([&]() -> Result<TransformerShape> {
    if (path.ends_with(".gguf")) {
      HEADWISE_ASSIGN(const auto opened,
                      transformer::open_model(path, FileAccess::mapped));
      return shape_of(opened.description);
    }
    HEADWISE_ASSIGN(const auto description, transformer::describe_folder(path));
    return shape_of(description);
  });
}

const TransformerShape& Transformer::shape() const { return state_->shape; }

Result<Tensor<float, 2>> Transformer::hidden(const RaggedTokens& ids,
                                             const ModelPass& pass) const {
  return catching_out_of_memory([&]() -> Result<Tensor<float, 2>> {
    const auto& [description, params, shape, use, arithmetic, heads, names] =
        *state_;
    if (pass.cache != nullptr) {
      return next_hidden(ids, pass);
    }
    HEADWISE_TRY(check_pass(ids, pass, description, params, shape));
    std::optional<Encoded> encoded;
    if (description.encoder) {
      HEADWISE_ASSIGN(
          auto rows, run_stack(description.encoder->stack, *params.encoder,
                               {.ids = ids, .pass = pass, .is_encoder = true}));
      encoded = Encoded{std::move(rows), offsets_of(ids)};
    }
    HEADWISE_ASSIGN(auto x,
                    run_stack(description.stack, params.stack,
                              {.ids = encoded ? *pass.decoder_ids : ids,
                               .pass = pass,
                               .encoded = encoded ? &*encoded : nullptr}));
    return std::move(x).without_batch();
  });
}

Result<Tensor<float, 2>> Transformer::next_hidden(const RaggedTokens& ids,
                                                  const ModelPass& pass) const {
  const auto& [description, params, shape, use, arithmetic, heads, names] =
      *state_;
  ModelCache::State& cache = *pass.cache->state_;
  if (cache.model != state_.get()) {
    return argument_error(kTransformer, "cache", "is of another model",
                          "one that was created for this one");
  }
  for (const auto& [name, given] :
       {std::pair("from", pass.from.has_value()),
        {"before_layer", pass.before_layer.has_value()},
        {"token_types", !pass.token_types.empty()},
        {"decoder_ids", pass.decoder_ids != nullptr},
        {"hooks.trace", static_cast<bool>(pass.hooks.trace)}}) {
    if (given) {
      return value_error(kTransformer, name, "given", "none with a cache");
    }
  }
  HEADWISE_TRY(check_ids(ids, "tokens", shape));
  HEADWISE_TRY(check_heads(pass.heads, description, shape));
  HEADWISE_TRY(check_gates(pass, params));
  HEADWISE_ASSIGN(auto sequences, cache.take(pass.sequences, ids));
  const transformer::CachedPass cached{cache.layers, sequences};
  auto x = run_stack(description.stack, params.stack,
                     {.ids = ids, .pass = pass, .cached = &cached});
  for (std::size_t b = 0; b < sequences.size(); ++b) {
    if (x) {
      sequences[b]->add(ids[b].size());
    } else {
      cache.erase(*sequences[b]);
    }
  }
  HEADWISE_TRY(x);
  return std::move(*x).without_batch();
}

Result<Tensor<float, 2>> Transformer::logits(TensorView<const float, 2> hidden,
                                             const Executor* executor) const {
  return catching_out_of_memory([&]() -> Result<Tensor<float, 2>> {
    const auto& [description, params, shape, use, arithmetic, heads, names] =
        *state_;
    HEADWISE_TRY(check_has_logits());
    HEADWISE_TRY(check_shape(kTransformer, "hidden", hidden.extents(),
                             "(rows, hidden_size)",
                             Extents<2>{hidden.extent(0), shape.hidden_size}));
    const Executor& used = executor ? *executor : Executor::default_executor();
    HEADWISE_ASSIGN(
        auto x, Rows::create_unset({1, hidden.extent(0), hidden.extent(1)}));
    const auto scale = static_cast<float>(description.unembedding->scale);
    for (std::size_t row = 0; row < hidden.extent(0); ++row) {
      for (std::size_t e = 0; e < hidden.extent(1); ++e) {
        x(0, row, e) = hidden(row, e) * scale;
      }
    }
    if (params.unembedding_projection) {
      HEADWISE_ASSIGN(
          x, params.unembedding_projection->forward(x, "hidden", used));
    }
    HEADWISE_ASSIGN(auto logits,
                    params.unembedding->forward(x, "hidden", used));
    if (const auto cap = description.unembedding->softcap) {
      for (float& logit : logits.elements()) {
        logit = static_cast<float>(*cap * std::tanh(logit / *cap));
      }
    }
    return std::move(logits).without_batch();
  });
}

Status Transformer::check_has_logits() const {
  return state_->params.unembedding
             ? ok()
             : Status(
                   Error{ErrorCode::unsupported,
                         {.operation = std::string(kTransformer),
                          .given = message("a model of type {} has no logits",
                                           state_->shape.family)}});
}

const std::vector<std::size_t>& Transformer::heads_in(std::size_t layer) const {
  return state_->heads[layer];
}

Result<std::size_t> Transformer::place_of(const AttentionPlace& head) const {
  return catching_out_of_memory([&] {
    return index_of_head(head, "head", state_->description, state_->shape);
  });
}

const MultiHeadAttention& Transformer::attention(std::size_t layer) const {
  return state_->params.stack.layers[layer]->attention;
}

Arithmetic Transformer::arithmetic() const { return state_->arithmetic; }

}  // namespace headwise::inline HEADWISE_ABI
