#include "headwise/heads/text_view.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/out_of_memory.h"
#include "heads/kept_inputs.h"
#include "headwise/heads/gradient_attention.h"
#include "headwise/heads/norm_statistics.h"
#include "headwise/inspect/trace.h"
#include "headwise/models/special_tokens.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

// Weight times norm is gradient times attention where a key's only value is its
// norm and every gradient is 1.
Result<Tensor<float, 4>> norm_map_of(const KeptInputs& inputs,
                                     TensorView<const float, 3> norms) {
  const TensorView<const float, 4> query = inputs.query();
  const TensorView<const float, 4> key = inputs.key();
  const std::size_t H = query.extent(2);
  const std::size_t group = H / key.extent(2);
  HEADWISE_ASSIGN(auto keys, Tensor<float, 4>::create_unset(
                                 {1, key.extent(1), H, key.extent(3)}));
  HEADWISE_ASSIGN(auto value,
                  Tensor<float, 4>::create_unset({1, key.extent(1), H, 1}));
  HEADWISE_ASSIGN(auto d_context,
                  Tensor<float, 4>::create_unset({1, query.extent(1), H, 1}));
  for (std::size_t j = 0; j < key.extent(1); ++j) {
    for (std::size_t h = 0; h < H; ++h) {
      value(0, j, h, 0) = norms(0, h, j);
      std::copy_n(&key(0, j, h / group, 0), key.extent(3), &keys(0, j, h, 0));
    }
  }
  std::ranges::fill(d_context.elements(), 1.0F);
  return gradient_attention_map({query, keys, value}, d_context,
                                inputs.options());
}

// Collects what a layer shows while the model runs it.
class RunningLayer {
 public:
  RunningLayer(const TextModel& model, const TextViewPass& pass,
               HeadGateSpan gates, FunctionRef<Status(const ViewedLayer&)> see)
      : model_(model), pass_(pass), gates_(gates), see_(see) {}

  bool wanted(std::size_t layer) const {
    return pass_.layers.empty() ||
           std::ranges::find(pass_.layers, layer) != pass_.layers.end();
  }

  // Shows the layer before, and begins this one.
  Status begin(std::size_t layer, TensorView<const float, 3> hidden) {
    HEADWISE_TRY(show());
    if (!wanted(layer)) {
      return ok();
    }
    trace_ = {};
    heads_ = model_.heads_in(layer);
    layer_ = {};
    layer_.number = layer;
    layer_.num_heads = model_.shape().num_heads;
    inputs_ = nullptr;
    running_ = true;
    if (trace(layer) != nullptr) {
      trace_.on_step("hidden", std::to_array<std::string_view>({"B", "L", "E"}),
                     hidden);
    }
    return ok();
  }

  TraceSink* trace(std::size_t layer) {
    return pass_.steps && wanted(layer) && !heads_.empty() ? &trace_ : nullptr;
  }

  // Copies the heads, whose memory the layer uses again.
  Status take(std::size_t layer, const HookedHeads& heads) {
    if (!wanted(layer)) {
      return ok();
    }
    if (!scale_) {
      scale_ = KeptInputs::scale_of(heads);
    }
    HEADWISE_ASSIGN(inputs_,
                    KeptInputs::of(heads, /*with_values=*/false, scale_));
    layer_.query = inputs_->query();
    layer_.key = inputs_->key();
    layer_.attention = {inputs_, &inputs_->options()};
    return pass_.norms ? take_norms(layer, heads.value) : ok();
  }

  Status show() {
    if (!std::exchange(running_, false)) {
      return ok();
    }
    if (!heads_.empty() && layer_.query.data() == nullptr) {
      return argument_error(
          "text_view", "model", "does not call hooks.see_inputs",
          "a TextModel whose run() calls the hooks of its pass");
    }
    layer_.head_numbers = heads_;
    layer_.steps = trace_.steps();
    return see_(layer_);
  }

 private:
  Status take_norms(std::size_t layer, TensorView<const float, 4> value) {
    HEADWISE_ASSIGN(norms_, value_norms(model_.attention(layer), value,
                                        *inputs_->options().executor));
    const std::size_t rows = norms_.extent(2);
    for (std::size_t n = 0; !gates_.empty() && n < norms_.size(); ++n) {
      norms_.data()[n] *= std::abs(gates_[layer](n / rows));
    }
    layer_.key_norms = norms_;
    if (pass_.norm_map && rows > kMostMapLength) {
      HEADWISE_ASSIGN(norm_map_, norm_map_of(*inputs_, norms_));
      layer_.norm_map = norm_map_;
    }
    return ok();
  }

