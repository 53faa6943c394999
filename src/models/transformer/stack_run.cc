#include "transformer/stack_run.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "headwise/base/half.h"
#include "headwise/steps/activation.h"
#include "run/float_environment.h"
#include "transformer/distance_bias.h"
#include "transformer/feed_forward.h"
#include "transformer/pass_parts.h"
#include "transformer/seen_attention.h"

namespace headwise::inline HEADWISE_ABI::transformer {
namespace {

// x += y
void add_rows(const Rows& y, Rows& x, const Executor& executor) {
  constexpr std::size_t kAtATime = 32768;
  executor.parallel_for(
      x.size(), kAtATime, [&](std::size_t begin, std::size_t end) {
        const FloatEnvironment environment;
        std::transform(x.data() + begin, x.data() + end, y.data() + begin,
                       x.data() + begin, std::plus<>());
      });
}

// x = norm(x + y), or the sum alone.
Status add_part(const Rows& y, const std::optional<RowNorm>& norm, Rows& x,
                const Executor& executor) {
  if (norm) {
    return add_layer_norm(rows_of(y), rows_of(x), *norm, rows_of(x.view()),
                          executor);
  }
  add_rows(y, x, executor);
  return ok();
}

// x = norm(x), if it is there.
Status apply_norm(const std::optional<RowNorm>& norm, Rows& x,
                  const Executor& executor) {
  return norm ? layer_norm(rows_of(x), *norm, rows_of(x.view()), executor)
              : ok();
}

// What a part of a layer takes: x, or its norm in memory of its own.
class PartInput {
 public:
  static Result<PartInput> of(const std::optional<RowNorm>& norm, const Rows& x,
                              const Executor& executor) {
    PartInput made;
    made.x_ = &x;
    if (norm) {
      HEADWISE_ASSIGN(made.normed_, Rows::create_unset(x.extents()));
      HEADWISE_TRY(layer_norm(rows_of(x), *norm, rows_of(made.normed_.view()),
                              executor));
    }
    return made;
  }

  const Rows& rows() const { return normed_.size() != 0 ? normed_ : *x_; }

 private:
  const Rows* x_ = nullptr;
  Rows normed_;
};

class StackRun {
 public:
  StackRun(const StackSpec& stack, const StackParams& params,
           const StackInput& input)
      : stack_(stack),
        params_(params),
        input_(input),
        ids_(input.ids),
        executor_(input.pass.executor ? *input.pass.executor
                                      : Executor::default_executor()),
        offsets_(offsets_of(input.ids)) {}

  Result<Rows> run() {
    const ModelPass& pass = input_.pass;
    const std::size_t layers = stack_.layers.size();
    const bool whole = input_.is_encoder;
    const std::size_t first = pass.from && !whole ? pass.from->layer : 0;
    const std::size_t last =
        whole ? layers : pass.before_layer.value_or(layers);
    HEADWISE_ASSIGN(auto x,
                    pass.from && !whole ? entering(*pass.from) : embedded());
    Rows embeddings;
    if (params_.convolution && first == 0) {
      HEADWISE_ASSIGN(embeddings, x.clone());
    }
    for (std::size_t n = first; n < last; ++n) {
      if (pass.see_entries && !whole) {
        HEADWISE_TRY(pass.see_entries(n, std::as_const(x).view()));
      }
      HEADWISE_TRY(run_layer(n, x));
      if (n == 0 && params_.convolution) {
        HEADWISE_TRY(add_convolution(embeddings, x));
      }
    }
    if (last == layers) {
      HEADWISE_TRY(apply_norm(params_.final_norm, x, executor_));
    }
    return x;
  }

 private:
  static Result<Rows> entering(const LayerEntry& from) {
    const auto [rows, size] = from.hidden.extents();
    HEADWISE_ASSIGN(auto x, Rows::create_unset({1, rows, size}));
    for (std::size_t row = 0; row < rows; ++row) {
      for (std::size_t e = 0; e < size; ++e) {
        x(0, row, e) = from.hidden(row, e);
      }
    }
    return x;
  }

