// A transformer's forward pass that keeps what gradients need, its backward
// pass, and its parameters by name.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/out_of_memory.h"
#include "transformer/gradient_sums.h"
#include "transformer/pass_parts.h"
#include "transformer/pruned_stack.h"
#include "transformer/stack_training.h"
#include "transformer/transformer_state.h"

namespace headwise::inline HEADWISE_ABI {

using transformer::GradientSums;
using transformer::Part;
using transformer::Rows;
using transformer::StackTraining;

// It stays in its place: the training refers to the rest.
struct TransformerSaved::State {
  State(const RaggedTokens& given, const ModelPass& of,
        const transformer::NamedStack& named,
        const transformer::StackParams& params)
      : ids(given), pass(of), training(named.stack, params, input) {}

  RaggedTokens ids;
  ModelPass pass;
  transformer::StackInput input{.ids = ids, .pass = pass};
  std::vector<std::int64_t> offsets = offsets_of(ids);
  StackTraining training;

  TensorView<const std::int64_t, 1> offsets_view() const {
    return {offsets.data(), {offsets.size()}};
  }
  const Executor& executor() const {
    return pass.executor ? *pass.executor : Executor::default_executor();
  }
};

namespace {

Error unsupported(Message given, Message expected) {
  return {ErrorCode::unsupported,
          ErrorDetails{.operation = std::string(kTransformer),
                       .given = std::move(given),
                       .expected = std::move(expected)}};
}

Status check_trainable(const transformer::Description& description,
                       ModelUse use) {
  if (use != ModelUse::training) {
    return unsupported("the parameters were read for inference",
                       "ModelUse::training");
  }
  return description.encoder
             ? Status(unsupported(message("a model of type {} has no gradients",
                                          description.family),
                                  "an encoder or a decoder"))
             : ok();
}

// Whose parameters have gradients, too.
Status check_params(const transformer::Description& description, ModelUse use) {
  HEADWISE_TRY(check_trainable(description, use));
  const auto& stack = description.stack;
  return stack.feed_forward.experts || stack.heads.distances ||
                 stack.convolution
             ? Status(unsupported(
                   message("the parameters of a model of type {} have no "
                           "gradients",
                           description.family),
                   "ModelWanted::gates"))
             : ok();
}

bool is_projection_or_norm(Part part) {
  return part != Part::tokens && part != Part::positions &&
         part != Part::token_types && part != Part::unembedding &&
         part != Part::unembedding_bias;
}

// Whose sums over rows several ranks can add up: projections and layer norms,
// each with a bias, of one layer alone; and tables.
Status check_terms(const transformer::Description& description) {
  const auto& stack = description.stack;
  bool is_like_bert =
      stack.norm.kind == NormKind::layer && !stack.heads.relative;
  for (const transformer::TensorName& row : description.names) {
    is_like_bert &= row.part != Part::sinks &&
                    (row.bias || !is_projection_or_norm(row.part));
  }
  for (std::size_t n = 1; n < stack.layers.size(); ++n) {
    is_like_bert &= stack.layers[n].params != stack.layers[n - 1].params;
  }
  return is_like_bert
             ? ok()
             : Status(unsupported(
                   message("the parameters of a model of type {} are trained "
                           "by one process alone",
                           description.family),
                   "one rank"));
}

Result<Rows> copied(TensorView<const float, 2> x) {
  HEADWISE_ASSIGN(auto rows, Rows::create_unset({1, x.extent(0), x.extent(1)}));
  for (std::size_t row = 0; row < x.extent(0); ++row) {
    for (std::size_t e = 0; e < x.extent(1); ++e) {
      rows(0, row, e) = x(row, e);
    }
  }
  return rows;
}

void multiply(double factor, Rows& x) {
  const FloatEnvironment environment;
  for (float& e : x.elements()) {
    e *= static_cast<float>(factor);
  }
}

// d becomes the gradient by the logits before the softcap.
void back_through_softcap(double cap, const Rows& capless, Rows& d) {
  for (std::size_t n = 0; n < d.size(); ++n) {
    const double t = std::tanh(capless.data()[n] / cap);
    d.data()[n] = static_cast<float>(d.data()[n] * (1 - t * t));
  }
}

// The gradient by the hidden states, from that by their logits.
Result<Rows> back_through_logits(const transformer::Description& description,
                                 const transformer::Params& params,
                                 TensorView<const float, 2> hidden, Rows d,
                                 const GradientSums& sums) {
  const auto& spec = *description.unembedding;
  HEADWISE_ASSIGN(auto x, copied(hidden));
  multiply(spec.scale, x);
  const auto& projection = params.unembedding_projection;
  Rows projected;
  if (projection) {
    HEADWISE_ASSIGN(projected,
                    projection->forward(x, "hidden", sums.executor()));
  }
  const Rows& taken = projection ? projected : x;
  if (spec.softcap) {
    HEADWISE_ASSIGN(const auto capless, params.unembedding->forward(
                                            taken, "hidden", sums.executor()));
    back_through_softcap(*spec.softcap, capless, d);
  }
  if (params.ties_unembedding) {
    HEADWISE_TRY(sums.add_to_table(params.stack.tables->tokens,
                                   *params.unembedding, taken, d));
  }
  HEADWISE_ASSIGN(d, sums.through(*params.unembedding, taken, d));
  if (projection) {
    HEADWISE_ASSIGN(d, sums.through(*projection, x, d));
  }
  multiply(spec.scale, d);
  return d;
}

}  // namespace

Result<TransformerSaved> Transformer::forward_for_backward(
    const RaggedTokens& ids, const ModelPass& pass) const {
  return catching_out_of_memory([&]() -> Result<TransformerSaved> {
    HEADWISE_TRY(check_trainable(state_->description, state_->use));
    HEADWISE_TRY(
        check_training_pass(kTransformer, pass, state_->shape.num_layers));
    HEADWISE_TRY(check_pass(ids, pass, state_->description, state_->params,
                            state_->shape));
    TransformerSaved saved;
    saved.state_ = std::make_unique<TransformerSaved::State>(
        ids, pass, state_->description, state_->params.stack);
    HEADWISE_ASSIGN(auto hidden, saved.state_->training.forward());
    saved.hidden_ = std::move(hidden).without_batch();
    return saved;
  });
}

Result<ModelGradients> Transformer::backward(
    TransformerSaved& saved, TensorView<const float, 2> d_hidden,
    ModelWanted wanted, ParamTerms* terms) const {
  return back(saved, d_hidden, false, wanted, terms);
}

Result<ModelGradients> Transformer::backward_from_logits(
    TransformerSaved& saved, TensorView<const float, 2> d_logits,
    ModelWanted wanted) const {
  return back(saved, d_logits, true, wanted, nullptr);
}

Result<ModelGradients> Transformer::back(TransformerSaved& saved,
                                         TensorView<const float, 2> d,
                                         bool from_logits, ModelWanted wanted,
                                         ParamTerms* terms) const {
  return catching_out_of_memory([&]() -> Result<ModelGradients> {
    if (!saved.state_) {
      return value_error(kTransformer, "saved", "used already",
                         "one of forward_for_backward() for each backward()");
    }
    const bool wants_params = wanted == ModelWanted::params_and_gates;
    if (wants_params) {
      HEADWISE_TRY(check_params(state_->description, state_->use));
    }
    if (wants_params && terms != nullptr) {
      HEADWISE_TRY(check_terms(state_->description));
    }
    if (from_logits) {
      HEADWISE_TRY(check_has_logits());
    }
    const auto rows = saved.hidden_.extent(0);
    HEADWISE_TRY(check_shape(
        kTransformer, from_logits ? "d_logits" : "d_hidden", d.extents(),
        from_logits ? "(rows, vocab_size)" : "(rows, hidden_size)",
        Extents<2>{rows, from_logits ? state_->shape.vocab_size
                                     : state_->shape.hidden_size}));
    const auto state = std::move(saved.state_);
    HEADWISE_ASSIGN(auto d_hidden, copied(d));
    ModelGradients gradients;
    gradients.head_gates.resize(
        state->pass.head_gates.empty() ? 0 : state_->shape.num_layers);
    GradientSums sums(state_->names, gradients, wants_params, terms,
                      state->offsets_view(), state->executor());
    if (from_logits) {
      HEADWISE_ASSIGN(d_hidden, back_through_logits(
                                    state_->description, state_->params,
                                    saved.hidden(), std::move(d_hidden), sums));
    }
    HEADWISE_TRY(state->training.backward(std::move(d_hidden), sums));
    return gradients;
  });
}

Status Transformer::update(
    FunctionRef<Status(std::string_view, std::span<float>)> change) {
  HEADWISE_TRY(check_params(state_->description, state_->use));
  // Also if the callback throws.
  struct Finish {
    const transformer::StackSpec& stack;
    transformer::Params& params;
    ~Finish() {
      params.stack.write_places();
      params.stack.write_relative(stack);
      params.tie_unembedding();
    }
  };
  const Finish finish{state_->description.stack, state_->params};
  return state_->names.update(change);
}

std::map<std::string, AnyView> Transformer::params() const {
  return state_->names.views();
}

std::map<std::string, AnyView> Transformer::attention_params() const {
  return state_->names.attention_views();
}

const std::string& Transformer::attention_name(std::size_t layer,
                                               std::string_view param) const {
  if (param == "sinks") {
    return state_->names
        .of<transformer::NamedVector>(state_->params.stack.layers[layer]->sinks)
        .name;
  }
  const auto& params =
      state_->names.of<transformer::NamedAttention>(attention(layer)).params;
  const auto name = params.find(param);
  static const std::string kNone;
  return name == params.end() ? kNone : name->second;
}

const std::string& Transformer::tokens_name() const {
  return state_->names
      .of<transformer::NamedTable>(state_->params.stack.tables->tokens)
      .weight;
}

TensorView<const float, 1> Transformer::sinks(std::size_t layer) const {
  return state_->params.stack.layers[layer]->sinks.view();
}

Status Transformer::replace_attention(std::span<KeptAttention> layers) {
  return catching_out_of_memory([&]() -> Status {
    State& state = *state_;
    auto heads = state.heads;
    for (const KeptAttention& kept : layers) {
      if (kept.layer < heads.size()) {
        heads[kept.layer] = kept.kept_heads;
      }
    }
    HEADWISE_TRY(transformer::replace_attention_of(
        kTransformer, layers, state.description.stack, state.params.stack));
    state.heads = std::move(heads);
    return ok();
  });
}

}  // namespace headwise::inline HEADWISE_ABI
