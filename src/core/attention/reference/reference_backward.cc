#include <cmath>
#include <vector>

#include "attention/check_call.h"
#include "attention/check_parts.h"
#include "attention/reference/reference_row.h"
#include "attention/row_gradient.h"
#include "base/out_of_memory.h"
#include "headwise/attention/reference.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

template <class T, std::size_t Rank>
void clear(TensorView<T, Rank> view, std::size_t axis = 0,
           std::ptrdiff_t offset = 0) {
  if (view.data() == nullptr || view.size() == 0) {
    return;
  }
  if (axis == Rank) {
    view.data()[offset] = 0;
    return;
  }
  for (std::size_t n = 0; n < view.extent(axis); ++n) {
    clear(view, axis + 1,
          offset + static_cast<std::ptrdiff_t>(n) * view.stride(axis));
  }
}

// Rows add to the gradients one after another.
template <class T>
class Gradients {
 public:
  Gradients(const AttentionSpec& spec, const BackwardInputsOf<T>& inputs,
            const AttentionGradientsOf<T>& gradients)
      : spec_(spec),
        in_(inputs),
        operands_{inputs.query, inputs.key, inputs.value},
        out_(gradients) {}

  void run() {
    clear(out_.query);
    clear(out_.key);
    clear(out_.value);
    clear(out_.bias);
    clear(out_.t5_bias);
    clear(out_.alibi);
    clear(out_.score_weight);
    clear(out_.sinks);
    clear(out_.bias_k);
    clear(out_.bias_v);
    const auto& shape = spec_.shape;
    for (std::size_t b = 0; shape.Lq != 0 && b < shape.B; ++b) {
      for (std::size_t h = 0; h < shape.Hq; ++h) {
        for (std::size_t i = 0; i < shape.sequence(b).Lq; ++i) {
          add_row(b, h, i);
        }
      }
    }
  }

 private:
  void add_row(std::size_t b, std::size_t h, std::size_t i) {
    if (!has_gradient(spec_, in_.d_output, in_.d_attn_weights, b, h, i)) {
      return;
    }
    const SequencePlace place = spec_.shape.sequence(b);
    ReferenceRow<T> row(spec_, b, h, i);
    row.normalised(operands_);
    if (row.empty()) {
      if (spec_.empty_rows == EmptyRow::uniform) {
        add_values(row, place, h, i, true);
      }
      return;
    }
    add_values(row, place, h, i, false);
    std::vector<T> d_weights(row.keys());
    T delta = 0;
    for (std::size_t j = 0; j < row.keys(); ++j) {
      if (row.allowed(j)) {
        d_weights[j] = d_weight(row, place, b, h, i, j);
        delta += row.weight(j) * d_weights[j];
      }
    }
    // A sink has no value and no returned weight: dP is 0.
    if (out_.sinks.data() != nullptr) {
      out_.sinks(h) -= row.sink_weight() * delta;
    }
    for (std::size_t j = 0; j < row.keys(); ++j) {
      if (row.allowed(j)) {
        add_score(row, place, b, h, i, j,
                  row.weight(j) * (d_weights[j] - delta));
      }
    }
  }

  // d_value += weight * d_output; a uniform row reads masked values, too.
  void add_values(const ReferenceRow<T>& row, const SequencePlace& place,
                  std::size_t h, std::size_t i, bool masked_too) {
    for (std::size_t j = 0; j < row.keys(); ++j) {
      if ((masked_too || row.allowed(j)) && row.kept(j) != 0) {
        for (std::size_t c = 0; c < spec_.shape.Dv; ++c) {
          add_to_key(
              row, place, h, j, c, out_.value, out_.bias_v,
              row.weight(j) * row.kept(j) *
                  in_.d_output(place.batch, place.first_query + i, h, c));
        }
      }
    }
  }

  // Adds to the gradient of key or value j, which for an added key is that of
  // what was learned.
  void add_to_key(const ReferenceRow<T>& row, const SequencePlace& place,
                  std::size_t h, std::size_t j, std::size_t c,
                  const TensorView<T, 4>& of_keys,
                  const TensorView<T, 2>& learned, T gradient) const {
    const std::size_t g = spec_.shape.kv_head(h);
    if (!row.is_added(j)) {
      if (of_keys.data() != nullptr) {
        of_keys(place.batch, place.first_key + j, g, c) += gradient;
      }
    } else if (learned.data() != nullptr &&
               spec_.added_keys.is_learned(j - place.Lkv)) {
      learned(g, c) += gradient;
    }
  }

