// A causal model's forward pass that keeps what gradients need, and its
// backward pass.
#include <algorithm>
#include <cstdint>
#include <deque>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "base/out_of_memory.h"
#include "models/causal_state.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kCausalTraining = "causal_model";

// What one layer computed. A move leaves the elements where they are, which
// MultiHeadAttentionSaved relies on: it views `input`.
struct CausalLayerSaved {
  HeadHooks hooks;         // `attention` refers to them
  Tensor<float, 3> x;      // (1, rows, E), what it took
  Tensor<float, 3> input;  // its norm
  MultiHeadAttentionSaved attention;
};

}  // namespace

struct CausalSaved::State {
  CausalRows rows;
  std::vector<std::int64_t> offsets;
  const Executor* executor;
  bool gated;
  ModelHooks hooks;
  // Its elements stay where they are: see CausalLayerSaved::hooks.
  std::deque<CausalLayerSaved> layers;
  Tensor<float, 3> x;       // after the last layer
  Tensor<float, 3> hidden;  // its norm

  TensorView<const std::int64_t, 1> offsets_view() const {
    return {offsets.data(), {offsets.size()}};
  }
};

namespace {

// A backward pass on its way through the layers.
class Backward {
 public:
  Backward(const CausalParams& params,
           TensorView<const std::int64_t, 1> offsets, const Executor& executor,
           bool wants_params, ModelGradients& gradients)
      : params_(params),
        offsets_(offsets),
        executor_(executor),
        wants_params_(wants_params),
        gradients_(gradients) {}

  // d becomes the gradient by x, of which the norm was taken.
  Status through_norm(const Tensor<float, 3>& x, const LayerNormParams& norm,
                      const std::string& name, Tensor<float, 3>& d) {
    HEADWISE_ASSIGN(
        auto by, layer_norm_backward(rows_of(x), norm, rows_of(d), rows_of(d),
                                     offsets_, executor_));
    put(name + ".weight", std::move(by.weight));
    put(name + ".bias", std::move(by.bias));
    return ok();
  }

  // The gradient by `hidden`, of which the logits were taken.
  Result<Tensor<float, 3>> through_unembedding(
      const Tensor<float, 3>& hidden, TensorView<const float, 3> d_logits) {
    if (wants_params_) {
      HEADWISE_ASSIGN(auto by, params_.unembedding.backward_params(
                                   hidden, d_logits, offsets_, executor_));
      put("unembedding.weight", std::move(by.weight));
    }
    return params_.unembedding.backward_input(d_logits, "d_logits", executor_);
  }

  // d becomes the gradient by what the layer took.
  Status through_layer(std::size_t n, CausalLayerSaved& saved,
                       Tensor<float, 3>& d) {
    HEADWISE_ASSIGN(auto by,
                    params_.layers[n].attention.backward(saved.attention, d));
    Tensor<float, 3> d_input = std::move(by.query);
    add_to(d_input, by.key);
    add_to(d_input, by.value);
    if (!gradients_.head_gates.empty()) {
      // Of a layer without a head it is empty, whatever the sequences.
      gradients_.head_gates[n] =
          std::move(by.head_gates)
              .with_extents<2>(
                  {offsets_.extent(0) - 1,
                   params_.layers[n].attention.config().num_heads});
    }
    by.for_each([&](std::string_view name, std::span<float> values) {
      add(causal_name(n, name), values);
    });
    HEADWISE_TRY(made_);
    HEADWISE_TRY(through_norm(saved.x, params_.layers[n].norm,
                              causal_name(n, "norm"), d_input));
    add_to(d, d_input);
    return ok();
  }

  Status through_tables(const CausalRows& rows, const Tensor<float, 3>& d) {
    if (!wants_params_) {
      return ok();
    }
    HEADWISE_ASSIGN(auto token,
                    params_.token.backward(rows.tokens, d, {}, offsets_));
    HEADWISE_ASSIGN(auto position,
                    params_.position.backward(rows.positions, d, {}, offsets_));
    put("token.weight", std::move(token));
    put("position.weight", std::move(position));
    return ok();
  }

