// How far the kernels may be from exact arithmetic: an a priori bound, the same
// for every call, from the number of roundings alone. u = 2^-24; to first order
// in u, with 1% on top for the higher ones.
//
// A score s_j = scale q.k, and what follows it, in the natural domain. Each
// line adds its error over u, t is the magnitude of the score so far:
//
//   scale log2 e, q', chain over D   (D + 3) S       S = |scale| |q| |k|
//   or additive: q + k, tanh, chain  (D + 8) S       S = sum |score_weight|;
//   over D, log2 e, product                          the tanh as below
//   inputs that are e |q| u, e |k| u   2 e S         additive: e (|q| + |k|)
//   from the exact ones                              |score_weight|
//   bf16: of q and of k, 2^-8 each   2^17 S          not additive
//   softcap: c, s/c, tanh, product   9 t             t = min(S, softcap) by
//   now;
//                                    tanh is within 4.4 u, |x tanh'(x)| <= tanh
//   bias: log2 e, fma                |bias| + t      t includes |bias|
//   T5's bias                        as a bias
//   ALiBi: slope, distance, fma      2 |a| + t       t includes a = slope dist
//   s - m, and all M - M' together   |s - max s|     as exponents telescope
//   exp2 of p, of a fold's b         2 * 1.36
//   each fold: exp2 of a, 2 roundings  nb * 3.36     nb blocks of 128 keys,
//                                                    and one of each added
//                                                    key and of a sink
//
// A sink has |sink| for its product with log2 e in place of the score's lines.
// Call the sum e_j: p_j has the relative error delta_j <= u e_j. The weights
// p_j / sum p have that and the sum's: deltabar = log sum w_j exp(delta_j), and
// 128 + 2 nb roundings of the sum. The context's chain has 128 + 2 nb + 1 more,
// the division one, dropout two. So with w_j exact weights
//
//   |output - exact| <= sum_j w_j |v_j| (exp(theta_j) - 1) f
//   theta_j = delta_j + deltabar + u (2 (128 + 2 nb) + 5)   f = 1 / (1 -
//   p_drop)
//
// In bf16 theta_j has two roundings of 2^-8 more, of p_j and of v_j. And
// numbers below 2^-126 are lost, which `kLost` has ample room for.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "attention/attention_call.h"
#include "attention/row_keys.h"
#include "headwise/attention/spec.h"

namespace headwise::testing_support {

class ErrorBound {
 public:
  static constexpr double kUnit = 0x1p-24;
  static constexpr double kBf16Unit = 0x1p-8;
  static constexpr double kLost = 0x1p-110;

  // `exact` holds the reference's attention weights, per head, and LSE.
  ErrorBound(const Inputs<float>& in, const AttentionSpec& spec,
             const Outputs<double>& exact, double input_error = 0)
      : spec_(spec),
        exact_(exact),
        input_error_(input_error),
        keys_(in, spec),
        query_norm_(norms(in.query)),
        key_norm_(norms(in.key)) {}

  struct Row {
    std::vector<double> output;        // (Dv)
    std::vector<double> attn_weights;  // (Lkv of the sequence, added keys)
    double lse;
    double sink;  // of the share of the head's sink
  };
  // Of a row that has a key, an added one or a sink.
  Row row(std::size_t b, std::size_t h, std::size_t i) const {
    const SequencePlace place = spec_.shape.sequence(b);
    std::vector<double> delta = score_errors(b, h, i);
    double grown = sink_share(b, h, i) * std::exp(sink_error(b, h, i));
    for (std::size_t j = 0; j < keys_.count(place); ++j) {
      grown += weight(b, h, i, j) * std::exp(delta[j]);
    }
    const double shared = std::log(std::max(grown, 1.0));
    const double sum = kUnit * (128 + 2 * folds(place, h));
    const double lse = exact_.lse(place.batch, h, place.first_query + i);
    Row row{
        std::vector<double>(spec_.shape.Dv, kLost),
        std::vector<double>(keys_.count(place), kLost),
        1.01 * (shared + sum) +
            kUnit * (4 * std::abs(lse) +
                     2 * std::log(static_cast<double>(place.Lkv) + 1) + 2),
        sink_share(b, h, i) * std::expm1(1.01 * (sink_error(b, h, i) + shared +
                                                 sum + 5 * kUnit)) +
            kLost};
    const double factor = spec_.dropout.active() ? spec_.dropout.factor() : 1;
    const double product = bf16() ? 2 * kBf16Unit : 0;
    for (std::size_t j = 0; j < keys_.count(place); ++j) {
      const double w = weight(b, h, i, j) * factor;
      const double theta = delta[j] + shared + 5 * kUnit;
      row.attn_weights[j] += w * std::expm1(1.01 * (theta + sum));
      const double share = w * std::expm1(1.01 * (theta + 2 * sum + product));
      for (std::size_t c = 0; c < spec_.shape.Dv; ++c) {
        row.output[c] += share * std::abs(keys_.value(place, h, j, c));
      }
    }
    return row;
  }
  // Of a returned score before the softmax, which ln 2 multiplies.
  double score(std::size_t b, std::size_t h, std::size_t i, std::size_t j,
               ScoresStage stage, double exact) const {
    const double error =
        score_error(spec_.shape.sequence(b), b, h, i, j, stage);
    return kLost + 1.01 * kUnit * (error + 3 * std::abs(exact));
  }
  // The share that the head's sink takes of a row.
  double sink_share(std::size_t b, std::size_t h, std::size_t i) const {
    const SequencePlace place = spec_.shape.sequence(b);
    return spec_.sinks.has(h)
               ? std::exp(double{spec_.sinks.of(h)} -
                          exact_.lse(place.batch, h, place.first_query + i))
               : 0;
  }
  // Of the mean of all values, under dropout times 1 / (1 - p).
  double uniform_output(std::size_t b, std::size_t h, std::size_t c) const {
    const SequencePlace place = spec_.shape.sequence(b);
    double sum = 0;
    for (std::size_t j = 0; j < place.Lkv; ++j) {
      sum += std::abs(keys_.value(place, h, j, c));
    }
    const double factor = spec_.dropout.active() ? spec_.dropout.factor() : 1;
    const auto count = static_cast<double>(std::max<std::size_t>(place.Lkv, 1));
    return kLost +
           1.01 * kUnit * (128 + folds(place, h) + 3) * factor * sum / count;
  }

