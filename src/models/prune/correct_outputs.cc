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
#include "transformer/pass_parts.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kCorrectOutputs = "correct_outputs";

using Matrix =
    Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Vector = Eigen::VectorXd;

// What reaches a layer, and what its heads make of it.
struct SeenLayer {
  Tensor<float, 3> x;        // (1, rows, E), the residual stream
  Tensor<float, 3> context;  // (1, rows, features)
};

// The calibration data on its way through a model, to behind a layer.
Result<SeenLayer> seen_layer(const Transformer& model, std::size_t layer,
                             const RaggedTokens& ids,
                             const Executor& executor) {
  SeenLayer seen;
  ModelPass pass{.before_layer = layer + 1, .executor = &executor};
  pass.see_entries = [&](std::size_t n,
                         TensorView<const float, 3> x) -> Status {
    if (n == layer) {
      HEADWISE_ASSIGN(seen.x, copy_of(x));
      HEADWISE_ASSIGN(seen.context,
                      Tensor<float, 3>::create_unset(
                          {1, x.extent(1),
                           model.heads_in(n).size() * model.shape().head_dim}));
    }
    return ok();
  };
  pass.hooks.see = [&](HookPlace at, TensorView<const float, 4> context) {
    if (at.layer == layer) {
      const std::size_t features = seen.context.extent(2);
      std::copy_n(context.data(), context.extent(1) * features,
                  seen.context.data() + at.first_row * features);
    }
    return ok();
  };
  HEADWISE_TRY(model.hidden(ids, pass));
  return seen;
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

// contexts (rows, features), targets (rows, E), w_o (E, features). Without
// `with_bias` the bias stays 0.
Fit fit(Matrix contexts, Matrix targets, const Matrix& w_o, bool with_bias,
        double ridge) {
  Eigen::RowVectorXd context_mean = contexts.colwise().mean();
  Eigen::RowVectorXd target_mean = targets.colwise().mean();
  if (!with_bias) {
    context_mean.setZero();
    target_mean.setZero();
  }
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

Status write(Transformer& encoder, std::size_t layer, const Fit& fit) {
  const auto put = [&](std::string_view param, const double* values,
                       std::size_t count) {
    const std::string& name = encoder.attention_name(layer, param);
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

Status correct_layer(Transformer& pruned, const Transformer& whole,
                     std::size_t layer, const RaggedTokens& ids,
                     const Executor& executor, double ridge) {
  HEADWISE_ASSIGN(const auto before, seen_layer(whole, layer, ids, executor));
  HEADWISE_ASSIGN(const auto after, seen_layer(pruned, layer, ids, executor));
  HEADWISE_ASSIGN(const auto attended,
                  whole.attention(layer).params()->w_o->forward(
                      before.context, "context", executor));
  const auto w_o = pruned.attention(layer).params()->w_o->weight();
  return write(
      pruned, layer,
      fit(matrix_of(after.context),
          matrix_of(before.x) + matrix_of(attended) - matrix_of(after.x),
          matrix_of(w_o.data(), w_o.extent(0), w_o.extent(1)),
          !pruned.attention_name(layer, "w_o.bias").empty(), ridge));
}

Status check_corrected(const Transformer& pruned, const Transformer& whole,
                       const RaggedTokens& calibration, double ridge) {
  const TransformerShape& a = pruned.shape();
  const TransformerShape& b = whole.shape();
  if (a.hidden_size != b.hidden_size || a.num_layers != b.num_layers ||
      a.vocab_size != b.vocab_size) {
    return value_error(kCorrectOutputs, "whole", "of other sizes",
                       "the model that was pruned");
  }
  if (pruned.params().empty()) {
    return value_error(kCorrectOutputs, "pruned", "read for inference",
                       "ModelUse::training");
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

Status correct_outputs(Transformer& pruned, const Transformer& whole,
                       const RaggedTokens& calibration,
                       const CorrectOptions& options) {
  return catching_out_of_memory([&]() -> Status {
    HEADWISE_TRY(check_corrected(pruned, whole, calibration, options.ridge));
    const Executor& executor =
        options.executor ? *options.executor : Executor::default_executor();
    const std::size_t layers = pruned.shape().num_layers;
    for (std::size_t n = 0; n < layers; ++n) {
      if (pruned.heads_in(n) != whole.heads_in(n)) {
        HEADWISE_TRY(correct_layer(pruned, whole, n, calibration, executor,
                                   options.ridge));
      }
      if (options.progress) {
        options.progress(n + 1, layers);
      }
    }
    return ok();
  });
}

}  // namespace headwise::inline HEADWISE_ABI