  SeenHeads seen_heads(AttentionKind kind, std::size_t layer) const {
    SeenHeads seen;
    const ModelPass& pass = input_.pass;
    seen.all = pass.see_attn_weights && pass.heads.empty();
    for (const AttentionPlace& place : pass.heads) {
      if (pass.see_attn_weights && place.kind == kind && place.layer == layer) {
        seen.heads.push_back(*place.head);
      }
    }
    return seen;
  }
  Status show_weights(AttentionKind kind, std::size_t layer,
                      const SeenHeads& seen, const SeenAttention& made) const {
    for (std::size_t n = 0; n < made.attn_weights.size(); ++n) {
      AttentionPlace place{.kind = kind, .layer = layer};
      if (!seen.all) {
        place.head = seen.heads[n];
      }
      HEADWISE_TRY(input_.pass.see_attn_weights(place, made.attn_weights[n]));
    }
    return ok();
  }

  Result<Rows> embedded() const {
    const EmbeddingSpec& spec = stack_.embedding;
    const auto rows = static_cast<std::size_t>(offsets_.back());
    HEADWISE_ASSIGN(auto x, Rows::create_unset({1, rows, spec.size}));
    const auto scale = static_cast<float>(spec.scale);
    each_sequence([&](std::size_t b, std::size_t row) {
      for (const TokenId id : ids_[b]) {
        float* const to = &x(0, row++, 0);
        params_.tokens.copy_row(static_cast<std::size_t>(id), to);
        std::transform(to, to + spec.size, to,
                       [scale](float e) { return e * scale; });
      }
    });
    HEADWISE_TRY(apply_linear(params_.token_projection, x));
    each_sequence([&](std::size_t b, std::size_t row) { place(b, row, x); });
    HEADWISE_TRY(apply_linear(params_.placed_projection, x));
    HEADWISE_TRY(apply_norm(params_.embedding_norm, x, executor_));
    HEADWISE_TRY(apply_linear(params_.embedding_projection, x));
    return x;
  }

  // Adds positions and token types to the rows of a sequence.
  void place(std::size_t b, std::size_t row, Rows& x) const {
    const EmbeddingSpec& spec = stack_.embedding;
    const std::vector<TokenId>& ids = ids_[b];
    const auto types = input_.pass.token_types;
    const std::size_t size = x.extent(2);
    std::size_t position = spec.first_position;
    for (std::size_t t = 0; t < ids.size(); ++t) {
      const std::size_t type =
          types.empty() ? 0 : static_cast<std::size_t>(types[b][t]);
      const bool is_counted = !spec.uncounted || ids[t] != *spec.uncounted;
      const float* added = nullptr;
      if (!params_.places.empty()) {
        added = &params_.places[type](
            is_counted ? position : spec.first_position - 1, 0);
      } else if (params_.token_types.size() != 0) {
        added = &params_.token_types(type, 0);
      }
      if (added != nullptr) {
        float* const to = &x(0, row + t, 0);
        std::transform(to, to + size, added, to, std::plus<>());
      }
      position += is_counted ? 1 : 0;
    }
  }

  // use(b, row) of each sequence and its first row.
  template <class Use>
  void each_sequence(const Use& use) const {
    executor_.parallel_for(ids_.size(), 1,
                           [&](std::size_t begin, std::size_t end) {
                             const FloatEnvironment environment;
                             for (std::size_t b = begin; b < end; ++b) {
                               use(b, static_cast<std::size_t>(offsets_[b]));
                             }
                           });
  }

  Status apply_linear(const std::optional<Linear>& linear, Rows& x) const {
    if (linear) {
      HEADWISE_ASSIGN(x, linear->forward(x, "embedded", executor_));
    }
    return ok();
  }

  Status run_layer(std::size_t n, Rows& x) const {
    const Block& block = *params_.layers[n];
    const auto& around = block.around_attention;
    const auto& around_feed = block.around_feed_forward;
    HEADWISE_ASSIGN(auto input, PartInput::of(around.before, x, executor_));
    HEADWISE_ASSIGN(auto attended, attend(n, input.rows()));
    HEADWISE_TRY(apply_norm(around.after, attended, executor_));
    if (stack_.parallel) {
      if (around_feed.before) {
        HEADWISE_ASSIGN(input, PartInput::of(around_feed.before, x, executor_));
      }
      HEADWISE_ASSIGN(const auto fed,
                      fed_forward(block.feed_forward, stack_.feed_forward,
                                  input.rows(), executor_));
      add_rows(attended, x, executor_);
      add_rows(fed, x, executor_);
      return ok();
    }
    HEADWISE_TRY(add_part(attended, around.behind, x, executor_));
    if (block.cross) {
      HEADWISE_TRY(look_at_encoder(n, *block.cross, x));
    }
    HEADWISE_ASSIGN(input, PartInput::of(around_feed.before, x, executor_));
    HEADWISE_ASSIGN(auto fed,
                    fed_forward(block.feed_forward, stack_.feed_forward,
                                input.rows(), executor_));
    HEADWISE_TRY(apply_norm(around_feed.after, fed, executor_));
    return add_part(fed, around_feed.behind, x, executor_);
  }

