// How far the gradients of the kernels may be from exact arithmetic: an a
// priori bound, the same for every call, that goes on from the forward pass's
// (error_bound.h). With u = 2^-24, W the weights before dropout and P behind
// it, f = 1 / (1 - p), eP the bound of P, and n the number of roundings of the
// longest chain (every sum here has fewer terms than that):
//
//   A_ij     = f sum_c |dO_ic| |v_jc| + |dW_ij|         magnitude of dP
//   Abar_i   = sum_j W_ij A_ij                          and of Delta
//   m_ij     = W_ij (A_ij + Abar_i)                     and of dS
//   eDelta_i = sum_c |dO_ic| eO_ic + sum_j |dW_ij| eP_ij + n u Abar_i
//   e_ij     = eP_ij (A_ij + Abar_i) + (W_ij + eP_ij) (n u A_ij + eDelta_i)
//              + 4 u m_ij
//
// a softcap's slope 1 - t^2 adds (m_ij + e_ij) (10 u + 2 dt), dt <= delta_ij /
// softcap with delta the error of the score, that of W_ij relative to it; and
// each sum
//
//   |d_value - exact|  <= sum (eP_ij + n u P_ij) |dO|
//   |gradient - exact| <= sum (e_ij + n u m_ij) |factor|
//   |d_sinks - exact|  <= sum_i eP_is (Abar_i + eDelta_i)
//                         + W_is (eDelta_i + (n + 4) u Abar_i)
//
// with the factors scale k, scale q, 1 of a bias and of T5's, whose sums along
// the diagonals of a block take up to 48 more, the distance of ALiBi, and for
// additive scoring w of the features and 1 of w itself, whose tanh has 10
// u. In bf16 n u has two roundings of 2^-8 more. Where queries and keys are e
// |q| u and e |k| u from the exact ones, a factor scale k or scale q is e scale
// |k| u or e scale |q| u off, and the slope of the tanh, whose own is below
// 0.77, and the tanh e (|q| + |k|) u.
#pragma once

#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "attention/backward_call.h"
#include "attention/error_bound.h"

namespace headwise::testing_support {

class GradientBound {
 public:
  // `exact` holds the reference's output, attention weights per head, and LSE.
  GradientBound(const Inputs<float>& in, const Upstream<float>& upstream,
                const AttentionSpec& spec, const Outputs<double>& exact,
                double input_error = 0)
      : in_(in),
        upstream_(upstream),
        spec_(spec),
        exact_(exact),
        input_error_(ErrorBound::kUnit * input_error),
        keys_(in, spec),
        forward_(in, spec, exact, input_error),
        factor_(spec.dropout.active() ? spec.dropout.factor() : 1) {
    const AttentionShape& s = spec.shape;
    roundings_ = ErrorBound::kUnit *
                 static_cast<double>(s.B * s.Hq * s.Lq + spec.pair_columns() +
                                     s.D + s.Dv + spec.shape.Hq + 16);
    if (spec.arithmetic == Arithmetic::bf16) {  // of both factors of a product
      roundings_ += 2 * ErrorBound::kBf16Unit;
    }
  }

  // One bound for each element.
  Gradients<double> run(const AttentionOptions& options,
                        const OperationOptions& operation_options) {
    bound_ = gradients_for(widened(in_), options, operation_options);
    for (Tensor<double, 4>* t :
         {&bound_.query, &bound_.key, &bound_.value, &bound_.bias}) {
      std::ranges::fill(t->elements(), ErrorBound::kLost);
    }
    std::ranges::fill(bound_.t5_bias.elements(), ErrorBound::kLost);
    std::ranges::fill(bound_.alibi.elements(), ErrorBound::kLost);
    std::ranges::fill(bound_.score_weight.elements(), ErrorBound::kLost);
    std::ranges::fill(bound_.sinks.elements(), ErrorBound::kLost);
    std::ranges::fill(bound_.bias_k.elements(), ErrorBound::kLost);
    std::ranges::fill(bound_.bias_v.elements(), ErrorBound::kLost);
    for (std::size_t b = 0; b < spec_.shape.B; ++b) {
      for (std::size_t h = 0; h < spec_.shape.Hq; ++h) {
        for (std::size_t i = 0; i < spec_.shape.sequence(b).Lq; ++i) {
          add_row({b, h, i, spec_.shape.sequence(b), spec_.shape.kv_head(h)});
        }
      }
    }
    return std::move(bound_);
  }

