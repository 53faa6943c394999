// One row of the reference's scores and what becomes of it. Its keys are those
// of the sequence, then the added ones.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "headwise/attention/spec.h"
#include "headwise/attention/tensors.h"

namespace headwise::inline HEADWISE_ABI {

template <class T>
class ReferenceRow {
 public:
  ReferenceRow(const AttentionSpec& spec, std::size_t b, std::size_t h,
               std::size_t i)
      : spec_(spec),
        place_(spec.shape.sequence(b)),
        b_(b),
        h_(h),
        i_(i),
        weights_(place_.Lkv + spec.added_keys.count()) {}

  void run(const AttentionInputsOf<T>& in, const AttentionOutputsOf<T>& out) {
    score(in);
    if (spec_.scores != ScoresStage::none &&
        spec_.scores != ScoresStage::softmax) {
      store_scores(in, out.scores);
    }
    normalise();
    if (spec_.scores == ScoresStage::softmax) {
      store(out.scores);
    }
    if (out.lse.data() != nullptr) {
      out.lse(place_.batch, h_, place_.first_query + i_) = lse_;
    }
    if (out.softmax_rows.data() != nullptr) {
      constexpr double kLog2E = 0x1.71547652b82fep+0;
      const std::size_t row = place_.first_query + i_;
      const bool is_nan = std::isnan(sum_);
      out.softmax_rows(place_.batch, h_, row, 0) =
          is_nan ? kNan : max_ * static_cast<T>(kLog2E);
      out.softmax_rows(place_.batch, h_, row, 1) = is_nan ? kNan : sum_;
    }
    if (spec_.attn_weights == AttnWeights::per_head) {
      store(out.attn_weights);
    }
    drop();
    if (spec_.attn_weights == AttnWeights::after_dropout) {
      store(out.attn_weights);
    }
    weigh(in.value, out.output);
  }

  std::size_t keys() const { return weights_.size(); }
  bool is_added(std::size_t j) const { return j >= place_.Lkv; }
  // Of key j: its column in tensors over all pairs.
  std::size_t column(std::size_t j) const {
    return is_added(j) ? spec_.shape.Lkv + (j - place_.Lkv) : j;
  }
  T key(const AttentionInputsOf<T>& in, std::size_t j, std::size_t d) const {
    const std::size_t g = spec_.shape.kv_head(h_);
    return is_added(j)
               ? static_cast<T>(spec_.added_keys.key(j - place_.Lkv, g, d))
               : in.key(place_.batch, place_.first_key + j, g, d);
  }
  T value(const TensorView<const T, 4>& values, std::size_t j,
          std::size_t c) const {
    const std::size_t g = spec_.shape.kv_head(h_);
    return is_added(j)
               ? static_cast<T>(spec_.added_keys.value(j - place_.Lkv, g, c))
               : values(place_.batch, place_.first_key + j, g, c);
  }

  // The row's attention weight of key j before dropout, and what a weight that
  // dropout keeps is multiplied by, 0 for one that it drops.
  T weight(std::size_t j) const { return weights_[j]; }
  T kept(std::size_t j) const {
    return !spec_.dropout.active() ? 1
           : spec_.dropout.keeps(b_, h_, i_, number(j))
               ? static_cast<T>(spec_.dropout.factor())
               : 0;
  }
  bool allowed(std::size_t j) const {
    return is_added(j) || spec_.mask.may_attend(b_, h_, i_, j);
  }
  bool empty() const { return empty_; }
  // The share of the head's sink.
  T sink_weight() const {
    return spec_.sinks.has(h_) ? std::exp(sink() - max_) / sum_ : 0;
  }
  // The score before softcap and bias: q.k times the scale, or that of additive
  // scoring. Key j is read.
  T plain_score(const AttentionInputsOf<T>& in, std::size_t j) const {
    T sum = 0;
    for (std::size_t d = 0; d < spec_.shape.D; ++d) {
      const T q = in.query(place_.batch, place_.first_query + i_, h_, d);
      const T k = key(in, j, d);
      sum += spec_.additive()
                 ? static_cast<T>(spec_.score_weight(h_, d)) * std::tanh(q + k)
                 : q * k;
    }
    return sum * static_cast<T>(spec_.scale);
  }

  void add_to_mean(TensorView<T, 4> mean) const {
    for (std::size_t j = 0; j < weights_.size(); ++j) {
      mean(b_, 0, i_, column(j)) += weights_[j];
    }
  }
  void normalised(const AttentionInputsOf<T>& in) {
    score(in);
    normalise();
  }

 private:
  static constexpr T kNan = std::numeric_limits<T>::quiet_NaN();
  static constexpr T kMinusInfinity = -std::numeric_limits<T>::infinity();

  // What dropout counts key j as.
  std::size_t number(std::size_t j) const {
    return is_added(j) ? spec_.added_keys.number(j - place_.Lkv) : j;
  }

