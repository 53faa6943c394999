#include "headwise/models/bert_encoder.h"

#include <algorithm>
#include <functional>
#include <string>

#include "base/check.h"
#include "base/out_of_memory.h"
#include "headwise/steps/gelu.h"
#include "headwise/steps/head_gates.h"
#include "models/bert_rows.h"
#include "run/float_environment.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kOperation = "bert_encoder";

Status resize(BertMemory& memory, std::size_t rows, const BertConfig& config) {
  const auto make = [&](Tensor<float, 3>& tensor, std::size_t features) {
    auto made = Tensor<float, 3>::create_unset_in(std::move(tensor),
                                                  {1, rows, features});
    if (made) {
      tensor = *std::move(made);
    }
    return made ? ok() : Status(made.error());
  };
  Status s = make(memory.hidden, config.hidden_size);
  if (s) {
    s = make(memory.attended, config.hidden_size);
  }
  return s ? make(memory.intermediate, config.intermediate_size) : s;
}

// attended = attention(hidden), and its weights where they are wanted.
Status attend(const MultiHeadAttention& attention,
              const AttentionOptions& options, BertMemory& memory,
              std::vector<Tensor<float, 4>>& attn_weights) {
  const auto x = std::as_const(memory.hidden).view();
  if (options.attn_weights == AttnWeights::none) {
    return attention.forward_into(x, x, x, memory.attended.view(), options);
  }
  auto result = attention.forward(x, x, x, options);
  HEADWISE_TRY(result);
  memory.attended = std::move(result->output);
  attn_weights.push_back(std::move(result->attn_weights));
  return ok();
}

// hidden = LayerNorm(hidden + attended)
Status add_norm(const LayerNormParams& norm, BertMemory& memory,
                const Executor& executor) {
  return add_layer_norm(rows_of(std::as_const(memory.attended).view()),
                        rows_of(std::as_const(memory.hidden).view()), norm,
                        rows_of(memory.hidden.view()), executor);
}

// attended = w_out gelu(w_in hidden)
Status feed_forward(const BertLayer& layer, BertMemory& memory,
                    const Executor& executor) {
  const TensorView<float, 3> intermediate = memory.intermediate.view();
  Status s = layer.intermediate.forward_into(
      std::as_const(memory.hidden).view(), intermediate, "hidden", executor);
  if (s) {
    s = gelu(rows_of(std::as_const(memory.intermediate).view()),
             rows_of(intermediate), executor);
  }
  return s ? layer.output.forward_into(
                 std::as_const(memory.intermediate).view(),
                 memory.attended.view(), "intermediate", executor)
           : s;
}

Status run_layer(const BertLayer& layer, const AttentionOptions& options,
                 BertMemory& memory,
                 std::vector<Tensor<float, 4>>& attn_weights) {
  const Executor& executor = *options.executor;
  Status s = attend(layer.attention, options, memory, attn_weights);
  if (s) {
    s = add_norm(layer.attention_norm, memory, executor);
  }
  if (s) {
    s = feed_forward(layer, memory, executor);
  }
  return s ? add_norm(layer.output_norm, memory, executor) : s;
}

}  // namespace

std::vector<std::int64_t> offsets_of(const RaggedTokens& ids) {
  std::vector<std::int64_t> offsets = {0};
  offsets.reserve(ids.size() + 1);
  for (const auto& sequence : ids) {
    offsets.push_back(offsets.back() +
                      static_cast<std::int64_t>(sequence.size()));
  }
  return offsets;
}

void embed(const RaggedTokens& ids, std::span<const std::int64_t> offsets,
           const BertEmbeddings& embeddings, TensorView<float, 3> hidden,
           const Executor& executor) {
  const std::size_t E = hidden.extent(2);
  executor.parallel_for(ids.size(), 8, [&](std::size_t begin, std::size_t end) {
    const FloatEnvironment environment;
    for (std::size_t b = begin; b < end; ++b) {
      for (std::size_t t = 0; t < ids[b].size(); ++t) {
        const float* const word =
            &embeddings.word(static_cast<std::size_t>(ids[b][t]), 0);
        const float* const place = &embeddings.place(t, 0);
        float* const to =
            &hidden(0, static_cast<std::size_t>(offsets[b]) + t, 0);
        std::transform(word, word + E, place, to, std::plus<>());
      }
    }
  });
}