  T d_weight(const ReferenceRow<T>& row, const SequencePlace& place,
             std::size_t b, std::size_t h, std::size_t i, std::size_t j) const {
    T sum = 0;
    for (std::size_t c = 0; row.kept(j) != 0 && c < spec_.shape.Dv; ++c) {
      sum += in_.d_output(place.batch, place.first_query + i, h, c) *
             row.value(in_.value, j, c);
    }
    sum *= row.kept(j);
    if (in_.d_attn_weights.data() == nullptr) {
      return sum;
    }
    switch (spec_.attn_weights) {
      case AttnWeights::mean:
        return sum + in_.d_attn_weights(b, 0, i, row.column(j)) /
                         static_cast<T>(spec_.shape.Hq);
      case AttnWeights::after_dropout:
        return row.kept(j) == 0
                   ? sum
                   : sum + in_.d_attn_weights(b, h, i, row.column(j)) *
                               row.kept(j);
      default:
        return sum + in_.d_attn_weights(b, h, i, row.column(j));
    }
  }

  // What a score's gradient gives to everything that the score was made of.
  void add_score(const ReferenceRow<T>& row, const SequencePlace& place,
                 std::size_t b, std::size_t h, std::size_t i, std::size_t j,
                 T d_score) {
    if (!row.is_added(j)) {
      add_terms(b, h, i, j, d_score);
    }
    if (spec_.softcap) {
      const T tangent = std::tanh(row.plain_score(operands_, j) /
                                  static_cast<T>(*spec_.softcap));
      d_score *= 1 - tangent * tangent;
    }
    for (std::size_t c = 0; c < spec_.shape.D; ++c) {
      add_feature(row, place, h, i, j, c, d_score);
    }
  }

  // What it gives to what was added to the plain score.
  void add_terms(std::size_t b, std::size_t h, std::size_t i, std::size_t j,
                 T d_score) {
    if (out_.bias.data() != nullptr) {
      const auto [eb, eh, ei, ej] = out_.bias.extents();
      out_.bias(eb == 1 ? 0 : b, eh == 1 ? 0 : h, ei == 1 ? 0 : i,
                ej == 1 ? 0 : j) += d_score;
    }
    if (out_.t5_bias.data() != nullptr) {
      out_.t5_bias(spec_.t5_bias.bucket(spec_.t5_bias.offset(b, i, j)), h) +=
          d_score;
    }
    if (out_.alibi.data() != nullptr) {
      out_.alibi(h) -=
          d_score * static_cast<T>(std::abs(spec_.alibi.offset(b, i, j)));
    }
  }

  // What the gradient of a plain score gives to feature c of its operands.
  void add_feature(const ReferenceRow<T>& row, const SequencePlace& place,
                   std::size_t h, std::size_t i, std::size_t j, std::size_t c,
                   T d_score) {
    const std::size_t query = place.first_query + i;
    const T q = in_.query(place.batch, query, h, c);
    const T k = row.key(operands_, j, c);
    T by_query = static_cast<T>(spec_.scale) * k;
    T by_key = static_cast<T>(spec_.scale) * q;
    if (spec_.additive()) {
      const T tangent = std::tanh(q + k);
      by_query =
          static_cast<T>(spec_.score_weight(h, c)) * (1 - tangent * tangent);
      by_key = by_query;
      if (out_.score_weight.data() != nullptr) {
        out_.score_weight(h, c) += d_score * tangent;
      }
    }
    if (out_.query.data() != nullptr) {
      out_.query(place.batch, query, h, c) += d_score * by_query;
    }
    add_to_key(row, place, h, j, c, out_.key, out_.bias_k, d_score * by_key);
  }

  const AttentionSpec& spec_;
  const BackwardInputsOf<T>& in_;
  AttentionInputsOf<T> operands_;
  const AttentionGradientsOf<T>& out_;
};

}  // namespace

template <class T>
Status reference_attention_backward(
    const BackwardInputsOf<T>& inputs, const AttentionGradientsOf<T>& gradients,
    const AttentionOptions& options,
    const OperationOptions& operation_options) try {
  HEADWISE_TRY(check_no_part("attention_backward", operation_options));
  HEADWISE_ASSIGN(const auto spec,
                  backward_spec(CallTensors(inputs, gradients), options,
                                operation_options, DTypeOf<T>::value));
  Gradients<T>(spec, inputs, gradients).run();
  return ok();
} catch (...) {
  return caught_out_of_memory();
}

template Status reference_attention_backward<float>(
    const BackwardInputsOf<float>&, const AttentionGradientsOf<float>&,
    const AttentionOptions&, const OperationOptions&);
template Status reference_attention_backward<double>(
    const BackwardInputsOf<double>&, const AttentionGradientsOf<double>&,
    const AttentionOptions&, const OperationOptions&);

}  // namespace headwise::inline HEADWISE_ABI
