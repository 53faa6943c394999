#include "transformer/stack_pass.h"

#include <algorithm>
#include <functional>

#include "headwise/base/half.h"
#include "transformer/cached_sequences.h"

namespace headwise::inline HEADWISE_ABI::transformer {

void add_rows(const Rows& y, Rows& x, const Executor& executor) {
  constexpr std::size_t kAtATime = 32768;
  executor.parallel_for(
      x.size(), kAtATime, [&](std::size_t begin, std::size_t end) {
        const FloatEnvironment environment;
        std::transform(x.data() + begin, x.data() + end, y.data() + begin,
                       x.data() + begin, std::plus<>());
      });
}

Result<Rows> StackPass::tokens() const {
  const EmbeddingSpec& spec = stack_.embedding;
  const auto rows = static_cast<std::size_t>(offsets_.back());
  HEADWISE_ASSIGN(auto x, Rows::create_unset({1, rows, spec.size}));
  const auto scale = static_cast<float>(spec.scale);
  each_sequence([&](std::size_t b, std::size_t row) {
    for (const TokenId id : ids()[b]) {
      float* const to = &x(0, row++, 0);
      params_.copy_token(static_cast<std::size_t>(id), to);
      std::transform(to, to + spec.size, to,
                     [scale](float e) { return e * scale; });
    }
  });
  return x;
}

// Tokens with the id `uncounted` stand before the first position.
std::vector<TokenId> StackPass::positions(std::size_t b) const {
  const EmbeddingSpec& spec = stack_.embedding;
  std::vector<TokenId> found;
  found.reserve(ids()[b].size());
  std::size_t position = spec.first_position + before(b);
  for (const TokenId id : ids()[b]) {
    const bool is_counted = !spec.uncounted || id != *spec.uncounted;
    found.push_back(static_cast<TokenId>(is_counted ? position++
                                                    : spec.first_position - 1));
  }
  return found;
}

void StackPass::add_places(Rows& x) const {
  if (params_.places.empty() && params_.token_types.size() == 0) {
    return;
  }
  const auto types = input_.pass.token_types;
  const std::size_t size = x.extent(2);
  each_sequence([&](std::size_t b, std::size_t row) {
    const std::vector<TokenId> places = positions(b);
    for (std::size_t t = 0; t < places.size(); ++t) {
      const std::size_t type =
          types.empty() ? 0 : static_cast<std::size_t>(types[b][t]);
      const float* const added =
          params_.places.empty()
              ? &params_.token_types(type, 0)
              : &params_.places[type](static_cast<std::size_t>(places[t]), 0);
      float* const to = &x(0, row + t, 0);
      std::transform(to, to + size, added, to, std::plus<>());
    }
  });
}

bool StackPass::is_apart(std::size_t layer) const {
  const auto& rotary = stack_.layers[layer].rotary;
  return stack_.heads.distances ||
         (rotary && stack_.rotary[*rotary].limit != 0);
}

Result<std::optional<Rotary>> StackPass::rotary_of(std::size_t layer,
                                                   std::size_t length) const {
  std::optional<Rotary> made;
  const auto& rotary = stack_.layers[layer].rotary;
  if (rotary && stack_.rotary[*rotary].limit != 0) {
    HEADWISE_ASSIGN(made,
                    Rotary::create(stack_.rotary[*rotary].config_of(length)));
  }
  return made;
}

AttentionOptions StackPass::options_of(std::size_t n) const {
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
    options.t5_bias = {
        .table = layer.kept_heads ? block.relative : params_.relative,
        .max_distance = static_cast<std::int64_t>(heads.relative->max_distance),
        .bidirectional = heads.relative->bidirectional};
  }
  return options;
}

Result<Tensor<float, 2>> StackPass::bias_of_keys(std::size_t layer) const {
  const std::vector<float>& slopes = stack_.heads.key_slopes;
  if (slopes.empty()) {
    return Tensor<float, 2>();
  }
  const std::vector<std::size_t> heads = stack_.heads_in(layer);
  HEADWISE_ASSIGN(auto bias, Tensor<float, 2>::create_unset(
                                 {heads.size(), most_keys(layer)}));
  for (std::size_t h = 0; h < heads.size(); ++h) {
    for (std::size_t j = 0; j < bias.extent(1); ++j) {
      const float product = slopes[heads[h]] * static_cast<float>(j);
      bias(h, j) = static_cast<float>(stack_.heads.scale) *
                   widened(narrowed_to_bfloat16(product));
    }
  }
  return bias;
}