  // Attention of a decoder's tokens to those of its encoder, added to x.
  Status look_at_encoder(std::size_t n, const CrossAttention& cross,
                         Rows& x) const {
    const Encoded& encoded = *input_.encoded;
    HEADWISE_ASSIGN(const auto input,
                    PartInput::of(cross.around.before, x, executor_));
    const SeenHeads seen = seen_heads(AttentionKind::cross, n);
    HEADWISE_ASSIGN(
        const auto made,
        transformer::attend(
            cross.attention,
            {.query = input.rows(),
             .key = encoded.rows,
             .options = {.scale = stack_.heads.scale,
                         .offsets = Offsets(offsets_, encoded.offsets),
                         .executor = &executor_}},
            seen));
    HEADWISE_TRY(show_weights(AttentionKind::cross, n, seen, made));
    return add_part(made.output, cross.around.behind, x, executor_);
  }

  AttentionOptions options_of(std::size_t n) const {
    const HeadsSpec& heads = stack_.heads;
    const LayerSpec& layer = stack_.layers[n];
    const Block& block = *params_.layers[n];
    AttentionOptions options{.scale = heads.scale * layer.scale,
                             .softcap = heads.softcap,
                             .offsets = offsets_,
                             .executor = &executor_};
    if (layer.window) {
      const auto reach = static_cast<std::int64_t>(*layer.window) - 1;
      options.mask = window(reach, stack_.causal ? 0 : reach);
    } else if (stack_.causal) {
      options.mask = causal();
    }
    if (block.sinks.size() != 0) {
      options.sinks = block.sinks;
    }
    if (heads.relative) {
      options.t5_bias = {.table = params_.relative,
                         .max_distance = static_cast<std::int64_t>(
                             heads.relative->max_distance),
                         .bidirectional = heads.relative->bidirectional};
    }
    return options;
  }

  Result<Rows> attend(std::size_t n, const Rows& x) const {
    const AttentionKind kind =
        input_.is_encoder ? AttentionKind::encoder : AttentionKind::self;
    if (const auto& see = input_.pass.before_each; see && !input_.is_encoder) {
      HEADWISE_TRY(see(n, x));
    }
    const SeenHeads seen = seen_heads(kind, n);
    const LayerSpec& layer = stack_.layers[n];
    const bool by_length =
        layer.rotary && stack_.rotary[*layer.rotary].limit != 0;
    HEADWISE_ASSIGN(auto made, by_length || stack_.heads.distances
                                   ? attend_apart(n, by_length, x, seen)
                                   : attend_together(n, x, seen));
    HEADWISE_TRY(show_weights(kind, n, seen, made));
    return std::move(made.output);
  }

  Result<SeenAttention> attend_together(std::size_t n, const Rows& x,
                                        const SeenHeads& seen) const {
    const HeadHooks hooks = hooks_of({n});
    AttentionCall call{.query = x,
                       .key = x,
                       .options = options_of(n),
                       .layer = layer_options_of(n, hooks)};
    Tensor<float, 2> key_bias;
    if (!stack_.heads.key_slopes.empty()) {
      HEADWISE_ASSIGN(key_bias, bias_of_keys());
      call.bias_of_keys = &key_bias;
    }
    return transformer::attend(params_.layers[n]->attention, call, seen);
  }

  // Of an encoder-decoder, those of the decoder.
  HeadHooks hooks_of(HookPlace at) const {
    return input_.is_encoder ? HeadHooks{} : hooks_at(input_.pass.hooks, at);
  }
  LayerOptions layer_options_of(std::size_t n, const HeadHooks& hooks) const {
    return input_.is_encoder ? LayerOptions{}
                             : layer_options(input_.pass.head_gates, n,
                                             input_.pass.hooks, hooks);
  }

