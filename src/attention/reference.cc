#include "headwise/attention/reference.h"

#include <cmath>
#include <limits>
#include <new>
#include <vector>

#include "attention/ragged_weights.h"
#include "attention/reference_rows.h"
#include "steps/rows.h"

namespace headwise {
namespace {

// One row of scores and what becomes of it.
template <class T>
class Row {
 public:
  Row(const AttentionSpec& spec, std::size_t b, std::size_t h, std::size_t i)
      : spec_(spec),
        place_(spec.shape.sequence(b)),
        b_(b),
        h_(h),
        i_(i),
        weights_(place_.Lkv) {}

  void run(const AttentionInputsOf<T>& in, const AttentionOutputsOf<T>& out) {
    score(in);
    normalise();
    if (out.lse.data() != nullptr) {
      out.lse(place_.batch, h_, place_.first_query + i_) = lse_;
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

  void add_to_mean(TensorView<T, 4> mean) const {
    for (std::size_t j = 0; j < weights_.size(); ++j) {
      mean(b_, 0, i_, j) += weights_[j];
    }
  }
  void normalised(const AttentionInputsOf<T>& in) {
    score(in);
    normalise();
  }

 private:
  static constexpr T kNan = std::numeric_limits<T>::quiet_NaN();
  static constexpr T kMinusInfinity = -std::numeric_limits<T>::infinity();

  bool allowed(std::size_t j) const {
    return spec_.mask.may_attend(b_, h_, i_, j);
  }

  // weights_ = the scores; a masked key is not read.
  void score(const AttentionInputsOf<T>& in) {
    const std::size_t g = spec_.shape.kv_head(h_);
    for (std::size_t j = 0; j < weights_.size(); ++j) {
      if (!allowed(j)) {
        continue;
      }
      T sum = 0;
      for (std::size_t d = 0; d < spec_.shape.D; ++d) {
        sum += in.query(place_.batch, place_.first_query + i_, h_, d) *
               in.key(place_.batch, place_.first_key + j, g, d);
      }
      weights_[j] = with_terms(sum * static_cast<T>(spec_.scale), j);
    }
  }

  T with_terms(T score, std::size_t j) const {
    if (spec_.softcap) {
      const auto cap = static_cast<T>(*spec_.softcap);
      score = cap * std::tanh(score / cap);
    }
    if (spec_.bias.given()) {
      score += static_cast<T>(spec_.bias(b_, h_, i_, j));
    }
    if (spec_.alibi.given()) {
      const auto distance =
          static_cast<T>(std::abs(spec_.alibi.offset(b_, i_, j)));
      score -= static_cast<T>(spec_.alibi.slope(h_)) * distance;
    }
    return score;
  }

  // weights_ = softmax of the scores.
  void normalise() {
    T max = kMinusInfinity;
    for (std::size_t j = 0; j < weights_.size(); ++j) {
      if (allowed(j)) {
        max = std::max(max, weights_[j]);
      }
    }
    T sum = 0;
    for (std::size_t j = 0; j < weights_.size(); ++j) {
      // By select: (-inf) - (-inf) would be NaN.
      const bool counts = allowed(j) && weights_[j] != kMinusInfinity;
      weights_[j] = counts ? std::exp(weights_[j] - max) : 0;
      sum += weights_[j];
    }
    empty_ = sum == 0;
    lse_ = empty_            ? kMinusInfinity
           : std::isnan(sum) ? kNan
                             : max + std::log(sum);
    for (std::size_t j = 0; j < weights_.size(); ++j) {
      if (empty_) {
        weights_[j] = empty_weight();
      } else if (allowed(j)) {
        weights_[j] = std::isnan(sum) ? kNan : weights_[j] / sum;
      }
    }
  }

  T empty_weight() const {
    switch (spec_.empty_rows) {
      case EmptyRow::zero:
        return 0;
      case EmptyRow::uniform:
        return 1 / static_cast<T>(weights_.size());
      case EmptyRow::nan:
        return kNan;
    }
    return 0;
  }

  // The NaN of an empty row is no weight that could be dropped.
  void drop() {
    if (!spec_.dropout.active() ||
        (empty_ && spec_.empty_rows == EmptyRow::nan)) {
      return;
    }
    const auto factor = static_cast<T>(spec_.dropout.factor());
    for (std::size_t j = 0; j < weights_.size(); ++j) {
      weights_[j] =
          spec_.dropout.keeps(b_, h_, i_, j) ? weights_[j] * factor : 0;
    }
  }

  // A masked value is not read, but where an empty row averages all of them.
  void weigh(TensorView<const T, 4> value, TensorView<T, 4> output) const {
    const std::size_t g = spec_.shape.kv_head(h_);
    for (std::size_t d = 0; d < spec_.shape.Dv; ++d) {
      T sum = 0;
      for (std::size_t j = 0; j < weights_.size(); ++j) {
        if (empty_ ? spec_.empty_rows == EmptyRow::uniform : allowed(j)) {
          sum += weights_[j] * value(place_.batch, place_.first_key + j, g, d);
        }
      }
      const bool is_nan =
          std::isnan(sum) || (empty_ && spec_.empty_rows == EmptyRow::nan);
      output(place_.batch, place_.first_query + i_, h_, d) =
          is_nan ? kNan : sum;
    }
  }

  void store(TensorView<T, 4> attn_weights) const {
    for (std::size_t j = 0; j < weights_.size(); ++j) {
      attn_weights(b_, h_, i_, j) = weights_[j];
    }
  }

  const AttentionSpec& spec_;
  SequencePlace place_;
  std::size_t b_;
  std::size_t h_;
  std::size_t i_;
  std::vector<T> weights_;
  T lse_ = 0;
  bool empty_ = false;
};

// The mean over the heads, which share its rows: one (b, i) at a time.
template <class T>
void mean_rows(const AttentionSpec& spec, const AttentionInputsOf<T>& inputs,
               TensorView<T, 4> mean) {
  const auto& shape = spec.shape;
  for_each_row(*spec.executor, {shape.B, 1, shape.Lq},
               [&](std::size_t b, std::size_t, std::size_t i) {
                 const SequencePlace place = shape.sequence(b);
                 if (i >= place.Lq) {
                   return;
                 }
                 for (std::size_t j = 0; j < place.Lkv; ++j) {
                   mean(b, 0, i, j) = 0;
                 }
                 for (std::size_t h = 0; h < shape.Hq; ++h) {
                   Row<T> row(spec, b, h, i);
                   row.normalised(inputs);
                   row.add_to_mean(mean);
                 }
                 for (std::size_t j = 0; j < place.Lkv; ++j) {
                   mean(b, 0, i, j) /= static_cast<T>(shape.Hq);
                 }
               });
}

}  // namespace

template <class T>
void reference_rows(const AttentionSpec& spec,
                    const AttentionInputsOf<T>& inputs,
                    const AttentionOutputsOf<T>& outputs) {
  const auto& shape = spec.shape;
  for_each_row(*spec.executor, {shape.B, shape.Hq, shape.Lq},
               [&](std::size_t b, std::size_t h, std::size_t i) {
                 if (i < shape.sequence(b).Lq) {
                   Row<T>(spec, b, h, i).run(inputs, outputs);
                 }
               });
  if (shape.offsets.ragged() && spec.attn_weights != AttnWeights::none) {
    clear_beyond_sequences(shape, outputs.attn_weights);
  }
  if (spec.attn_weights == AttnWeights::mean) {
    mean_rows(spec, inputs, outputs.attn_weights);
  }
}

template <class T>
Status reference_attention(TensorView<const T, 4> query,
                           TensorView<const T, 4> key,
                           TensorView<const T, 4> value,
                           const AttentionOutputsOf<T>& outputs,
                           const AttentionOptions& options) {
  const auto shape =
      attention_shape(query.extents(), key.extents(), value.extents());
  if (!shape) {
    return shape.error();
  }
  const auto spec = AttentionSpec::create(*shape, options);
  if (!spec) {
    return spec.error();
  }
  if (Status s = check_outputs(*spec, outputs); !s) {
    return s;
  }
  try {
    reference_rows<T>(*spec, {query, key, value}, outputs);
  } catch (const std::bad_alloc&) {
    return Error{ErrorCode::out_of_memory,
                 "attention: a row of scores needs more memory than there is"};
  }
  return ok();
}

template void reference_rows(const AttentionSpec&,
                             const AttentionInputsOf<float>&,
                             const AttentionOutputsOf<float>&);
template Status reference_attention<float>(TensorView<const float, 4>,
                                           TensorView<const float, 4>,
                                           TensorView<const float, 4>,
                                           const AttentionOutputsOf<float>&,
                                           const AttentionOptions&);
template Status reference_attention<double>(TensorView<const double, 4>,
                                            TensorView<const double, 4>,
                                            TensorView<const double, 4>,
                                            const AttentionOutputsOf<double>&,
                                            const AttentionOptions&);

}  // namespace headwise