 private:
  template <std::size_t Rank>
  void put(std::string name, Tensor<float, Rank> gradient) {
    if (wants_params_) {
      const std::size_t size = gradient.size();
      gradients_.params.insert_or_assign(
          std::move(name),
          std::move(gradient).template with_extents<1>({size}));
    }
  }
  void add(std::string name, std::span<const float> values) {
    if (!wants_params_ || !made_) {
      return;
    }
    auto copy = Tensor<float, 1>::create_unset({values.size()});
    if (!copy) {
      made_ = copy.error();
      return;
    }
    std::ranges::copy(values, copy->data());
    put(std::move(name), *std::move(copy));
  }

  const CausalParams& params_;
  TensorView<const std::int64_t, 1> offsets_;
  const Executor& executor_;
  bool wants_params_;
  ModelGradients& gradients_;
  Status made_ = ok();
};

}  // namespace

Result<CausalSaved> CausalModel::forward_for_backward(
    const RaggedTokens& ids, const ModelPass& pass) const try {
  const CausalParams& params = *state_;
  HEADWISE_TRY(
      check_training_pass(kCausalTraining, pass, params.layers.size()));
  HEADWISE_TRY(check_call(params, ids, pass));
  HEADWISE_ASSIGN(auto rows, causal_rows(ids));
  CausalSaved saved;
  saved.state_ = std::make_unique<CausalSaved::State>(CausalSaved::State{
      std::move(rows),
      offsets_of(ids),
      pass.executor ? pass.executor : &Executor::default_executor(),
      !pass.head_gates.empty(),
      pass.hooks,
      {},
      {},
      {}});
  CausalSaved::State& state = *saved.state_;
  HEADWISE_ASSIGN(auto x, embedded(params, state.rows));
  const AttentionOptions of_layers = {.mask = causal(),
                                      .offsets = state.offsets_view(),
                                      .executor = state.executor};
  for (std::size_t n = 0; n < params.layers.size(); ++n) {
    const auto& [norm, attention] = params.layers[n];
    CausalLayerSaved& layer = state.layers.emplace_back();
    HEADWISE_ASSIGN(layer.input, normalized(x, norm, *state.executor));
    layer.hooks = hooks_at(state.hooks, {n});
    const auto seen = std::as_const(layer.input).view();
    HEADWISE_ASSIGN(
        auto attended,
        attention.forward_for_backward(
            seen, seen, seen, of_layers,
            layer_options(pass.head_gates, n, state.hooks, layer.hooks)));
    layer.x = std::move(x);
    HEADWISE_ASSIGN(x, layer.x.clone());
    add_to(x, attended.result().output);
    layer.attention = std::move(attended);
  }
  HEADWISE_ASSIGN(auto hidden, normalized(x, params.norm, *state.executor));
  HEADWISE_ASSIGN(auto logits, params.unembedding.forward(hidden, "hidden",
                                                          *state.executor));
  state.x = std::move(x);
  state.hidden = std::move(hidden);
  saved.logits_ = std::move(logits).without_batch();
  return saved;
} catch (...) {
  return caught_out_of_memory();
}

Result<ModelGradients> CausalModel::backward(
    CausalSaved& saved, TensorView<const float, 2> d_logits,
    ModelWanted wanted) const try {
  if (!saved.state_) {
    return value_error(kCausalTraining, "saved", "used already",
                       "one of forward_for_backward() for each backward()");
  }
  HEADWISE_TRY(check_shape(kCausalTraining, "d_logits", d_logits.extents(),
                           "(rows, vocab_size)", saved.logits_.extents()));
  const auto used = std::move(saved.state_);
  CausalSaved::State& state = *used;
  const CausalParams& params = *state_;
  ModelGradients gradients;
  gradients.head_gates.resize(state.gated ? params.layers.size() : 0);
  Backward pass(params, state.offsets_view(), *state.executor,
                wanted == ModelWanted::params_and_gates, gradients);
  HEADWISE_ASSIGN(auto d, pass.through_unembedding(state.hidden,
                                                   as_batch_of_one(d_logits)));
  HEADWISE_TRY(pass.through_norm(state.x, params.norm, "norm", d));
  for (std::size_t n = params.layers.size(); n-- > 0;) {
    HEADWISE_TRY(pass.through_layer(n, state.layers[n], d));
  }
  HEADWISE_TRY(pass.through_tables(state.rows, d));
  return gradients;
} catch (...) {
  return caught_out_of_memory();
}

}  // namespace headwise::inline HEADWISE_ABI