HeadHooks StackPass::hooks_of(HookPlace at) const {
  if (input_.is_encoder) {
    at.kind = AttentionKind::encoder;
  }
  return hooks_at(input_.pass.hooks, at);
}

LayerOptions StackPass::layer_options_of(std::size_t n,
                                         const HeadHooks& hooks) const {
  return layer_options(
      input_.is_encoder ? HeadGateSpan() : input_.pass.head_gates, n,
      input_.pass.hooks, hooks);
}

void StackPass::continue_cached(std::size_t n, std::size_t first_sequence,
                                std::size_t sequences, Continued& continued,
                                LayerOptions& options) const {
  if (input_.cached == nullptr || !input_.cached->layers[n]) {
    return;
  }
  for (std::size_t b = first_sequence; b < first_sequence + sequences; ++b) {
    continued.ids.push_back(input_.cached->sequences[b]->ids[n]);
    for (std::size_t t = 0; t < ids()[b].size(); ++t) {
      continued.positions.push_back(static_cast<std::int64_t>(before(b) + t));
    }
  }
  options.cache = &*input_.cached->layers[n];
  options.sequences = continued.ids;
  if (stack_.layers[n].rotary) {
    const TensorView<const std::int64_t, 2> positions(
        continued.positions.data(), {1, continued.positions.size()});
    options.positions = {positions, positions};
  }
}

std::size_t StackPass::before(std::size_t b) const {
  return input_.cached != nullptr ? input_.cached->sequences[b]->given : 0;
}

std::size_t StackPass::rotation_length(std::size_t b) const {
  const std::size_t added = ids()[b].size();
  return input_.cached != nullptr
             ? input_.cached->sequences[b]->rotation_length(added)
             : added;
}

std::size_t StackPass::keys(std::size_t n, std::size_t b) const {
  const std::size_t added = ids()[b].size();
  return input_.cached != nullptr
             ? input_.cached->sequences[b]->held_in(n) + added
             : added;
}

std::size_t StackPass::most_keys(std::size_t n) const {
  std::size_t most = 0;
  for (std::size_t b = 0; b < ids().size(); ++b) {
    most = std::max(most, keys(n, b));
  }
  return most;
}

template <class Use>
void StackPass::each_around(const Use& use) const {
  const std::size_t width = stack_.convolution->width;
  const std::size_t before = (width - 1) / 2;
  each_sequence([&](std::size_t b, std::size_t first) {
    const std::size_t L = ids()[b].size();
    for (std::size_t t = 0; t < L; ++t) {
      for (std::size_t at = 0; at < width; ++at) {
        if (t + at >= before && t + at - before < L) {
          use(first + t + at - before, first + t, at);
        }
      }
    }
  });
}

Result<Rows> StackPass::around(const Rows& x) const {
  const auto [one, rows, E] = x.extents();
  HEADWISE_ASSIGN(auto made,
                  Rows::create({1, rows, stack_.convolution->width * E}));
  each_around([&, E = E](std::size_t row, std::size_t of, std::size_t at) {
    std::copy_n(&x(0, row, 0), E, &made(0, of, at * E));
  });
  return made;
}

Result<Rows> StackPass::back_from_around(const Rows& d_around) const {
  const auto [one, rows, features] = d_around.extents();
  const std::size_t E = features / stack_.convolution->width;
  HEADWISE_ASSIGN(auto d_x, Rows::create({1, rows, E}));
  each_around([&](std::size_t row, std::size_t of, std::size_t at) {
    float* const to = &d_x(0, row, 0);
    std::transform(to, to + E, &d_around(0, of, at * E), to, std::plus<>());
  });
  return d_x;
}

}  // namespace headwise::inline HEADWISE_ABI::transformer