TensorView<const float, 1> gates_of(const BertOptions& options,
                                    std::size_t layer) {
  return options.head_gates.empty() ? TensorView<const float, 1>()
                                    : options.head_gates[layer].view();
}

Status BertEncoder::check(const RaggedTokens& ids,
                          const BertOptions& options) const {
  const std::size_t before = options.before_layer.value_or(layers_.size());
  if (before > layers_.size()) {
    return value_error(kOperation, "before_layer", std::to_string(before),
                       "at most " + std::to_string(layers_.size()),
                       ErrorCode::out_of_range);
  }
  HEADWISE_TRY(check_gates(options.head_gates));
  for (std::size_t b = 0; b < ids.size(); ++b) {
    if (ids[b].size() > config_.max_positions) {
      return argument_error(kOperation, "ids[" + std::to_string(b) + "]",
                            "has " + std::to_string(ids[b].size()) + " tokens",
                            "at most " + std::to_string(config_.max_positions),
                            ErrorCode::out_of_range);
    }
  }
  return check_tokens(ids, config_.vocab_size);
}

namespace {

// "head_gates[1]" of a layer's "head_gates[1]" is "head_gates[LAYER][1]".
Error of_layer(const Error& error, std::size_t layer) {
  constexpr std::string_view kName = "head_gates";
  ErrorDetails details = error.details();
  if (!details.argument.starts_with(kName)) {
    return error;
  }
  details.argument.insert(kName.size(), "[" + std::to_string(layer) + "]");
  return {error.code(), std::move(details)};
}

}  // namespace

Status BertEncoder::check_gates(
    std::span<const Tensor<float, 1>> head_gates) const {
  if (head_gates.empty()) {
    return ok();
  }
  if (head_gates.size() != layers_.size()) {
    return argument_error(
        kOperation, "head_gates",
        "has " + std::to_string(head_gates.size()) + " layers",
        std::to_string(layers_.size()), ErrorCode::shape_mismatch);
  }
  for (std::size_t n = 0; n < layers_.size(); ++n) {
    if (Status s = check_head_gates(kOperation, head_gates[n].view(),
                                    heads_of(config_, n));
        !s) {
      return of_layer(s.error(), n);
    }
  }
  return ok();
}

Status BertEncoder::forward_in(
    const RaggedTokens& ids, const BertOptions& options, BertMemory& memory,
    std::vector<Tensor<float, 4>>& attn_weights) const {
  return catching_out_of_memory([&]() -> Status {
    HEADWISE_TRY(check(ids, options));
    const std::vector<std::int64_t> offsets = offsets_of(ids);
    if (Status s =
            resize(memory, static_cast<std::size_t>(offsets.back()), config_);
        !s || offsets.back() == 0) {
      return s;
    }
    AttentionOptions of_layers;
    of_layers.offsets =
        TensorView<const std::int64_t, 1>(offsets.data(), {offsets.size()});
    of_layers.attn_weights =
        options.attn_weights ? AttnWeights::per_head : AttnWeights::none;
    of_layers.executor =
        options.executor ? options.executor : &Executor::default_executor();
    embed(ids, offsets, embeddings_, memory.hidden.view(), *of_layers.executor);
    const auto hidden = rows_of(memory.hidden.view());
    Status s =
        layer_norm(hidden, embeddings_.norm, hidden, *of_layers.executor);
    const std::size_t last = options.before_layer.value_or(layers_.size());
    for (std::size_t n = 0; s && n < last; ++n) {
      if (options.before_each) {
        s = options.before_each(n, std::as_const(memory.hidden).view());
      }
      of_layers.head_gates = gates_of(options, n);
      s = !s ? s : run_layer(layers_[n], of_layers, memory, attn_weights);
    }
    return s;
  });
}

Result<BertResult> BertEncoder::forward(const RaggedTokens& ids,
                                        const BertOptions& options) const try {
  BertMemory memory;
  BertResult result;
  HEADWISE_TRY(forward_in(ids, options, memory, result.attn_weights));
  result.hidden = std::move(memory.hidden).without_batch();
  return result;
} catch (...) {
  return caught_out_of_memory();
}

}  // namespace headwise::inline HEADWISE_ABI
