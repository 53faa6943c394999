// The encoder's forward pass that keeps what gradients need, and its backward
// pass.
#include <cstdint>
#include <deque>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "base/out_of_memory.h"
#include "headwise/models/bert_encoder.h"
#include "headwise/steps/activation.h"
#include "models/bert_names.h"
#include "models/bert_params.h"
#include "models/bert_rows.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kBertTraining = "bert_encoder";

using Params = std::map<std::string, Tensor<float, 1>, std::less<>>;

// What one layer computed. A move leaves the elements where they are, which
// MultiHeadAttentionSaved relies on: it views `x`.
struct BertLayerSaved {
  HeadHooks hooks;     // `attention` refers to them
  Tensor<float, 3> x;  // (1, rows, E), what it took
  MultiHeadAttentionSaved attention;
  Tensor<float, 3> attended;      // x + attention(x)
  Tensor<float, 3> between;       // its norm
  Tensor<float, 3> intermediate;  // w_in between + b_in, (1, rows, I)
  Tensor<float, 3> activated;     // its gelu
  Tensor<float, 3> put_out;       // between + w_out activated + b_out
};

// saved.attended and saved.between of saved.x.
Status run_attention(const BertLayer& layer, const AttentionOptions& options,
                     const LayerOptions& layer_options, BertLayerSaved& saved) {
  const auto x = std::as_const(saved.x).view();
  HEADWISE_ASSIGN(auto attention, layer.attention.forward_for_backward(
                                      x, x, x, options, layer_options));
  HEADWISE_ASSIGN(auto attended, attention.result().output.clone());
  add_to(attended, x);
  HEADWISE_ASSIGN(auto between, normalized(attended, layer.attention_norm,
                                           *options.executor));
  saved.attention = std::move(attention);
  saved.attended = std::move(attended);
  saved.between = std::move(between);
  return ok();
}

// The rest of `saved`, of saved.between.
Status run_feed_forward(const BertLayer& layer, const Executor& executor,
                        BertLayerSaved& saved) {
  HEADWISE_ASSIGN(auto intermediate, layer.intermediate.forward(
                                         saved.between, "hidden", executor));
  HEADWISE_ASSIGN(auto activated,
                  Tensor<float, 3>::create_unset(intermediate.extents()));
  HEADWISE_TRY(activate(Activation::gelu, rows_of(intermediate),
                        rows_of(activated), executor));
  HEADWISE_ASSIGN(auto put_out,
                  layer.output.forward(activated, "intermediate", executor));
  add_to(put_out, saved.between);
  saved.intermediate = std::move(intermediate);
  saved.activated = std::move(activated);
  saved.put_out = std::move(put_out);
  return ok();
}

// ---- Backward. ----

// What each part of a backward pass needs, and where its gradients go.
struct Pass {
  TensorView<const std::int64_t, 1> offsets;
  const Executor& executor;
  bool wants_params = false;
  BertFamily family = BertFamily::bert;
  ModelGradients& gradients;
  // Who sums the gradients of parameters; null: this pass.
  ParamTerms* terms = nullptr;

  bool sums_params() const { return wants_params && terms == nullptr; }
  template <std::size_t Rank>
  void put(std::string name, Tensor<float, Rank> gradient) const {
    const std::size_t size = gradient.size();
    gradients.params.insert_or_assign(
        std::move(name), std::move(gradient).template with_extents<1>({size}));
  }
  void put(const std::string& name, LinearGradients gradient) const {
    put(name + ".weight", std::move(gradient.weight));
    put(name + ".bias", std::move(gradient.bias));
  }
};

// d becomes the gradient by what the norm took.
Status back_through_norm(const Pass& pass, const Tensor<float, 3>& x,
                         const LayerNormParams& norm, const std::string& name,
                         Tensor<float, 3>& d) {
  if (pass.terms != nullptr) {
    HEADWISE_TRY(
        pass.terms->add_norm(name, rows_of(x), rows_of(std::as_const(d))));
  }
  HEADWISE_ASSIGN(auto params,
                  layer_norm_backward(rows_of(x), norm, rows_of(d), rows_of(d),
                                      pass.offsets, pass.executor));
  if (pass.sums_params()) {
    pass.put(name + ".weight", std::move(params.weight));
    pass.put(name + ".bias", std::move(params.bias));
  }
  return ok();
}

// The gradient by what the linear map took.
Result<Tensor<float, 3>> back_through(const Pass& pass, const Linear& linear,
                                      const Tensor<float, 3>& x,
                                      const Tensor<float, 3>& d_y,
                                      const std::string& name) {
  if (pass.terms != nullptr) {
    HEADWISE_TRY(pass.terms->add_projection(name, x, d_y));
  }
  if (pass.sums_params()) {
    HEADWISE_ASSIGN(auto params, linear.backward_params(x, d_y, pass.offsets,
                                                        pass.executor));
    pass.put(name, std::move(params));
  }
  return linear.backward_input(d_y, "d_y", pass.executor);
}

