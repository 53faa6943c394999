#include "transformer/stack_training.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <functional>
#include <utility>
#include <vector>

#include "headwise/steps/activation.h"
#include "transformer/convolution.h"
#include "transformer/distance_bias.h"
#include "transformer/experts.h"
#include "transformer/stack_pass.h"
#include "transformer/tape.h"

namespace headwise::inline HEADWISE_ABI::transformer {
namespace {

// Attention of some sequences, as its backward pass needs it.
struct SavedAttention {
  HeadHooks hooks{};
  std::optional<Rotary> rotary{};
  Tensor<float, 2> bias_of_keys{};   // (heads, L)
  Tensor<float, 3> bias_of_pairs{};  // (heads, L, L)
  std::size_t first_row = 0;
  std::size_t rows = 0;
  std::size_t sequence = 0;  // of one alone
  std::optional<MultiHeadAttentionSaved> saved{};
};

TensorView<const float, 3> rows_from(const Rows& x, std::size_t first,
                                     std::size_t rows) {
  return {x.data() + first * x.extent(2), {1, rows, x.extent(2)}};
}

void add_rows_at(std::size_t first, const Rows& part, Rows& to) {
  const FloatEnvironment environment;
  float* const at = to.data() + first * to.extent(2);
  std::transform(part.data(), part.data() + part.size(), at, at, std::plus<>());
}

}  // namespace

class StackTraining::Pass : private StackPass {
 public:
  using StackPass::StackPass;

  Result<Rows> forward() {
    HEADWISE_ASSIGN(Node * x, embedded());
    Node* const embeddings = x;
    for (std::size_t n = 0; n < stack().layers.size(); ++n) {
      HEADWISE_ASSIGN(x, layer(n, *x));
      if (n == 0 && params().convolution) {
        HEADWISE_ASSIGN(x, convolved(*embeddings, *x));
      }
    }
    HEADWISE_ASSIGN(x, normed(params().final_norm, *x));
    return x->value.clone();
  }

  Status backward(Rows d_hidden, GradientSums& sums) {
    sums_ = &sums;
    return tape_.run_back(std::move(d_hidden));
  }

 private:
  // ---- The embedding. ----

  Result<Node*> embedded() {
    HEADWISE_ASSIGN(auto rows, tokens());
    Node* x = &tape_.add(std::move(rows));
    tape_.record(*x, [this](Rows d) { return back_to_tokens(std::move(d)); });
    HEADWISE_ASSIGN(x, projected(params().token_projection, *x));
    HEADWISE_ASSIGN(x, placed(*x));
    HEADWISE_ASSIGN(x, projected(params().placed_projection, *x));
    HEADWISE_ASSIGN(x, normed(params().embedding_norm, *x));
    return projected(params().embedding_projection, *x);
  }

  Result<Node*> placed(Node& x) {
    HEADWISE_ASSIGN(auto rows, x.value.clone());
    add_places(rows);
    Node& y = tape_.add(std::move(rows));
    tape_.record(y, [this, &x](Rows d) -> Status {
      HEADWISE_TRY(back_to_places(d));
      Tape::arrive(x, std::move(d));
      return ok();
    });
    return &y;
  }

  // The ids of all rows, (1, rows).
  template <class IdsOf>
  Result<Tensor<TokenId, 2>> ids_of_rows(const IdsOf& ids_of) const {
    HEADWISE_ASSIGN(auto flat,
                    Tensor<TokenId, 2>::create_unset(
                        {1, static_cast<std::size_t>(offsets().back())}));
    TokenId* to = flat.data();
    for (std::size_t b = 0; b < ids().size(); ++b) {
      to = std::ranges::copy(ids_of(b), to).out;
    }
    return flat;
  }

  Status back_to_tokens(Rows d) const {
    if (!sums_->wanted()) {
      return ok();
    }
    const auto scale = static_cast<float>(stack().embedding.scale);
    if (scale != 1) {
      const FloatEnvironment environment;
      for (float& e : d.elements()) {
        e *= scale;
      }
    }
    HEADWISE_ASSIGN(const auto rows,
                    ids_of_rows([&](std::size_t b) { return ids()[b]; }));
    return sums_->add(params().tables->tokens, rows, d);
  }