 private:
  struct At {
    std::size_t b, h, i;
    SequencePlace place;
    std::size_t g;

    std::size_t query() const { return place.first_query + i; }
    std::size_t key(std::size_t j) const { return place.first_key + j; }
  };

  void add_row(const At& at) {
    if (std::isinf(exact_.lse(at.place.batch, at.h, at.query()))) {
      if (spec_.empty_rows == EmptyRow::uniform) {
        const double p = factor_ / static_cast<double>(at.place.Lkv);
        for (std::size_t j = 0; j < at.place.Lkv; ++j) {
          add_value(at, j, (4 * ErrorBound::kUnit + roundings_) * p);
        }
      }
      return;
    }
    const ErrorBound::Row row = forward_.row(at.b, at.h, at.i);
    std::vector<double> magnitude(keys_.count(at.place));
    double delta = 0;
    double delta_error = 0;
    for (std::size_t j = 0; j < magnitude.size(); ++j) {
      magnitude[j] = by_output(at, j) + std::abs(by_weights(at, j));
      delta += weight(at, j) * magnitude[j];
      delta_error += std::abs(by_weights(at, j)) * row.attn_weights[j];
    }
    for (std::size_t c = 0; c < spec_.shape.Dv; ++c) {
      delta_error += std::abs(double{d_output(at, c)}) * row.output[c];
    }
    delta_error += roundings_ * delta;
    if (bound_.sinks.size() != 0) {
      bound_.sinks(at.h) +=
          1.01 *
          (row.sink * (delta + delta_error) +
           forward_.sink_share(at.b, at.h, at.i) *
               (delta_error + (roundings_ + 4 * ErrorBound::kUnit) * delta));
    }
    for (std::size_t j = 0; j < magnitude.size(); ++j) {
      const double w = weight(at, j);
      if (w == 0) {
        continue;
      }
      add_value(at, j, row.attn_weights[j] + roundings_ * w * factor_);
      const double m = w * (magnitude[j] + delta);
      add_score(at, j, m,
                row.attn_weights[j] * (magnitude[j] + delta) +
                    (w + row.attn_weights[j]) *
                        (roundings_ * magnitude[j] + delta_error) +
                    4 * ErrorBound::kUnit * m,
                std::log1p(row.attn_weights[j] / (w * factor_)));
    }
  }

  double by_output(const At& at, std::size_t j) const {
    double sum = 0;
    for (std::size_t c = 0; c < spec_.shape.Dv; ++c) {
      sum +=
          std::abs(double{d_output(at, c)} * keys_.value(at.place, at.h, j, c));
    }
    return sum * factor_;
  }
  double by_weights(const At& at, std::size_t j) const {
    if (upstream_.d_attn_weights.size() == 0) {
      return 0;
    }
    const bool mean = spec_.attn_weights == AttnWeights::mean;
    const auto given = double{upstream_.d_attn_weights(
        at.b, mean ? 0 : at.h, at.i, keys_.column(at.place, j))};
    return mean ? given / static_cast<double>(spec_.shape.Hq) : given * factor_;
  }

  // The bound of key or value j, which for an added key is that of what was
  // learned; the key of zeros has none.
  double& of_key(Tensor<double, 4>& keys, Tensor<double, 2>& learned,
                 const At& at, std::size_t j, std::size_t c) {
    if (!RowKeys::is_added(at.place, j)) {
      return keys(at.place.batch, at.key(j), at.g, c);
    }
    return spec_.added_keys.is_learned(j - at.place.Lkv) ? learned(at.g, c)
                                                         : unused_;
  }