  // weights_ = the scores; a masked key is not read.
  void score(const AttentionInputsOf<T>& in) {
    for (std::size_t j = 0; j < weights_.size(); ++j) {
      if (allowed(j)) {
        weights_[j] = with_terms(plain_score(in, j), j);
      }
    }
  }

  T capped(T score) const {
    if (!spec_.softcap) {
      return score;
    }
    const auto cap = static_cast<T>(*spec_.softcap);
    return cap * std::tanh(score / cap);
  }

  T with_terms(T score, std::size_t j) const {
    score = capped(score);
    if (is_added(j)) {
      return score;
    }
    if (spec_.bias.given()) {
      score += static_cast<T>(spec_.bias(b_, h_, i_, j));
    }
    if (spec_.t5_bias.given()) {
      score +=
          static_cast<T>(spec_.t5_bias(h_, spec_.t5_bias.offset(b_, i_, j)));
    }
    if (spec_.alibi.given()) {
      const auto distance =
          static_cast<T>(std::abs(spec_.alibi.offset(b_, i_, j)));
      score -= static_cast<T>(spec_.alibi.slope(h_)) * distance;
    }
    return score;
  }

  T sink() const { return static_cast<T>(spec_.sinks.of(h_)); }

  // weights_ = softmax of the scores and the sink.
  void normalise() {
    max_ = sink();
    for (std::size_t j = 0; j < weights_.size(); ++j) {
      if (allowed(j)) {
        max_ = std::max(max_, weights_[j]);
      }
    }
    sum_ = 0;
    for (std::size_t j = 0; j < weights_.size(); ++j) {
      // By select: (-inf) - (-inf) would be NaN.
      const bool counts = allowed(j) && weights_[j] != kMinusInfinity;
      weights_[j] = counts ? std::exp(weights_[j] - max_) : 0;
      sum_ += weights_[j];
    }
    sum_ += spec_.sinks.has(h_) ? std::exp(sink() - max_) : 0;
    empty_ = sum_ == 0;
    lse_ = empty_             ? kMinusInfinity
           : std::isnan(sum_) ? kNan
                              : max_ + std::log(sum_);
    for (std::size_t j = 0; j < weights_.size(); ++j) {
      if (empty_) {
        weights_[j] = empty_weight(j);
      } else if (allowed(j)) {
        weights_[j] = std::isnan(sum_) ? kNan : weights_[j] / sum_;
      }
    }
  }

  // A uniform row has no share of an added key.
  T empty_weight(std::size_t j) const {
    switch (spec_.empty_rows) {
      case EmptyRow::zero:
        return 0;
      case EmptyRow::uniform:
        return is_added(j) ? 0 : 1 / static_cast<T>(place_.Lkv);
      case EmptyRow::nan:
        return kNan;
    }
    return 0;
  }

  // The NaN of an empty row is not a weight, so it is not dropped.
  void drop() {
    if (!spec_.dropout.active() ||
        (empty_ && spec_.empty_rows == EmptyRow::nan)) {
      return;
    }
    for (std::size_t j = 0; j < weights_.size(); ++j) {
      weights_[j] = kept(j) != 0 ? weights_[j] * kept(j) : 0;
    }
  }

  // A masked value is not read, but where an empty row averages all of them.
  void weigh(TensorView<const T, 4> values, TensorView<T, 4> output) const {
    for (std::size_t d = 0; d < spec_.shape.Dv; ++d) {
      T sum = 0;
      for (std::size_t j = 0; j < weights_.size(); ++j) {
        if (empty_ ? spec_.empty_rows == EmptyRow::uniform && !is_added(j)
                   : allowed(j)) {
          sum += weights_[j] * value(values, j, d);
        }
      }
      const bool is_nan =
          std::isnan(sum) || (empty_ && spec_.empty_rows == EmptyRow::nan);
      output(place_.batch, place_.first_query + i_, h_, d) =
          is_nan ? kNan : sum;
    }
  }

  // Of a stage before the softmax. weights_ holds the scores of allowed keys.
  void store_scores(const AttentionInputsOf<T>& in,
                    TensorView<T, 4> scores) const {
    for (std::size_t j = 0; j < weights_.size(); ++j) {
      T score = kMinusInfinity;
      if (spec_.scores == ScoresStage::raw) {
        score = plain_score(in, j);
      } else if (spec_.scores == ScoresStage::softcap) {
        score = capped(plain_score(in, j));
      } else if (allowed(j)) {
        score = weights_[j];
      }
      scores(b_, h_, i_, column(j)) = std::isnan(score) ? kNan : score;
    }
  }

  void store(TensorView<T, 4> attn_weights) const {
    for (std::size_t j = 0; j < weights_.size(); ++j) {
      attn_weights(b_, h_, i_, column(j)) = weights_[j];
    }
  }

  const AttentionSpec& spec_;
  SequencePlace place_;
  std::size_t b_;
  std::size_t h_;
  std::size_t i_;
  std::vector<T> weights_;
  T max_ = 0;
  T sum_ = 0;
  T lse_ = 0;
  bool empty_ = false;
};

}  // namespace headwise::inline HEADWISE_ABI