 private:
  static std::vector<double> norms(const Tensor<float, 4>& blhd) {
    const auto [B, L, H, D] = blhd.extents();
    std::vector<double> norms(B * L * H);
    for (std::size_t row = 0; row < norms.size(); ++row) {
      double square = 0;
      for (std::size_t d = 0; d < D; ++d) {
        const auto x = static_cast<double>(blhd.data()[row * D + d]);
        square += x * x;
      }
      norms[row] = std::sqrt(square);
    }
    return norms;
  }

  // delta_j for each key of the sequence.
  std::vector<double> score_errors(std::size_t b, std::size_t h,
                                   std::size_t i) const {
    const AttentionShape& s = spec_.shape;
    const SequencePlace place = s.sequence(b);
    std::vector<double> errors(keys_.count(place), 0.0);
    for (std::size_t j = 0; j < errors.size(); ++j) {
      if (weight(b, h, i, j) > 0) {
        errors[j] =
            exponent_error(score_error(place, b, h, i, j, ScoresStage::softmax),
                           gap(b, h, i, weight(b, h, i, j)), folds(place, h));
      }
    }
    return errors;
  }
  // Likewise of the sink.
  double sink_error(std::size_t b, std::size_t h, std::size_t i) const {
    const double share = sink_share(b, h, i);
    return share > 0 ? exponent_error(std::abs(double{spec_.sinks.of(h)}),
                                      gap(b, h, i, share),
                                      folds(spec_.shape.sequence(b), h))
                     : 0;
  }
  static double exponent_error(double score, double gap, double folds) {
    return kLost + kUnit * (score + gap + 2 * 1.36 + folds * 3.36);
  }
  // max s - s of what has this share.
  double gap(std::size_t b, std::size_t h, std::size_t i, double share) const {
    double largest = sink_share(b, h, i);
    for (std::size_t j = 0; j < keys_.count(spec_.shape.sequence(b)); ++j) {
      largest = std::max(largest, weight(b, h, i, j));
    }
    return std::log(largest) - std::log(share);
  }
  double score_error(const SequencePlace& place, std::size_t b, std::size_t h,
                     std::size_t i, std::size_t j, ScoresStage stage) const {
    const AttentionShape& s = spec_.shape;
    const std::size_t query =
        (place.batch * s.query_rows() + place.first_query + i) * s.Hq + h;
    const bool added = RowKeys::is_added(place, j);
    const double key_norm =
        added ? keys_.norm(place, h, j)
              : key_norm_[(place.batch * s.key_rows() + place.first_key + j) *
                              s.Hkv +
                          s.kv_head(h)];
    double t = std::abs(spec_.scale) * query_norm_[query] * key_norm;
    const double rounded = bf16() ? 2 * kBf16Unit / kUnit : 0;
    double error =
        (static_cast<double>(s.D) + 3 + 2 * input_error_ + rounded) * t;
    if (spec_.additive()) {
      t = 0;
      double square = 0;
      for (std::size_t d = 0; d < s.D; ++d) {
        const double w = std::abs(double{spec_.score_weight(h, d)});
        t += w;
        square += w * w;
      }
      error =
          (static_cast<double>(s.D) + 8) * t +
          input_error_ * (query_norm_[query] + key_norm) * std::sqrt(square);
    }
    if (stage == ScoresStage::raw) {
      return error;
    }
    if (spec_.softcap) {
      t = std::min(t, *spec_.softcap);
      error += 9 * t;
    }
    if (stage == ScoresStage::softcap || added) {
      return error;
    }
    if (spec_.bias.given()) {
      const double bias = std::abs(double{spec_.bias(b, h, i, j)});
      t += bias;
      error += bias + t;
    }
    if (spec_.t5_bias.given()) {
      const double bias =
          std::abs(double{spec_.t5_bias(h, spec_.t5_bias.offset(b, i, j))});
      t += bias;
      error += bias + t;
    }
    if (spec_.alibi.given()) {
      const double lost =
          std::abs(double{spec_.alibi.slope(h)} *
                   static_cast<double>(spec_.alibi.offset(b, i, j)));
      t += lost;
      error += 2 * lost + t;
    }
    return error;
  }

  bool bf16() const { return spec_.arithmetic == Arithmetic::bf16; }
  double folds(const SequencePlace& place, std::size_t h) const {
    const std::size_t blocks = (place.Lkv + 127) / 128;
    return static_cast<double>(blocks + spec_.added_keys.count()) +
           (spec_.sinks.has(h) ? 1 : 0);
  }
  double weight(std::size_t b, std::size_t h, std::size_t i,
                std::size_t j) const {
    return exact_.attn_weights(b, h, i,
                               keys_.column(spec_.shape.sequence(b), j));
  }

  const AttentionSpec& spec_;
  const Outputs<double>& exact_;
  double input_error_;  // e
  RowKeys keys_;
  std::vector<double> query_norm_;
  std::vector<double> key_norm_;
};

}  // namespace headwise::testing_support
