#include "transformer/stack_run.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "headwise/attention/statistics_options.h"
#include "headwise/steps/activation.h"
#include "run/float_environment.h"
#include "transformer/cached_cross.h"
#include "transformer/convolution.h"
#include "transformer/distance_bias.h"
#include "transformer/feed_forward.h"
#include "transformer/pass_parts.h"
#include "transformer/seen_attention.h"
#include "transformer/stack_pass.h"

namespace headwise::inline HEADWISE_ABI::transformer {
namespace {

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

class StackRun : private StackPass {
 public:
  using StackPass::StackPass;

  Result<Rows> run() {
    const ModelPass& pass = input().pass;
    const std::size_t layers = stack().layers.size();
    const bool whole = input().is_encoder;
    const std::size_t first = pass.from && !whole ? pass.from->layer : 0;
    const std::size_t last =
        whole ? layers : pass.before_layer.value_or(layers);
    HEADWISE_ASSIGN(auto x,
                    pass.from && !whole ? entering(*pass.from) : embedded());
    Rows embeddings;
    if (params().convolution && first == 0) {
      HEADWISE_ASSIGN(embeddings, x.clone());
    }
    for (std::size_t n = first; n < last; ++n) {
      if (pass.see_entries && !whole) {
        HEADWISE_TRY(pass.see_entries(n, std::as_const(x).view()));
      }
      HEADWISE_TRY(run_layer(n, x));
      if (n == 0 && params().convolution) {
        HEADWISE_TRY(add_convolution(embeddings, x));
      }
    }
    if (last == layers) {
      HEADWISE_TRY(apply_norm(params().final_norm, x, executor()));
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

  // Of a head among those that a pruned layer has.
  std::size_t place_of(AttentionKind kind, std::size_t layer,
                       std::size_t head) const {
    if (kind == AttentionKind::cross) {
      return head;
    }
    const std::vector<std::size_t> kept = stack().heads_in(layer);
    return static_cast<std::size_t>(std::ranges::lower_bound(kept, head) -
                                    kept.begin());
  }
  SeenHeads seen_heads(AttentionKind kind, std::size_t layer) const {
    SeenHeads seen;
    const ModelPass& pass = input().pass;
    seen.all = pass.see_attn_weights && pass.heads.empty();
    for (const AttentionPlace& place : pass.heads) {
      if (pass.see_attn_weights && place.kind == kind && place.layer == layer) {
        seen.heads.push_back(place_of(kind, layer, *place.head));
      }
    }
    return seen;
  }
  Status show_weights(AttentionKind kind, std::size_t layer,
                      const SeenHeads& seen, const SeenAttention& made) const {
    for (std::size_t n = 0; n < made.attn_weights.size(); ++n) {
      AttentionPlace place{.kind = kind, .layer = layer};
      if (!seen.all) {
        place.head = kind == AttentionKind::cross
                         ? seen.heads[n]
                         : stack().heads_in(layer)[seen.heads[n]];
      }
      HEADWISE_TRY(input().pass.see_attn_weights(place, made.attn_weights[n]));
    }
    return ok();
  }

  Result<Rows> embedded() const {
    HEADWISE_ASSIGN(auto x, tokens());
    HEADWISE_TRY(apply_linear(params().token_projection, x));
    add_places(x);
    HEADWISE_TRY(apply_linear(params().placed_projection, x));
    HEADWISE_TRY(apply_norm(params().embedding_norm, x, executor()));
    HEADWISE_TRY(apply_linear(params().embedding_projection, x));
    return x;
  }

  Status apply_linear(const std::optional<Linear>& linear, Rows& x) const {
    if (linear) {
      HEADWISE_ASSIGN(x, linear->forward(x, "embedded", executor()));
    }
    return ok();
  }

  // What a part of a layer takes: x, or its norm until the next call.
  Result<const Rows*> taken(const std::optional<RowNorm>& norm, const Rows& x) {
    if (!norm) {
      return &x;
    }
    HEADWISE_ASSIGN(normed_,
                    Rows::create_unset_in(std::move(normed_), x.extents()));
    HEADWISE_TRY(
        layer_norm(rows_of(x), *norm, rows_of(normed_.view()), executor()));
    return &std::as_const(normed_);
  }

  // The result is in fed_.
  Status feed(const FeedForward& network, const Rows& x) {
    return fed_forward(network, stack().feed_forward, x, executor(), fed_);
  }

  Status run_layer(std::size_t n, Rows& x) {
    const Block& block = *params().layers[n];
    const auto& around = block.around_attention;
    const auto& around_feed = block.around_feed_forward;
    HEADWISE_ASSIGN(const Rows* in, taken(around.before, x));
    HEADWISE_ASSIGN(auto attended, attend(n, *in));
    HEADWISE_TRY(apply_norm(around.after, attended, executor()));
    if (stack().parallel) {
      if (around_feed.before) {
        HEADWISE_ASSIGN(in, taken(around_feed.before, x));
      }
      HEADWISE_TRY(feed(block.feed_forward, *in));
      add_rows(attended, x, executor());
      add_rows(fed_.output, x, executor());
      return ok();
    }
    HEADWISE_TRY(add_part(attended, around.behind, x, executor()));
    if (block.cross) {
      HEADWISE_TRY(look_at_encoder(n, *block.cross, x));
    }
    if (block.feed_forward.networks.empty()) {
      return ok();
    }
    HEADWISE_ASSIGN(in, taken(around_feed.before, x));
    HEADWISE_TRY(feed(block.feed_forward, *in));
    HEADWISE_TRY(apply_norm(around_feed.after, fed_.output, executor()));
    return add_part(fed_.output, around_feed.behind, x, executor());
  }

  // Attention of a decoder's tokens to those of its encoder, added to x.
  Status look_at_encoder(std::size_t n, const CrossAttention& cross, Rows& x) {
    HEADWISE_ASSIGN(const Rows* const in, taken(cross.around.before, x));
    const SeenHeads seen = seen_heads(AttentionKind::cross, n);
    HEADWISE_ASSIGN(const auto made, attend_across(n, cross, *in, seen));
    HEADWISE_TRY(show_weights(AttentionKind::cross, n, seen, made));
    return add_part(made.output, cross.around.behind, x, executor());
  }

  Result<SeenAttention> attend_across(std::size_t n,
                                      const CrossAttention& cross,
                                      const Rows& x,
                                      const SeenHeads& seen) const {
    if (input().cached != nullptr) {
      return attend_to_encoded({.attention = cross.attention,
                                .layer = n,
                                .scale = stack().heads.scale,
                                .query = x,
                                .offsets = offsets(),
                                .sequences = input().cached->sequences,
                                .pass = input().pass,
                                .executor = executor()},
                               seen);
    }
    const Encoded& encoded = *input().encoded;
    const HeadHooks hooks = hooks_of({n, 0, AttentionKind::cross});
    return transformer::attend(
        cross.attention,
        {.query = x,
         .key = encoded.rows,
         .options = {.scale = stack().heads.scale,
                     .offsets = Offsets(offsets(), encoded.offsets),
                     .executor = &executor()},
         .layer = layer_options({}, n, input().pass.hooks, hooks)},
        seen);
  }

  Result<Rows> attend(std::size_t n, const Rows& x) const {
    const AttentionKind kind =
        input().is_encoder ? AttentionKind::encoder : AttentionKind::self;
    if (const auto& see = input().pass.before_each;
        see && !input().is_encoder) {
      HEADWISE_TRY(see(n, x));
    }
    const SeenHeads seen = seen_heads(kind, n);
    HEADWISE_ASSIGN(auto made, is_apart(n) ? attend_apart(n, x, seen)
                                           : attend_together(n, x, seen));
    HEADWISE_TRY(show_weights(kind, n, seen, made));
    return std::move(made.output);
  }

  Result<SeenAttention> attend_together(std::size_t n, const Rows& x,
                                        const SeenHeads& seen) const {
    const HeadHooks hooks = hooks_of(
        {n, 0, AttentionKind::self, ids().size() == 1 ? before(0) : 0});
    AttentionCall call{.query = x,
                       .key = x,
                       .options = options_of(n),
                       .layer = layer_options_of(n, hooks)};
    HEADWISE_ASSIGN(const auto key_bias, bias_of_keys(n));
    call.bias_of_keys = key_bias.size() != 0 ? &key_bias : nullptr;
    Continued continued;
    continue_cached(n, 0, ids().size(), continued, call.layer);
    return attend_and_measure({n}, call, seen);
  }

  // With what is seen of the statistics of its rows.
  Result<SeenAttention> attend_and_measure(HookPlace at, AttentionCall& call,
                                           const SeenHeads& seen) const {
    const MultiHeadAttention& attention = params().layers[at.layer]->attention;
    const auto& see = input().pass.see_statistics;
    Tensor<float, 4> statistics;
    if (see && call.layer.cache != nullptr) {
      HEADWISE_ASSIGN(statistics, Tensor<float, 4>::create_unset(
                                      {1, attention.config().num_heads,
                                       call.query.extent(1), kStatistics}));
      call.layer.statistics = statistics.view();
    }
    HEADWISE_ASSIGN(auto made, transformer::attend(attention, call, seen));
    if (statistics.size() != 0) {
      HEADWISE_TRY(see(at, statistics));
    }
    return made;
  }

  // Sequence by sequence: its length decides on the rotation, or its tokens on
  // a bias.
  Result<SeenAttention> attend_apart(std::size_t n, const Rows& x,
                                     const SeenHeads& seen) const {
    const Block& block = *params().layers[n];
    const std::size_t longest = max_sequence_length(ids());
    SeenAttention all;
    HEADWISE_ASSIGN(all.output, Rows::create_unset(x.extents()));
    for (std::size_t w = 0; w < (seen.all ? 1 : seen.heads.size()); ++w) {
      HEADWISE_ASSIGN(
          all.attn_weights.emplace_back(),
          Tensor<float, 4>::create(
              {ids().size(), seen.all ? block.attention.config().num_heads : 1,
               longest, most_keys(n)}));
    }
    for (std::size_t b = 0; b < ids().size(); ++b) {
      const std::size_t length = ids()[b].size();
      if (length == 0) {
        continue;
      }
      const auto first = static_cast<std::size_t>(offsets()[b]);
      const TensorView<const float, 3> rows(&x(0, first, 0),
                                            {1, length, x.extent(2)});
      const HeadHooks hooks =
          hooks_of({n, first, AttentionKind::self, before(b)});
      AttentionCall call{.query = rows,
                         .key = rows,
                         .options = options_of(n),
                         .layer = layer_options_of(n, hooks)};
      call.options.offsets = {};
      Continued continued;
      continue_cached(n, b, 1, continued, call.layer);
      HEADWISE_ASSIGN(const auto rotary, rotary_of(n, rotation_length(b)));
      call.layer.rotary = rotary ? &*rotary : nullptr;
      Tensor<float, 3> bias;
      if (stack().heads.distances) {
        HEADWISE_ASSIGN(bias,
                        distance_bias(block, stack().heads, rows, executor()));
        call.bias_of_pairs = bias.size() != 0 ? &bias : nullptr;
      }
      HEADWISE_ASSIGN(const auto one,
                      attend_and_measure({n, first}, call, seen));
      std::ranges::copy(one.output.elements(), &all.output(0, first, 0));
      const std::size_t keys_of_one = keys(n, b);
      for (std::size_t w = 0; w < one.attn_weights.size(); ++w) {
        const Tensor<float, 4>& weights = one.attn_weights[w];
        for (std::size_t row = 0; row < weights.size() / keys_of_one; ++row) {
          std::copy_n(weights.data() + row * keys_of_one, keys_of_one,
                      &all.attn_weights[w](b, row / length, row % length, 0));
        }
      }
    }
    return all;
  }

  // Behind the first layer: x = norm(x + f(rows around each embedding)).
  Status add_convolution(const Rows& embeddings, Rows& x) const {
    HEADWISE_ASSIGN(const auto rows_around, around(embeddings));
    HEADWISE_ASSIGN(auto made, params().convolution->linear.forward(
                                   rows_around, "embedded", executor()));
    HEADWISE_TRY(activate_convolution(*stack().convolution, made, executor()));
    return add_layer_norm(rows_of(made), rows_of(x), params().convolution->norm,
                          rows_of(x.view()), executor());
  }

  // Memory that all layers use in turn.
  Rows normed_;
  FedRows fed_;
};

}  // namespace

Result<Rows> run_stack(const StackSpec& stack, const StackParams& params,
                       const StackInput& input) {
  return StackRun(stack, params, input).run();
}

}  // namespace headwise::inline HEADWISE_ABI::transformer