  Status back_to_places(const Rows& d) const {
    if (!sums_->wanted()) {
      return ok();
    }
    if (const auto& table = params().tables->positions) {
      HEADWISE_ASSIGN(const auto rows,
                      ids_of_rows([&](std::size_t b) { return positions(b); }));
      HEADWISE_TRY(sums_->add(*table, rows, d));
    }
    if (const auto& table = params().tables->token_types) {
      HEADWISE_ASSIGN(const auto rows, ids_of_rows([&](std::size_t b) {
                        return std::vector<TokenId>(ids()[b].size());
                      }));
      HEADWISE_TRY(sums_->add(*table, rows, d));
    }
    return ok();
  }

  // ---- Steps. ----

  Result<Node*> linear(const Linear& linear, Node& x) {
    HEADWISE_ASSIGN(auto rows, linear.forward(x.value, "hidden", executor()));
    Node& y = tape_.add(std::move(rows));
    tape_.record(y, [this, &linear, &x](Rows d) -> Status {
      HEADWISE_ASSIGN(auto d_x, sums_->through(linear, x.value, d));
      Tape::arrive(x, std::move(d_x));
      return ok();
    });
    return &y;
  }
  Result<Node*> projected(const std::optional<Linear>& by, Node& x) {
    return by ? linear(*by, x) : Result<Node*>(&x);
  }

  // norm(x), if it is there.
  Result<Node*> normed(const std::optional<RowNorm>& norm, Node& x) {
    if (!norm) {
      return &x;
    }
    HEADWISE_ASSIGN(auto rows, Rows::create_unset(x.value.extents()));
    HEADWISE_TRY(
        layer_norm(rows_of(x.value), *norm, rows_of(rows.view()), executor()));
    Node& y = tape_.add(std::move(rows));
    tape_.record(y, [this, &norm = *norm, &x](Rows d) -> Status {
      HEADWISE_ASSIGN(auto d_x, sums_->through(norm, x.value, std::move(d)));
      Tape::arrive(x, std::move(d_x));
      return ok();
    });
    return &y;
  }

  Result<Node*> sum(Node& x, Node& part) {
    HEADWISE_ASSIGN(auto rows, x.value.clone());
    add_rows(part.value, rows, executor());
    Node& y = tape_.add(std::move(rows));
    tape_.record(y, [&x, &part](Rows d) -> Status {
      HEADWISE_ASSIGN(auto copy, d.clone());
      Tape::arrive(x, std::move(copy));
      Tape::arrive(part, std::move(d));
      return ok();
    });
    return &y;
  }

  // ---- A layer. ----

  Result<Node*> layer(std::size_t n, Node& x) {
    const Block& block = *params().layers[n];
    const auto& around = block.around_attention;
    const auto& around_feed = block.around_feed_forward;
    HEADWISE_ASSIGN(Node * taken, normed(around.before, x));
    HEADWISE_ASSIGN(Node * attended, attention(n, *taken));
    HEADWISE_ASSIGN(attended, normed(around.after, *attended));
    if (stack().parallel) {
      if (around_feed.before) {
        HEADWISE_ASSIGN(taken, normed(around_feed.before, x));
      }
      HEADWISE_ASSIGN(Node* const fed, fed_forward(block, *taken));
      HEADWISE_ASSIGN(Node* const first, sum(x, *attended));
      return sum(*first, *fed);
    }
    HEADWISE_ASSIGN(Node * y, sum(x, *attended));
    HEADWISE_ASSIGN(y, normed(around.behind, *y));
    if (block.feed_forward.networks.empty()) {
      return y;
    }
    HEADWISE_ASSIGN(taken, normed(around_feed.before, *y));
    HEADWISE_ASSIGN(Node * fed, fed_forward(block, *taken));
    HEADWISE_ASSIGN(fed, normed(around_feed.after, *fed));
    HEADWISE_ASSIGN(y, sum(*y, *fed));
    return normed(around_feed.behind, *y);
  }

  Result<Node*> fed_forward(const Block& block, Node& x) {
    const FeedForward& network = block.feed_forward;
    if (network.router) {
      return by_experts(network, x);
    }
    HEADWISE_ASSIGN(Node* const inner, linear(network.networks[0].up, x));
    HEADWISE_ASSIGN(Node* const activated, activate(network.gated, *inner));
    return linear(network.networks[0].down, *activated);
  }

