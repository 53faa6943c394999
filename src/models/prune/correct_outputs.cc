#include "prune/correct_outputs.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/copy_of.h"
#include "base/out_of_memory.h"
#include "models/bert_names.h"
#include "models/bert_rows.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kCorrectOutputs = "correct_outputs";

using Matrix =
    Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Vector = Eigen::VectorXd;

// Only a layer's projections of queries, keys and values.
Result<MultiHeadAttention> without_w_o(const MultiHeadAttention& layer) {
  const auto copy = [](const Linear& linear) -> Result<Linear> {
    auto weight = copy_of(linear.weight());
    auto bias = copy_of(linear.bias());
    HEADWISE_TRY(weight);
    HEADWISE_TRY(bias);
    return Linear::from_params(*std::move(weight), *std::move(bias));
  };
  const MultiHeadAttentionParams& params = *layer.params();
  HEADWISE_ASSIGN(auto w_q, copy(params.w_q));
  HEADWISE_ASSIGN(auto w_k, copy(params.w_k));
  HEADWISE_ASSIGN(auto w_v, copy(*params.w_v));
  return MultiHeadAttention::from_params(
      {std::move(w_q), std::move(w_k), std::move(w_v), {}},
      layer.config().num_heads);
}

// The calibration data on its way through both models.
struct Tokens {
  const RaggedTokens& ids;
  std::vector<std::int64_t> offsets;
  const Executor& executor;

  AttentionOptions options() const {
    AttentionOptions options;
    options.offsets = offsets;
    options.executor = &executor;
    return options;
  }
};

// (1, rows, E), what a layer takes.
Result<Tensor<float, 3>> hidden_before(const BertEncoder& encoder,
                                       std::size_t layer,
                                       const Tokens& tokens) {
  HEADWISE_ASSIGN(auto done,
                  encoder.forward(tokens.ids, {.before_layer = layer,
                                               .executor = &tokens.executor}));
  const auto [rows, E] = done.hidden.extents();
  return std::move(done.hidden).with_extents<3>({1, rows, E});
}

Result<Tensor<float, 3>> attend(const MultiHeadAttention& layer,
                                const Tensor<float, 3>& x,
                                const Tokens& tokens) {
  auto done = layer.forward(x, x, x, tokens.options());
  return done ? Result<Tensor<float, 3>>(std::move(done->output))
              : done.error();
}

// (rows, columns), in C order, in binary64.
Matrix matrix_of(const float* elements, std::size_t rows, std::size_t columns) {
  return Eigen::Map<const Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic,
                                        Eigen::RowMajor>>(
             elements, static_cast<Eigen::Index>(rows),
             static_cast<Eigen::Index>(columns))
      .cast<double>();
}

Matrix matrix_of(const Tensor<float, 3>& x) {
  return matrix_of(x.data(), x.extent(1), x.extent(2));
}

struct Fit {
  Matrix weight;  // (E, features)
  Vector bias;    // (E)
};

// contexts (rows, features), targets (rows, E), w_o (E, features).
Fit fit(Matrix contexts, Matrix targets, const Matrix& w_o, double ridge) {
  const Eigen::RowVectorXd context_mean = contexts.colwise().mean();
  const Eigen::RowVectorXd target_mean = targets.colwise().mean();
  if (contexts.cols() == 0) {
    return {w_o, target_mean.transpose()};
  }
  contexts.rowwise() -= context_mean;
  targets.rowwise() -= target_mean;
  Matrix gram = contexts.transpose() * contexts;
  const double added =
      ridge * std::max(gram.trace() / static_cast<double>(gram.rows()), 1e-30);
  gram.diagonal().array() += added;
  const Matrix right = contexts.transpose() * targets + added * w_o.transpose();
  const Matrix weight = gram.llt().solve(right).transpose();
  return {weight,
          (target_mean - context_mean * weight.transpose()).transpose()};
}

