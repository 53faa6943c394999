#include "headwise/transformer/transformer.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "base/check.h"
#include "base/out_of_memory.h"
#include "headwise/base/half.h"
#include "headwise/steps/activation.h"
#include "interop/input_file.h"
#include "interop/read_bytes.h"
#include "run/float_environment.h"
#include "transformer/families.h"
#include "transformer/params.h"

namespace headwise::inline HEADWISE_ABI {

using transformer::Block;
using transformer::Description;
using transformer::EmbeddingSpec;
using transformer::FeedForward;
using transformer::HeadsSpec;
using transformer::LayerSpec;
using transformer::Params;
using transformer::RowNorm;
using transformer::StackSpec;

namespace {

constexpr std::string_view kTransformer = "transformer";

using Rows = Tensor<float, 3>;  // (1, rows, features)

std::vector<std::int64_t> sequence_offsets(const RaggedTokens& ids) {
  std::vector<std::int64_t> offsets = {0};
  for (const auto& sequence : ids) {
    offsets.push_back(offsets.back() +
                      static_cast<std::int64_t>(sequence.size()));
  }
  return offsets;
}

void add_rows(const Rows& x, Rows& to) {
  const FloatEnvironment environment;
  std::transform(to.data(), to.data() + to.size(), x.data(), to.data(),
                 std::plus<>());
}

// x = norm(x), if it is there.
Status apply_norm(const std::optional<RowNorm>& norm, Rows& x,
                  const Executor& executor) {
  return norm ? norm->apply(x, x.view(), executor) : ok();
}

// norm(x), if it is there; else a copy.
Result<Rows> normed(const std::optional<RowNorm>& norm, const Rows& x,
                    const Executor& executor) {
  if (!norm) {
    return x.clone();
  }
  HEADWISE_ASSIGN(auto y, Rows::create_unset(x.extents()));
  HEADWISE_TRY(norm->apply(x, y.view(), executor));
  return y;
}

Result<Rows> fed_forward(const FeedForward& network, Activation activation,
                         const Rows& x, const Executor& executor) {
  HEADWISE_ASSIGN(auto inner, network.up.forward(x, "hidden", executor));
  const std::size_t rows = inner.extent(1);
  const std::size_t width = network.down.in_features();
  const auto stride = static_cast<std::ptrdiff_t>(inner.extent(2));
  const TensorView<float, 2> gate(inner.data(), {rows, width}, {stride, 1});
  if (network.gated) {
    const TensorView<float, 2> up(inner.data() + width, {rows, width},
                                  {stride, 1});
    HEADWISE_TRY(activate_gate(activation, gate, up, gate, executor));
  } else {
    HEADWISE_TRY(activate(activation, gate, gate, executor));
  }
  const TensorView<const float, 3> activated(inner.data(), {1, rows, width},
                                             {0, stride, 1});
  return network.down.forward(activated, "intermediate", executor);
}

// A pass through the layers of a stack.
class StackRun {
 public:
  StackRun(const StackSpec& stack, const Params& params,
           const RaggedTokens& ids, const TransformerPass& pass)
      : stack_(stack),
        params_(params),
        ids_(ids),
        pass_(pass),
        executor_(pass.executor ? *pass.executor
                                : Executor::default_executor()),
        offsets_(sequence_offsets(ids)) {}

  Result<Rows> run() {
    HEADWISE_ASSIGN(auto x, embedded());
    for (std::size_t n = 0; n < stack_.layers.size(); ++n) {
      HEADWISE_TRY(show(n, x));
      HEADWISE_TRY(run_layer(n, x));
    }
    HEADWISE_TRY(apply_norm(params_.final_norm, x, executor_));
    HEADWISE_TRY(show(stack_.layers.size(), x));
    return x;
  }

 private:
  Status show(std::size_t layer, const Rows& x) const {
    return pass_.see_hidden
               ? pass_.see_hidden(layer, {x.data(), {x.extent(1), x.extent(2)}})
               : ok();
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
    each_sequence(
        [&](std::size_t b, std::size_t row) { place(ids_[b], row, x); });
    HEADWISE_TRY(apply_norm(params_.embedding_norm, x, executor_));
    HEADWISE_TRY(apply_linear(params_.embedding_projection, x));
    return x;
  }

