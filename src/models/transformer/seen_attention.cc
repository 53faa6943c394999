#include "transformer/seen_attention.h"

#include <algorithm>
#include <utility>

#include "headwise/attention/forward.h"

namespace headwise::inline HEADWISE_ABI::transformer {
namespace {

// What the options of all heads say of one.
AttentionOptions options_of_head(const AttentionCall& call, std::size_t h) {
  AttentionOptions options = call.options;
  options.attn_weights = AttnWeights::per_head;
  if (call.bias_of_keys != nullptr) {
    options.bias =
        dense<1>({&(*call.bias_of_keys)(h, 0), {call.bias_of_keys->extent(1)}},
                 {Axis::Lkv});
  }
  if (call.bias_of_pairs != nullptr) {
    const auto [heads, Lq, Lkv] = call.bias_of_pairs->extents();
    options.bias = dense<2>({&(*call.bias_of_pairs)(h, 0, 0), {Lq, Lkv}},
                            {Axis::Lq, Axis::Lkv});
  }
  if (const auto sinks = options.sinks; sinks.data() != nullptr) {
    options.sinks = {sinks.data() + h, {1}};
  }
  if (const auto table = options.t5_bias.table; table.data() != nullptr) {
    options.t5_bias.table = {
        &table(0, h), {table.extent(0), 1}, {table.strides()[0], 1}};
  }
  return options;
}

Result<Tensor<float, 4>> weights_of_head(const HookedHeads& heads,
                                         const AttentionCall& call,
                                         std::size_t h) {
  const auto one = [](TensorView<const float, 4> all, std::size_t head) {
    return TensorView<const float, 4>(
        &all(0, 0, head, 0), {all.extent(0), all.extent(1), 1, all.extent(3)},
        all.strides());
  };
  const std::size_t group =
      HeadMap(heads.query.extent(2), heads.key.extent(2), heads.kv_groups)
          .kv_head(h);
  const auto query = one(heads.query, h);
  const auto value = one(heads.value, group);
  const Offsets& offsets = call.options.offsets;
  const bool ragged = offsets.ragged();
  const std::size_t B = ragged ? offsets.query.extent(0) - 1 : query.extent(0);
  const std::size_t Lq = ragged ? longest(offsets.query) : query.extent(1);
  const std::size_t Lkv = ragged ? longest(offsets.key) : value.extent(1);
  HEADWISE_ASSIGN(auto output,
                  Tensor<float, 4>::create_unset(
                      {query.extent(0), query.extent(1), 1, value.extent(3)}));
  HEADWISE_ASSIGN(auto weights,
                  Tensor<float, 4>::create_unset({B, 1, Lq, Lkv}));
  HEADWISE_TRY(attention(query, one(heads.key, group), value,
                         {.output = output, .attn_weights = weights},
                         options_of_head(call, h)));
  return weights;
}

Result<Tensor<float, 4>> head_of(const Tensor<float, 4>& weights,
                                 std::size_t h) {
  const auto [B, H, Lq, Lkv] = weights.extents();
  HEADWISE_ASSIGN(auto one, Tensor<float, 4>::create_unset({B, 1, Lq, Lkv}));
  for (std::size_t b = 0; b < B && one.size() != 0; ++b) {
    std::copy_n(&weights(b, h, 0, 0), Lq * Lkv, &one(b, 0, 0, 0));
  }
  return one;
}

}  // namespace

Result<SeenAttention> attend(const MultiHeadAttention& attention,
                             AttentionCall call, const SeenHeads& seen) {
  SeenAttention made;
  const AttentionCall& as_given = call;
  HeadHooks hooks =
      call.layer.hooks != nullptr ? *call.layer.hooks : HeadHooks{};
  const bool cached = call.layer.cache != nullptr;
  if (!seen.heads.empty() && !cached) {
    hooks.see_inputs =
        [&, given = hooks.see_inputs](const HookedHeads& heads) -> Status {
      for (const std::size_t h : seen.heads) {
        HEADWISE_ASSIGN(made.attn_weights.emplace_back(),
                        weights_of_head(heads, as_given, h));
      }
      return given ? given(heads) : ok();
    };
    call.layer.hooks = &hooks;
  }
  AttentionOptions options = call.options;
  if (call.bias_of_keys != nullptr) {
    options.bias = dense<2>(call.bias_of_keys->view(), {Axis::H, Axis::Lkv});
  }
  if (call.bias_of_pairs != nullptr) {
    options.bias =
        dense<3>(call.bias_of_pairs->view(), {Axis::H, Axis::Lq, Axis::Lkv});
  }
  const bool all = seen.all || (cached && !seen.heads.empty());
  options.attn_weights = all ? AttnWeights::per_head : AttnWeights::none;
  HEADWISE_ASSIGN(auto result, attention.forward(call.query, call.key, call.key,
                                                 options, call.layer));
  made.output = std::move(result.output);
  if (seen.all) {
    made.attn_weights.push_back(std::move(result.attn_weights));
  } else if (all) {
    for (const std::size_t h : seen.heads) {
      HEADWISE_ASSIGN(made.attn_weights.emplace_back(),
                      head_of(result.attn_weights, h));
    }
  }
  return made;
}

}  // namespace headwise::inline HEADWISE_ABI::transformer