  void add_value(const At& at, std::size_t j, double error) {
    for (std::size_t c = 0; c < spec_.shape.Dv; ++c) {
      of_key(bound_.value, bound_.bias_v, at, j, c) +=
          1.01 * error * std::abs(double{d_output(at, c)});
    }
  }

  // A score's gradient of this magnitude and error goes to everything that the
  // score was made of; `relative` is the error of the score.
  void add_score(const At& at, std::size_t j, double magnitude, double error,
                 double relative) {
    const double whole = 1.01 * (error + roundings_ * magnitude);
    const bool added = RowKeys::is_added(at.place, j);
    if (bound_.bias.size() != 0 && !added) {
      const auto [eb, eh, ei, ej] = bound_.bias.extents();
      bound_.bias(eb == 1 ? 0 : at.b, eh == 1 ? 0 : at.h, ei == 1 ? 0 : at.i,
                  ej == 1 ? 0 : j) += whole;
    }
    if (bound_.t5_bias.size() != 0 && !added) {
      const BoundT5Bias& t5 = spec_.t5_bias;
      bound_.t5_bias(t5.bucket(t5.offset(at.b, at.i, j)), at.h) +=
          whole + 1.01 * 48 * ErrorBound::kUnit * magnitude;
    }
    if (bound_.alibi.size() != 0 && !added) {
      bound_.alibi(at.h) +=
          whole *
          std::abs(static_cast<double>(spec_.alibi.offset(at.b, at.i, j)));
    }
    double plain = whole;
    if (spec_.softcap) {
      plain += (1.01 * magnitude + whole) *
               (10 * ErrorBound::kUnit + 2 * relative / *spec_.softcap);
    }
    const double query_off = input_error_ * query_norm(at);
    const double key_off =
        added ? 0 : input_error_ * keys_.norm(at.place, at.h, j);
    for (std::size_t d = 0; d < spec_.shape.D; ++d) {
      add_feature(at, j, d, plain, magnitude, query_off, key_off);
    }
  }

  double query_norm(const At& at) const {
    double square = 0;
    for (std::size_t d = 0; d < spec_.shape.D; ++d) {
      const auto x = double{in_.query(at.place.batch, at.query(), at.h, d)};
      square += x * x;
    }
    return std::sqrt(square);
  }

  // `query_off` and `key_off`: of the inputs from the exact ones.
  void add_feature(const At& at, std::size_t j, std::size_t d, double error,
                   double magnitude, double query_off, double key_off) {
    double& query = bound_.query(at.place.batch, at.query(), at.h, d);
    double& key = of_key(bound_.key, bound_.bias_k, at, j, d);
    if (spec_.additive()) {
      const double whole = error + magnitude * (12 * ErrorBound::kUnit +
                                                1.01 * (query_off + key_off));
      const double w = std::abs(double{spec_.score_weight(at.h, d)});
      query += whole * w;
      key += whole * w;
      bound_.score_weight(at.h, d) += whole;
      return;
    }
    const double scaled = error * std::abs(spec_.scale);
    const double factor = 1.01 * magnitude * std::abs(spec_.scale);
    query +=
        scaled * std::abs(keys_.key(at.place, at.h, j, d)) + factor * key_off;
    key +=
        scaled *
            std::abs(double{in_.query(at.place.batch, at.query(), at.h, d)}) +
        factor * query_off;
  }

  float d_output(const At& at, std::size_t c) const {
    return upstream_.d_output(at.place.batch, at.query(), at.h, c);
  }
  double weight(const At& at, std::size_t j) const {
    return exact_.attn_weights(at.b, at.h, at.i, keys_.column(at.place, j));
  }

  const Inputs<float>& in_;
  const Upstream<float>& upstream_;
  const AttentionSpec& spec_;
  const Outputs<double>& exact_;
  double input_error_;  // e u
  RowKeys keys_;
  ErrorBound forward_;
  double factor_;
  double roundings_ = 0;
  double unused_ = 0;
  Gradients<double> bound_;
};

}  // namespace headwise::testing_support