Status write(BertEncoder& encoder, std::size_t layer, const Fit& fit) {
  const auto put = [&](std::string_view param, const double* values,
                       std::size_t count) {
    const std::string name =
        attention_param_name(encoder.config().family, param, layer);
    return encoder.update([&](std::string_view shown, std::span<float> to) {
      if (shown == name) {
        std::transform(values, values + count, to.begin(),
                       [](double x) { return static_cast<float>(x); });
      }
      return ok();
    });
  };
  if (!fit.weight.allFinite() || !fit.bias.allFinite()) {
    return argument_error(kCorrectOutputs, "pruned",
                          message("has no finite fit in layer {}", layer),
                          "finite parameters and hidden states",
                          ErrorCode::out_of_range);
  }
  HEADWISE_TRY(put("w_o.weight", fit.weight.data(),
                   static_cast<std::size_t>(fit.weight.size())));
  return put("w_o.bias", fit.bias.data(),
             static_cast<std::size_t>(fit.bias.size()));
}

Status correct_layer(BertEncoder& pruned, const BertEncoder& whole,
                     std::size_t layer, const Tokens& tokens, double ridge) {
  HEADWISE_ASSIGN(const auto x, hidden_before(whole, layer, tokens));
  HEADWISE_ASSIGN(const auto x_pruned, hidden_before(pruned, layer, tokens));
  HEADWISE_ASSIGN(const auto attended,
                  attend(whole.layers()[layer].attention, x, tokens));
  const MultiHeadAttention& attention = pruned.layers()[layer].attention;
  Matrix contexts(static_cast<Eigen::Index>(x.extent(1)), 0);
  if (attention.config().num_heads != 0) {
    HEADWISE_ASSIGN(const auto heads, without_w_o(attention));
    HEADWISE_ASSIGN(const auto context, attend(heads, x_pruned, tokens));
    contexts = matrix_of(context);
  }
  const auto w_o = attention.params()->w_o->weight();
  return write(pruned, layer,
               fit(std::move(contexts),
                   matrix_of(x) + matrix_of(attended) - matrix_of(x_pruned),
                   matrix_of(w_o.data(), w_o.extent(0), w_o.extent(1)), ridge));
}

Status check_corrected(const BertEncoder& pruned, const BertEncoder& whole,
                       const RaggedTokens& calibration, double ridge) {
  const BertConfig& a = pruned.config();
  const BertConfig& b = whole.config();
  if (a.hidden_size != b.hidden_size || a.num_layers != b.num_layers ||
      a.vocab_size != b.vocab_size) {
    return value_error(kCorrectOutputs, "whole", "of other sizes",
                       "the model that was pruned");
  }
  if (pruned.params().empty()) {
    return value_error(kCorrectOutputs, "pruned", "read for inference",
                       "BertUse::training");
  }
  if (std::ranges::all_of(calibration,
                          [](const auto& ids) { return ids.empty(); })) {
    return argument_error(kCorrectOutputs, "calibration", "has no tokens",
                          "at least one");
  }
  return ridge > 0 ? ok()
                   : value_error(kCorrectOutputs, "ridge", number_text(ridge),
                                 "a positive number");
}

}  // namespace

Status correct_outputs(BertEncoder& pruned, const BertEncoder& whole,
                       const RaggedTokens& calibration,
                       const CorrectOptions& options) {
  return catching_out_of_memory([&]() -> Status {
    HEADWISE_TRY(check_corrected(pruned, whole, calibration, options.ridge));
    const Executor& executor =
        options.executor ? *options.executor : Executor::default_executor();
    const Tokens tokens{calibration, offsets_of(calibration), executor};
    const std::size_t layers = pruned.layers().size();
    for (std::size_t n = 0; n < layers; ++n) {
      if (heads_of(pruned.config(), n) != heads_of(whole.config(), n)) {
        HEADWISE_TRY(correct_layer(pruned, whole, n, tokens, options.ridge));
      }
      if (options.progress) {
        options.progress(n + 1, layers);
      }
    }
    return ok();
  });
}

}  // namespace headwise::inline HEADWISE_ABI