  // Adds positions and token types to the rows of a sequence.
  void place(const std::vector<TokenId>& ids, std::size_t row, Rows& x) const {
    const EmbeddingSpec& spec = stack_.embedding;
    const std::size_t size = x.extent(2);
    const auto add = [&](const float* from, std::size_t to) {
      std::transform(from, from + size, &x(0, to, 0), &x(0, to, 0),
                     std::plus<>());
    };
    std::size_t position = spec.first_position;
    for (std::size_t t = 0; t < ids.size(); ++t) {
      if (params_.token_types.size() != 0) {
        add(&params_.token_types(0, 0), row + t);
      }
      const bool is_counted = !spec.uncounted || ids[t] != *spec.uncounted;
      if (params_.positions.size() != 0) {
        add(&params_.positions(is_counted ? position : spec.first_position - 1,
                               0),
            row + t);
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
    const Activation activation = stack_.feed_forward.activation;
    HEADWISE_ASSIGN(auto input, normed(around.before, x, executor_));
    HEADWISE_ASSIGN(auto attended, attend(n, input));
    HEADWISE_TRY(apply_norm(around.after, attended, executor_));
    if (stack_.parallel) {
      if (around_feed.before) {
        HEADWISE_TRY(around_feed.before->apply(x, input.view(), executor_));
      }
      HEADWISE_ASSIGN(
          const auto fed,
          fed_forward(block.feed_forward, activation, input, executor_));
      add_rows(attended, x);
      add_rows(fed, x);
      return ok();
    }
    add_rows(attended, x);
    HEADWISE_TRY(apply_norm(around.behind, x, executor_));
    HEADWISE_ASSIGN(input, normed(around_feed.before, x, executor_));
    HEADWISE_ASSIGN(auto fed, fed_forward(block.feed_forward, activation, input,
                                          executor_));
    HEADWISE_TRY(apply_norm(around_feed.after, fed, executor_));
    add_rows(fed, x);
    return apply_norm(around_feed.behind, x, executor_);
  }

  Result<Rows> attend(std::size_t n, const Rows& x) const {
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
    Tensor<float, 2> key_bias;
    if (!heads.key_slopes.empty()) {
      HEADWISE_ASSIGN(key_bias, bias_of_keys());
      options.bias = dense<2>(key_bias.view(), {Axis::H, Axis::Lkv});
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
    if (pass_.see_attn_weights) {
      options.attn_weights = AttnWeights::per_head;
    }
    HEADWISE_ASSIGN(auto result, block.attention.forward(x, x, x, options));
    if (pass_.see_attn_weights) {
      HEADWISE_TRY(pass_.see_attn_weights(n, result.attn_weights));
    }
    return std::move(result.output);
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
  const Params& params_;
  const RaggedTokens& ids_;
  const TransformerPass& pass_;
  const Executor& executor_;
  std::vector<std::int64_t> offsets_;
};

Status check_lengths(const RaggedTokens& ids, std::size_t most) {
  for (std::size_t b = 0; b < ids.size(); ++b) {
    if (most != 0 && ids[b].size() > most) {
      return argument_error(kTransformer, "tokens[" + std::to_string(b) + "]",
                            message("has {} tokens", ids[b].size()),
                            message("at most {}", most),
                            ErrorCode::out_of_range);
    }
  }
  return ok();
}

}  // namespace

struct Transformer::State {
  Description description;
  Params params;
  TransformerShape shape;
};

Result<Transformer> Transformer::read(const std::string& folder,
                                      const TransformerAccess& access) {
  return catching_out_of_memory([&]() -> Result<Transformer> {
    constexpr std::size_t kMostBytes = std::size_t{1} << 24U;
    constexpr std::size_t kDeepest = 20;
    HEADWISE_ASSIGN(
        auto file,
        internal::InputFile::open("read_transformer", folder + "/config.json"));
    HEADWISE_ASSIGN(const auto bytes, read_at_most(file, kMostBytes));
    const auto json = Json::parse(text_of(bytes), kMostBytes, kDeepest);
    if (!json || !json->is_object()) {
      return file.subject().bad_data("is not a JSON object");
    }
    HEADWISE_ASSIGN(auto description,
                    transformer::describe_model({&*json, file.subject(), ""}));
    HEADWISE_ASSIGN(auto params,
                    transformer::read_params(folder, description, access.file,
                                             access.arithmetic));
    const StackSpec& stack = description.stack;
    TransformerShape shape{
        .family = description.family,
        .num_layers = stack.layers.size(),
        .num_heads = stack.heads.num_heads,
        .num_kv_heads = stack.heads.num_kv_heads,
        .hidden_size = stack.hidden_size,
        .vocab_size = stack.embedding.vocab_size,
        .max_positions =
            stack.embedding.positions == 0
                ? 0
                : stack.embedding.positions - stack.embedding.first_position,
        .causal = stack.causal,
        .has_logits = params.unembedding.has_value()};
    return Transformer(std::unique_ptr<State>(new State{
        std::move(description), std::move(params), std::move(shape)}));
  });
}

const TransformerShape& Transformer::shape() const { return state_->shape; }

Result<Tensor<float, 2>> Transformer::hidden(
    const RaggedTokens& ids, const TransformerPass& pass) const {
  return catching_out_of_memory([&]() -> Result<Tensor<float, 2>> {
    HEADWISE_TRY(check_tokens(ids, shape().vocab_size));
    HEADWISE_TRY(check_lengths(ids, shape().max_positions));
    HEADWISE_ASSIGN(
        auto x,
        StackRun(state_->description.stack, state_->params, ids, pass).run());
    return std::move(x).without_batch();
  });
}

Result<Tensor<float, 2>> Transformer::logits(TensorView<const float, 2> hidden,
                                             const Executor* executor) const {
  return catching_out_of_memory([&]() -> Result<Tensor<float, 2>> {
    const auto& [description, params, shape] = *state_;
    if (!params.unembedding) {
      return Error{
          ErrorCode::unsupported,
          {.operation = std::string(kTransformer),
           .given = message("a model of type {} has no logits", shape.family)}};
    }
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

}  // namespace headwise::inline HEADWISE_ABI