// d becomes the gradient by saved.between.
Status back_through_feed_forward(const Pass& pass, std::size_t number,
                                 const BertLayer& layer,
                                 const BertLayerSaved& saved,
                                 Tensor<float, 3>& d) {
  const BertNames& names = bert_names(pass.family);
  HEADWISE_TRY(back_through_norm(pass, saved.put_out, layer.output_norm,
                                 numbered(names.output_norm, number), d));
  HEADWISE_ASSIGN(auto d_inner,
                  back_through(pass, layer.output, saved.activated, d,
                               numbered(names.output, number)));
  const auto d_rows = rows_of(d_inner);
  HEADWISE_TRY(activate_backward(Activation::gelu, rows_of(saved.intermediate),
                                 rows_of(d_inner), d_rows, pass.executor));
  HEADWISE_ASSIGN(auto d_between,
                  back_through(pass, layer.intermediate, saved.between, d_inner,
                               numbered(names.intermediate, number)));
  add_to(d, d_between);
  return ok();
}

// Passes on the terms of a layer's attention, by their names in files.
class NumberedTerms final : public ParamTerms {
 public:
  NumberedTerms(const Pass& pass, std::size_t layer)
      : pass_(pass), layer_(layer) {}

  Status add_projection(std::string_view name, TensorView<const float, 3> x,
                        TensorView<const float, 3> d_y) override {
    return pass_.terms->add_projection(
        attention_linear_name(pass_.family, name, layer_), x, d_y);
  }
  Status add_norm(std::string_view name, TensorView<const float, 2> x,
                  TensorView<const float, 2> d_y) override {
    return pass_.terms->add_norm(name, x, d_y);
  }
  Status add_table(std::string_view name, TensorView<const TokenId, 2> ids,
                   TensorView<const float, 3> d_embedded) override {
    return pass_.terms->add_table(name, ids, d_embedded);
  }

 private:
  const Pass& pass_;
  std::size_t layer_;
};

// d becomes the gradient by saved.x.
Status back_through_attention(const Pass& pass, std::size_t number,
                              const BertLayer& layer, BertLayerSaved& saved,
                              Tensor<float, 3>& d) {
  const BertNames& names = bert_names(pass.family);
  HEADWISE_TRY(back_through_norm(pass, saved.attended, layer.attention_norm,
                                 numbered(names.attention_norm, number), d));
  NumberedTerms terms(pass, number);
  HEADWISE_ASSIGN(
      auto gradients,
      layer.attention.backward(saved.attention, d, {},
                               pass.terms != nullptr ? &terms : nullptr));
  for (const auto* by : {&gradients.query, &gradients.key, &gradients.value}) {
    add_to(d, *by);
  }
  if (!pass.gradients.head_gates.empty()) {
    // Of a layer without a head it is empty, whatever the sequences.
    pass.gradients.head_gates[number] =
        std::move(gradients.head_gates)
            .with_extents<2>({pass.offsets.extent(0) - 1,
                              layer.attention.config().num_heads});
  }
  if (pass.sums_params()) {
    const auto put = [&](std::string_view param, LinearGradients gradient) {
      pass.put(attention_linear_name(pass.family, param, number),
               std::move(gradient));
    };
    put("w_q", std::move(gradients.w_q));
    put("w_k", std::move(gradients.w_k));
    put("w_v", std::move(gradients.w_v));
    put("w_o", *std::move(gradients.w_o));
  }
  return ok();
}

// What each row was looked up by, (1, rows).
template <class IdOf>
Result<Tensor<TokenId, 2>> ids_of_rows(const RaggedTokens& ids,
                                       std::size_t rows, const IdOf& id_of) {
  auto flat = Tensor<TokenId, 2>::create_unset({1, rows});
  std::size_t row = 0;
  for (std::size_t b = 0; flat && b < ids.size(); ++b) {
    for (std::size_t t = 0; t < ids[b].size(); ++t) {
      (*flat)(0, row++) = id_of(b, t);
    }
  }
  return flat;
}

// d: the gradient by what was embedded.
Status back_through_tables(const Pass& pass, const BertTables& tables,
                           const RaggedTokens& ids, const Tensor<float, 3>& d) {
  const auto put = [&](std::string_view name, const Embedding& table,
                       const auto& id_of) -> Status {
    HEADWISE_ASSIGN(const auto flat, ids_of_rows(ids, d.extent(1), id_of));
    if (pass.terms != nullptr) {
      return pass.terms->add_table(without_weight(name), flat, d);
    }
    HEADWISE_ASSIGN(auto gradient, table.backward(flat, d, {}, pass.offsets));
    pass.put(std::string(name), std::move(gradient));
    return ok();
  };
  HEADWISE_TRY(put(kWordTable, tables.word,
                   [&](std::size_t b, std::size_t t) { return ids[b][t]; }));
  HEADWISE_TRY(
      put(kPositionTable, tables.position,
          [](std::size_t, std::size_t t) { return static_cast<TokenId>(t); }));
  return tables.type ? put(kTypeTable, *tables.type,
                           [](std::size_t, std::size_t) { return TokenId{0}; })
                     : ok();
}

}  // namespace