  const TextModel& model_;
  const TextViewPass& pass_;
  HeadGateSpan gates_;
  FunctionRef<Status(const ViewedLayer&)> see_;
  bool running_ = false;
  ViewedLayer layer_{};
  std::vector<std::size_t> heads_{};
  TraceSummary trace_{};
  std::shared_ptr<const KeptInputs> inputs_{};
  std::optional<double> scale_{};  // of all layers: a page has one
  Tensor<float, 3> norms_{};
  Tensor<float, 4> norm_map_{};
};

// Those of a text, of which the view has labels.
Status check_ids(std::span<const TokenId> ids, std::size_t vocab_size) {
  if (ids.empty()) {
    return value_error("text_view", "text", "empty", "at least 1 token");
  }
  for (std::size_t t = 0; t < ids.size(); ++t) {
    if (ids[t] < 0 || static_cast<std::size_t>(ids[t]) >= vocab_size) {
      return value_error("text_view", "ids[" + std::to_string(t) + "]",
                         std::to_string(ids[t]),
                         message("a number from 0 to less than {}", vocab_size),
                         ErrorCode::out_of_range);
    }
  }
  return ok();
}

Status check_shown_layers(std::span<const std::size_t> layers,
                          std::size_t num_layers) {
  for (std::size_t n = 0; n < layers.size(); ++n) {
    const std::string name = "layers[" + std::to_string(n) + "]";
    if (layers[n] >= num_layers) {
      return value_error("text_view", name, std::to_string(layers[n]),
                         message("less than {}", num_layers),
                         ErrorCode::out_of_range);
    }
    if (n != 0 && layers[n] <= layers[n - 1]) {
      return value_error(
          "text_view", name, std::to_string(layers[n]),
          message("more than {} (ascending numbers)", layers[n - 1]));
    }
  }
  return ok();
}

}  // namespace

Result<TextView> TextView::create(const TextModel& model, std::string_view text,
                                  const Executor* executor) {
  HEADWISE_ASSIGN(auto tokens, model.encode(text, model.shape().max_tokens));
  return create(model, std::move(tokens), {}, executor);
}

Result<TextView> TextView::create(const TextModel& model, ModelTokens tokens,
                                  std::vector<Tensor<float, 1>> head_gates,
                                  const Executor* executor) {
  return catching_out_of_memory([&]() -> Result<TextView> {
    HEADWISE_TRY(check_ids(tokens.ids, model.shape().vocab_size));
    TextView view(model);
    view.executor_ =
        executor == nullptr ? &Executor::default_executor() : executor;
    view.head_gates_ = std::move(head_gates);
    view.token_types_ = std::move(tokens.token_types);
    view.cut_ = tokens.cut;
    HEADWISE_ASSIGN(view.separators_,
                    Tensor<bool, 2>::create({1, tokens.ids.size()}));
    for (std::size_t t = 0; t < tokens.ids.size(); ++t) {
      const TokenId id = tokens.ids[t];
      view.labels_.push_back(model.label(id));
      view.separators_(0, t) = is_separator(model.token(id));
      if (model.is_special(id)) {
        view.special_.push_back(t);
      }
    }
    view.ids_.push_back(std::move(tokens.ids));
    return view;
  });
}

AttentionOptions TextView::options() const {
  AttentionOptions options;
  options.executor = executor_;
  if (model_->shape().causal) {
    options.mask = causal();
  }
  return options;
}

OperationOptions TextView::operation_options() const {
  return {.statistics = {.separators = separators_}};
}

ViewPageSettings TextView::settings(std::string title) const {
  return {.title = std::move(title),
          .command = {},
          .query_labels = labels_,
          .key_labels = labels_,
          .token_types = token_types_,
          .query_special = special_,
          .key_special = special_,
          .attention = options(),
          .operation = operation_options()};
}

Status TextView::visit(const TextViewPass& pass,
                       FunctionRef<Status(const ViewedLayer&)> see) const {
  return catching_out_of_memory([&]() -> Status {
    HEADWISE_TRY(check_shown_layers(pass.layers, model_->shape().num_layers));
    RunningLayer running(*model_, pass, head_gates_, see);
    std::vector<std::vector<TokenId>> types;
    if (!token_types_.empty()) {
      types.push_back(token_types_);
    }
    const std::size_t last = pass.layers.empty()
                                 ? model_->shape().num_layers - 1
                                 : pass.layers.back();
    HEADWISE_TRY(model_->run(
        ids_,
        {.before_layer = last + 1,
         .token_types = types,
         .head_gates = head_gates_,
         .before_each =
             [&](std::size_t layer, TensorView<const float, 3> hidden) {
               return running.begin(layer, hidden);
             },
         .hooks = {
             .see_inputs =
                 [&](HookPlace at, const HookedHeads& heads) {
                   return running.take(at.layer, heads);
                 },
             .trace = [&](std::size_t layer) { return running.trace(layer); }},
         .executor = executor_}));
    return running.show();
  });
}

}  // namespace headwise::inline HEADWISE_ABI