  Result<Node*> activate(bool gated, Node& x) {
    const Activation activation = stack().feed_forward.activation;
    const auto [one, rows, width] = x.value.extents();
    const std::size_t size = gated ? width / 2 : width;
    HEADWISE_ASSIGN(auto made, Rows::create_unset({1, rows, size}));
    const auto half = [stride = static_cast<std::ptrdiff_t>(width), rows = rows,
                       size](auto* data, std::size_t n) {
      return TensorView(data + n * size, Extents<2>{rows, size},
                        Strides<2>{stride, 1});
    };
    const float* const from = std::as_const(x.value).data();
    HEADWISE_TRY(gated ? activate_gate(activation, half(from, 0), half(from, 1),
                                       rows_of(made.view()), executor())
                       : headwise::activate(activation, half(from, 0),
                                            rows_of(made.view()), executor()));
    Node& y = tape_.add(std::move(made));
    tape_.record(
        y, [this, activation, gated, half, from, &x](Rows d) -> Status {
          HEADWISE_ASSIGN(auto d_x, Rows::create_unset(x.value.extents()));
          const auto d_y = rows_of(std::as_const(d));
          HEADWISE_TRY(
              gated ? activate_gate_backward(
                          activation, half(from, 0), half(from, 1), d_y,
                          half(d_x.data(), 0), half(d_x.data(), 1), executor())
                    : activate_backward(activation, half(from, 0), d_y,
                                        half(d_x.data(), 0), executor()));
          Tape::arrive(x, std::move(d_x));
          return ok();
        });
    return &y;
  }

  Result<Node*> by_experts(const FeedForward& network, Node& x) {
    const FeedForwardSpec& spec = stack().feed_forward;
    HEADWISE_ASSIGN(auto made, Experts::run(network, spec, x.value,
                                            /*keep=*/true, executor()));
    auto experts = std::make_shared<Experts>(std::move(made));
    Node& y = tape_.add(std::move(experts->output));
    tape_.record(y, [this, experts, &network, &spec, &x](Rows d) -> Status {
      HEADWISE_ASSIGN(auto d_x, experts->back(network, spec, d, executor()));
      Tape::arrive(x, std::move(d_x));
      return ok();
    });
    return &y;
  }

  // Behind the first layer: x = norm(x + f(rows around each embedding)).
  Result<Node*> convolved(Node& embeddings, Node& x) {
    const Convolution& convolution = *params().convolution;
    const ConvolutionSpec& spec = *stack().convolution;
    HEADWISE_ASSIGN(const auto rows_around, around(embeddings.value));
    HEADWISE_ASSIGN(auto inner, convolution.linear.forward(
                                    rows_around, "embedded", executor()));
    HEADWISE_ASSIGN(auto made, inner.clone());
    HEADWISE_TRY(activate_convolution(spec, made, executor()));
    Node& added = tape_.add(std::move(made));
    auto kept = std::make_shared<Rows>(std::move(inner));
    tape_.record(added,
                 [this, kept, &spec, &added, &convolution,
                  &embeddings](Rows d) -> Status {
                   HEADWISE_TRY(activate_convolution_backward(
                       spec, *kept, added.value, d, executor()));
                   HEADWISE_ASSIGN(
                       const auto d_around,
                       convolution.linear.backward_input(d, "d_y", executor()));
                   HEADWISE_ASSIGN(auto d_x, back_from_around(d_around));
                   Tape::arrive(embeddings, std::move(d_x));
                   return ok();
                 });
    HEADWISE_ASSIGN(Node* const y, sum(x, added));
    HEADWISE_ASSIGN(auto rows, Rows::create_unset(y->value.extents()));
    HEADWISE_TRY(layer_norm(rows_of(y->value), convolution.norm,
                            rows_of(rows.view()), executor()));
    Node& z = tape_.add(std::move(rows));
    tape_.record(z, [this, y, &convolution](Rows d) -> Status {
      HEADWISE_ASSIGN(auto d_x,
                      sums_->through(convolution.norm, y->value, std::move(d)));
      Tape::arrive(*y, std::move(d_x));
      return ok();
    });
    return &z;
  }

  // ---- Attention. ----