struct BertSaved::State {
  RaggedTokens ids;
  std::vector<std::int64_t> offsets;
  const Executor* executor;
  bool gated;
  ModelHooks hooks;
  Tensor<float, 3> embedded;  // before the norm
  // Its elements stay where they are: see BertLayerSaved::hooks.
  std::deque<BertLayerSaved> layers;

  TensorView<const std::int64_t, 1> offsets_view() const {
    return {offsets.data(), {offsets.size()}};
  }
};

Result<BertSaved> BertEncoder::forward_for_backward(
    const RaggedTokens& ids, const ModelPass& pass) const {
  return catching_out_of_memory([&]() -> Result<BertSaved> {
    const BertParams& params = *state_;
    if (!params.is_trainable()) {
      return error_for_inference(kBertTraining);
    }
    HEADWISE_TRY(
        check_training_pass(kBertTraining, pass, params.layers.size()));
    HEADWISE_TRY(check_call(params, ids, pass));
    BertSaved saved;
    saved.state_ = std::make_unique<BertSaved::State>(BertSaved::State{
        ids,
        offsets_of(ids),
        pass.executor ? pass.executor : &Executor::default_executor(),
        !pass.head_gates.empty(),
        pass.hooks,
        {},
        {}});
    BertSaved::State& state = *saved.state_;
    HEADWISE_ASSIGN(auto embedded,
                    Tensor<float, 3>::create_unset(
                        {1, static_cast<std::size_t>(state.offsets.back()),
                         params.config.hidden_size}));
    embed(ids, /*token_types=*/{}, state.offsets, params.embeddings,
          embedded.view(), *state.executor);
    HEADWISE_ASSIGN(auto hidden, normalized(embedded, params.embeddings.norm,
                                            *state.executor));
    state.embedded = std::move(embedded);
    AttentionOptions of_layers;
    of_layers.offsets = state.offsets_view();
    of_layers.executor = state.executor;
    for (std::size_t n = 0; n < params.layers.size(); ++n) {
      BertLayerSaved& layer = state.layers.emplace_back();
      layer.x = std::move(hidden);
      layer.hooks = hooks_at(state.hooks, {n});
      HEADWISE_TRY(run_attention(
          params.layers[n], of_layers,
          layer_options(pass.head_gates, n, pass.hooks, layer.hooks), layer));
      HEADWISE_TRY(run_feed_forward(params.layers[n], *state.executor, layer));
      HEADWISE_ASSIGN(hidden,
                      normalized(layer.put_out, params.layers[n].output_norm,
                                 *state.executor));
    }
    saved.hidden_ = std::move(hidden).without_batch();
    return saved;
  });
}

Result<ModelGradients> BertEncoder::backward(
    BertSaved& saved, TensorView<const float, 2> d_hidden, ModelWanted wanted,
    ParamTerms* terms) const {
  return catching_out_of_memory([&]() -> Result<ModelGradients> {
    if (!saved.state_) {
      return value_error(kBertTraining, "saved", "used already",
                         "one of forward_for_backward() for each backward()");
    }
    HEADWISE_TRY(check_shape(kBertTraining, "d_hidden", d_hidden.extents(),
                             "(rows, hidden_size)", saved.hidden_.extents()));
    const auto state = std::move(saved.state_);
    const auto [rows, E] = d_hidden.extents();
    HEADWISE_ASSIGN(auto d, Tensor<float, 3>::create_unset({1, rows, E}));
    for (std::size_t row = 0; row < rows; ++row) {
      for (std::size_t e = 0; e < E; ++e) {
        d(0, row, e) = d_hidden(row, e);
      }
    }
    const auto& [config, embeddings, layers] =
        static_cast<const BertParams&>(*state_);
    ModelGradients gradients;
    gradients.head_gates.resize(state->gated ? layers.size() : 0);
    const bool wants_params = wanted == ModelWanted::params_and_gates;
    const Pass pass{.offsets = state->offsets_view(),
                    .executor = *state->executor,
                    .wants_params = wants_params,
                    .family = config.family,
                    .gradients = gradients,
                    .terms = wants_params ? terms : nullptr};
    for (std::size_t n = layers.size(); n-- > 0;) {
      BertLayerSaved& layer = state->layers[n];
      HEADWISE_TRY(back_through_feed_forward(pass, n, layers[n], layer, d));
      HEADWISE_TRY(back_through_attention(pass, n, layers[n], layer, d));
      layer = {};
    }
    if (pass.wants_params) {
      HEADWISE_TRY(back_through_norm(pass, state->embedded, embeddings.norm,
                                     std::string(kEmbeddingNorm), d));
      HEADWISE_TRY(
          back_through_tables(pass, *embeddings.tables, state->ids, d));
    }
    return gradients;
  });
}

}  // namespace headwise::inline HEADWISE_ABI