  // Sequence by sequence: its length decides on the rotation, or its tokens on
  // a bias.
  Result<SeenAttention> attend_apart(std::size_t n, bool by_length,
                                     const Rows& x,
                                     const SeenHeads& seen) const {
    const Block& block = *params_.layers[n];
    const std::size_t longest = max_sequence_length(ids_);
    SeenAttention all;
    HEADWISE_ASSIGN(all.output, Rows::create_unset(x.extents()));
    for (std::size_t w = 0; w < (seen.all ? 1 : seen.heads.size()); ++w) {
      HEADWISE_ASSIGN(all.attn_weights.emplace_back(),
                      Tensor<float, 4>::create(
                          {ids_.size(), seen.all ? stack_.heads.num_heads : 1,
                           longest, longest}));
    }
    for (std::size_t b = 0; b < ids_.size(); ++b) {
      const std::size_t length = ids_[b].size();
      if (length == 0) {
        continue;
      }
      const auto first = static_cast<std::size_t>(offsets_[b]);
      const TensorView<const float, 3> rows(&x(0, first, 0),
                                            {1, length, x.extent(2)});
      const HeadHooks hooks = hooks_of({n, first});
      AttentionCall call{.query = rows,
                         .key = rows,
                         .options = options_of(n),
                         .layer = layer_options_of(n, hooks)};
      call.options.offsets = {};
      std::optional<Rotary> rotary;
      if (by_length) {
        const RotarySpec& spec = stack_.rotary[*stack_.layers[n].rotary];
        HEADWISE_ASSIGN(rotary, Rotary::create(spec.config_of(length)));
        call.layer.rotary = &*rotary;
      }
      Tensor<float, 3> bias;
      if (stack_.heads.distances) {
        HEADWISE_ASSIGN(bias,
                        distance_bias(block, stack_.heads, rows, executor_));
        call.bias_of_pairs = &bias;
      }
      HEADWISE_ASSIGN(const auto one,
                      transformer::attend(block.attention, call, seen));
      std::ranges::copy(one.output.elements(), &all.output(0, first, 0));
      for (std::size_t w = 0; w < one.attn_weights.size(); ++w) {
        const Tensor<float, 4>& weights = one.attn_weights[w];
        for (std::size_t row = 0; row < weights.size() / length; ++row) {
          std::copy_n(weights.data() + row * length, length,
                      &all.attn_weights[w](b, row / length, row % length, 0));
        }
      }
    }
    return all;
  }

  // Behind the first layer: x = norm(x + f(rows around each embedding)).
  Status add_convolution(const Rows& embeddings, Rows& x) const {
    const ConvolutionSpec& spec = *stack_.convolution;
    const std::size_t E = x.extent(2);
    HEADWISE_ASSIGN(auto around,
                    Rows::create({1, x.extent(1), spec.width * E}));
    const std::size_t before = (spec.width - 1) / 2;
    each_sequence([&](std::size_t b, std::size_t first) {
      for (std::size_t t = 0; t < ids_[b].size(); ++t) {
        for (std::size_t at = 0; at < spec.width; ++at) {
          if (t + at >= before && t + at - before < ids_[b].size()) {
            std::copy_n(&embeddings(0, first + t + at - before, 0), E,
                        &around(0, first + t, at * E));
          }
        }
      }
    });
    HEADWISE_ASSIGN(auto made, params_.convolution->linear.forward(
                                   around, "embedded", executor_));
    const TensorView<float, 2> rows(made.data(), {x.extent(1), E});
    if (spec.activation) {
      HEADWISE_TRY(activate(*spec.activation, rows, rows, executor_));
    } else {
      const FloatEnvironment environment;
      std::ranges::transform(made.elements(), made.data(),
                             [](float e) { return std::tanh(e); });
    }
    return add_layer_norm(rows_of(made), rows_of(x), params_.convolution->norm,
                          rows_of(x.view()), executor_);
  }

  // (heads, longest sequence)
  Result<Tensor<float, 2>> bias_of_keys() const {
    const std::vector<float>& slopes = stack_.heads.key_slopes;
    HEADWISE_ASSIGN(auto bias, Tensor<float, 2>::create_unset(
                                   {slopes.size(), max_sequence_length(ids_)}));
    for (std::size_t h = 0; h < slopes.size(); ++h) {
      for (std::size_t j = 0; j < bias.extent(1); ++j) {
        const float product = slopes[h] * static_cast<float>(j);
        bias(h, j) = static_cast<float>(stack_.heads.scale) *
                     widened(narrowed_to_bfloat16(product));
      }
    }
    return bias;
  }

  const StackSpec& stack_;
  const StackParams& params_;
  const StackInput& input_;
  const RaggedTokens& ids_;
  const Executor& executor_;
  std::vector<std::int64_t> offsets_;
};

}  // namespace

Result<Rows> run_stack(const StackSpec& stack, const StackParams& params,
                       const StackInput& input) {
  return StackRun(stack, params, input).run();
}

}  // namespace headwise::inline HEADWISE_ABI::transformer