  Result<Node*> attention(std::size_t n, Node& x) {
    HEADWISE_ASSIGN(auto rows, Rows::create_unset(x.value.extents()));
    auto calls = std::make_shared<std::deque<SavedAttention>>();
    if (!is_apart(n)) {
      SavedAttention& call = calls->emplace_back();
      call.rows = x.value.extent(1);
      HEADWISE_TRY(attend(n, x.value, call, rows));
    } else {
      for (std::size_t b = 0; b < ids().size(); ++b) {
        if (!ids()[b].empty()) {
          SavedAttention& call = calls->emplace_back();
          call.first_row = static_cast<std::size_t>(offsets()[b]);
          call.rows = ids()[b].size();
          call.sequence = b;
          HEADWISE_TRY(attend(n, x.value, call, rows));
        }
      }
    }
    Node& y = tape_.add(std::move(rows));
    tape_.record(y, [this, n, calls, &x](Rows d) {
      return back_through_attention(n, *calls, x, d);
    });
    return &y;
  }

  Status attend(std::size_t n, const Rows& x, SavedAttention& call,
                Rows& output) {
    const Block& block = *params().layers[n];
    call.hooks = hooks_of({n, call.first_row});
    AttentionOptions options = options_of(n);
    LayerOptions layer = layer_options_of(n, call.hooks);
    const auto part = rows_from(x, call.first_row, call.rows);
    if (is_apart(n)) {
      options.offsets = {};
      HEADWISE_ASSIGN(call.rotary, rotary_of(n, call.rows));
      layer.rotary = call.rotary ? &*call.rotary : nullptr;
      if (stack().heads.distances) {
        HEADWISE_ASSIGN(call.bias_of_pairs,
                        distance_bias(block, stack().heads, part, executor()));
        options.bias =
            dense<3>(call.bias_of_pairs.view(), {Axis::H, Axis::Lq, Axis::Lkv});
      }
    } else {
      HEADWISE_ASSIGN(call.bias_of_keys, bias_of_keys(n));
    }
    if (call.bias_of_keys.size() != 0) {
      options.bias = dense<2>(call.bias_of_keys.view(), {Axis::H, Axis::Lkv});
    }
    HEADWISE_ASSIGN(call.saved, block.attention.forward_for_backward(
                                    part, part, part, options, layer));
    std::ranges::copy(call.saved->result().output.elements(),
                      output.data() + call.first_row * output.extent(2));
    return ok();
  }

  Status back_through_attention(std::size_t n,
                                std::deque<SavedAttention>& calls, Node& x,
                                const Rows& d) {
    const Block& block = *params().layers[n];
    const bool apart = is_apart(n);
    if (!input().pass.head_gates.empty()) {
      HEADWISE_ASSIGN(sums_->head_gates()[n],
                      Tensor<float, 2>::create(
                          {ids().size(), block.attention.config().num_heads}));
    }
    Rows d_x;
    if (apart) {
      HEADWISE_ASSIGN(d_x, Rows::create(x.value.extents()));
    }
    for (SavedAttention& call : calls) {
      HEADWISE_ASSIGN(
          auto by, block.attention.backward(
                       *call.saved, rows_from(d, call.first_row, call.rows), {},
                       sums_->terms_of(block.attention)));
      if (auto& gates = sums_->head_gates(); !gates.empty()) {
        std::ranges::copy(by.head_gates.elements(),
                          gates[n].data() + call.sequence * gates[n].extent(1));
      }
      if (by.t5_bias.size() != 0) {
        HEADWISE_TRY(sums_->add_relative(params().relative, by.t5_bias,
                                         stack().heads_in(n)));
      }
      HEADWISE_TRY(sums_->add(block, by));
      for (Rows* const part : {&by.query, &by.key, &by.value}) {
        if (apart) {
          add_rows_at(call.first_row, *part, d_x);
        } else {
          Tape::arrive(x, std::move(*part));
        }
      }
      if (call.bias_of_pairs.size() != 0) {
        HEADWISE_ASSIGN(
            const auto part,
            distance_bias_backward(block, stack().heads, by.bias, executor()));
        add_rows_at(call.first_row, part, d_x);
      }
      call.saved.reset();
    }
    if (apart) {
      Tape::arrive(x, std::move(d_x));
    }
    return ok();
  }

  Tape tape_{};
  GradientSums* sums_ = nullptr;  // on the way back
};

StackTraining::StackTraining(const StackSpec& stack, const StackParams& params,
                             const StackInput& input)
    : pass_(std::make_unique<Pass>(stack, params, input)) {}
StackTraining::~StackTraining() = default;

Result<Rows> StackTraining::forward() { return pass_->forward(); }

Status StackTraining::backward(Rows d_hidden, GradientSums& sums) {
  return pass_->backward(std::move(d_hidden), sums);
}

}  // namespace headwise::inline HEADWISE_ABI::transformer
