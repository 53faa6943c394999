// The backward arithmetic of docs/arithmetic.md written out once more, in
// scalar code: what the kernel's bits are held against. Nothing is shared with
// it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "attention/backward_call.h"
#include "attention/contract.h"
#include "headwise/attention/spec.h"
#include "run/float_environment.h"
#include "support/tensors.h"

namespace headwise::testing_support {

class ContractBackward {
 public:
  // `rows` and `output` are those of the forward pass.
  ContractBackward(const Inputs<float>& in, const Tensor<float, 4>& output,
                   const Tensor<float, 4>& rows,
                   const Upstream<float>& upstream,
                   const AttentionOptions& options,
                   const OperationOptions& operation_options)
      : in_(in),
        output_(output),
        rows_(rows),
        up_(upstream),
        t5_bias_(options.t5_bias),
        spec_(AttentionSpec::create(
                  attention_shape(in.query.extents(), in.key.extents(),
                                  in.value.extents())
                      .value(),
                  options, operation_options)
                  .value()),
        gradients_(gradients_for(in, options, operation_options)) {}

  Gradients<float> run() && {
    const FloatEnvironment environment;
    const AttentionShape& s = spec_.shape;
    for (Tensor<float, 4>* tensor : {&gradients_.query, &gradients_.key,
                                     &gradients_.value, &gradients_.bias}) {
      std::fill_n(tensor->data(), tensor->size(), 0.0f);
    }
    std::fill_n(gradients_.t5_bias.data(), gradients_.t5_bias.size(), 0.0f);
    std::fill_n(gradients_.alibi.data(), gradients_.alibi.size(), 0.0f);
    std::fill_n(gradients_.score_weight.data(), gradients_.score_weight.size(),
                0.0f);
    std::fill_n(gradients_.sinks.data(), gradients_.sinks.size(), 0.0f);
    std::fill_n(gradients_.bias_k.data(), gradients_.bias_k.size(), 0.0f);
    std::fill_n(gradients_.bias_v.data(), gradients_.bias_v.size(), 0.0f);
    std::vector<Row> rows;
    for (std::size_t b = 0; b < s.B; ++b) {
      learned_key_ = filled<float, 2>(gradients_.bias_k.extents(), 0);
      learned_value_ = filled<float, 2>(gradients_.bias_v.extents(), 0);
      for (std::size_t h = 0; h < s.Hq; ++h) {
        rows.clear();
        for (std::size_t i = 0; i < s.Lq; ++i) {
          rows.push_back(row(b, h, i));
          if (gradients_.sinks.size() != 0) {
            gradients_.sinks(h) += rows.back().d_sink;
          }
          add_bias(rows.back(), b, h, i);
          add_query(rows.back(), b, h, i);
        }
        for (std::size_t first = 0; first < s.Lq; first += kQueries) {
          add_keys(rows, b, h, first);
          add_t5_bias(rows, b, h, first);
          add_score_weight(rows, b, h, first);
        }
      }
      add_learned();
    }
    scale(gradients_.query);
    scale(gradients_.key);
    add_slopes();
    canonical(gradients_.value);
    canonical(gradients_.bias);
    return std::move(gradients_);
  }

 private:
  static constexpr std::size_t kKeys = 128;
  static constexpr std::size_t kQueries = 48;

  // One row of the weights and of the gradients of the scores.
  struct Row {
    std::vector<bool> allowed;
    std::vector<bool> read;     // and what a uniform row reads
    std::vector<float> weight;  // as dropped
    std::vector<float> d_score;
    std::vector<float> d_product;  // times softcap's slope
    float d_slope = 0;
    float d_sink = 0;
  };

  // Added keys are the last columns.
  bool is_added(std::size_t j) const { return j >= spec_.shape.Lkv; }
  bool is_learned(std::size_t j) const {
    return spec_.added_keys.bias_k().data() != nullptr && j == spec_.shape.Lkv;
  }
  std::size_t columns() const {
    return spec_.shape.Lkv + spec_.added_keys.count();
  }
  float key(std::size_t b, std::size_t j, std::size_t h, std::size_t d) const {
    const std::size_t g = spec_.shape.kv_head(h);
    return !is_added(j)    ? in_.key(b, j, g, d)
           : is_learned(j) ? spec_.added_keys.bias_k()(g, d)
                           : 0;
  }
  float value(std::size_t b, std::size_t j, std::size_t h,
              std::size_t c) const {
    const std::size_t g = spec_.shape.kv_head(h);
    return !is_added(j)    ? in_.value(b, j, g, c)
           : is_learned(j) ? spec_.added_keys.bias_v()(g, c)
                           : 0;
  }

  bool allowed(std::size_t b, std::size_t h, std::size_t i,
               std::size_t j) const {
    return is_added(j) || spec_.mask.may_attend(b, h, i, j);
  }
  float kept(std::size_t b, std::size_t h, std::size_t i, std::size_t j) const {
    return !spec_.dropout.active() ? 1
           : spec_.dropout.keeps(b, h, i,
                                 !is_added(j)    ? j
                                 : is_learned(j) ? 0xFFFFFFFE
                                                 : 0xFFFFFFFF)
               ? static_cast<float>(spec_.dropout.factor())
               : 0;
  }
  bool bf16() const { return spec_.arithmetic == Arithmetic::bf16; }
  // As the call's arithmetic multiplies a number.
  float rounded(float x) const {
    return bf16() ? widened(narrowed_to_bfloat16(x)) : x;
  }
  // Of products that additive scores have in float32.
  float rounded_dot(float x) const { return spec_.additive() ? x : rounded(x); }
  // The place in [first, end) of the n-th product of a chain: in bf16 the
  // second of each pair comes first.
  std::size_t in_order(std::size_t n, std::size_t first,
                       std::size_t end) const {
    return bf16() ? std::min(first + ((n - first) ^ 1), end - 1) : n;
  }
  // The same of a chain that additive scores have in float32.
  std::size_t in_dot_order(std::size_t n, std::size_t first,
                           std::size_t end) const {
    return spec_.additive() ? n : in_order(n, first, end);
  }
  // A chain that ends as -0 is +0.
  static float ended(float chain) { return chain + 0.0f; }

  float plain_score(std::size_t b, std::size_t h, std::size_t i,
                    std::size_t j) const {
    constexpr double kLog2E = 0x1.71547652b82fep+0;
    const AttentionShape& s = spec_.shape;
    const auto factor = static_cast<float>(spec_.scale * kLog2E);
    float chain = 0;
    for (std::size_t n = 0; bf16() && !spec_.additive() && n < s.D; ++n) {
      const std::size_t d = in_order(n, 0, s.D);
      chain = std::fma(rounded(in_.query(b, i, h, d)), rounded(key(b, j, h, d)),
                       chain);
    }
    if (bf16() && !spec_.additive()) {
      return ended(chain) * factor;
    }
    for (std::size_t d = 0; d < s.D; ++d) {
      chain = spec_.additive() ? std::fma(spec_.score_weight(h, d),
                                          tangent(b, h, i, j, d), chain)
                               : std::fma(in_.query(b, i, h, d) * factor,
                                          key(b, j, h, d), chain);
    }
    return spec_.additive() ? ended(chain) * static_cast<float>(kLog2E)
                            : ended(chain);
  }
  float tangent(std::size_t b, std::size_t h, std::size_t i, std::size_t j,
                std::size_t d) const {
    return contract_tanh(in_.query(b, i, h, d) + key(b, j, h, d));
  }
  // The derivative of a plain score by feature d of its key, by that of its
  // query: times scale, which comes last.
  float by_key(std::size_t b, std::size_t h, std::size_t i, std::size_t j,
               std::size_t d) const {
    if (!spec_.additive()) {
      return in_.query(b, i, h, d);
    }
    const float t = tangent(b, h, i, j, d);
    return spec_.score_weight(h, d) * std::fma(-t, t, 1.0f);
  }
  float by_query(std::size_t b, std::size_t h, std::size_t i, std::size_t j,
                 std::size_t d) const {
    return spec_.additive() ? by_key(b, h, i, j, d) : key(b, j, h, d);
  }

  float score(std::size_t b, std::size_t h, std::size_t i, std::size_t j,
              float& slope) const {
    constexpr double kLog2E = 0x1.71547652b82fep+0;
    float score = plain_score(b, h, i, j);
    slope = 1;
    if (spec_.softcap) {
      const auto c = static_cast<float>(*spec_.softcap * kLog2E);
      const float t = contract_tanh(score / c);
      slope = std::fma(-t, t, 1.0f);
      score = c * t;
    }
    if (is_added(j)) {
      return score;
    }
    if (spec_.bias.given()) {
      score =
          std::fma(spec_.bias(b, h, i, j), static_cast<float>(kLog2E), score);
    }
    if (t5_bias_.table.data() != nullptr) {
      const std::size_t bucket = contract_bucket(
          t5_bias_, static_cast<std::int64_t>(j) - position(b, i));
      score = std::fma(t5_bias_.table(bucket, h), static_cast<float>(kLog2E),
                       score);
    }
    if (spec_.alibi.given()) {
      const auto by = static_cast<float>(
          static_cast<double>(spec_.alibi.slope(h)) * kLog2E);
      score = std::fma(by, -distance(b, i, j), score);
    }
    return score;
  }
  std::int64_t position(std::size_t b, std::size_t i) const {
    return static_cast<std::int64_t>(i) + spec_.mask.query_start(b);
  }
  float distance(std::size_t b, std::size_t i, std::size_t j) const {
    const std::int64_t offset = spec_.alibi.offset(b, i, j);
    return static_cast<float>(offset < 0 ? -offset : offset);
  }

  // The gradient that came with the returned weight.
  float given(std::size_t b, std::size_t h, std::size_t i,
              std::size_t j) const {
    switch (spec_.attn_weights) {
      case AttnWeights::mean:
        return up_.d_attn_weights(b, 0, i, j) *
               static_cast<float>(1 / static_cast<double>(spec_.shape.Hq));
      case AttnWeights::after_dropout:
        return kept(b, h, i, j) == 0
                   ? 0
                   : up_.d_attn_weights(b, h, i, j) * kept(b, h, i, j);
      default:
        return up_.d_attn_weights(b, h, i, j);
    }
  }
  bool has_given() const { return up_.d_attn_weights.size() != 0; }

  // The blocks of keys are aligned where the sequence's keys begin; each added
  // key has one behind them.
  template <class Body>
  void for_each_block(std::size_t b, const Body& body) const {
    for_each_key_block(b, body);
    for (std::size_t j = spec_.shape.Lkv; j < columns(); ++j) {
      body(j, j + 1);
    }
  }
  template <class Body>
  void for_each_key_block(std::size_t b, const Body& body) const {
    for (std::size_t first = spec_.mask.first_key(b); first < spec_.shape.Lkv;
         first += kKeys) {
      body(first, std::min(first + kKeys, spec_.shape.Lkv));
    }
  }

  // A row without a gradient adds to nothing.
  bool has_gradient(std::size_t b, std::size_t h, std::size_t i) const {
    bool any = false;
    for (std::size_t c = 0; c < spec_.shape.Dv; ++c) {
      any = any || up_.d_output(b, i, h, c) != 0;
    }
    const std::size_t head = spec_.attn_weights == AttnWeights::mean ? 0 : h;
    for (std::size_t j = 0; has_given() && j < columns(); ++j) {
      any = any ||
            (allowed(b, h, i, j) && up_.d_attn_weights(b, head, i, j) != 0);
    }
    return any;
  }

  Row row(std::size_t b, std::size_t h, std::size_t i) const {
    const AttentionShape& s = spec_.shape;
    Row row{std::vector<bool>(columns()), std::vector<bool>(columns()),
            std::vector<float>(columns()), std::vector<float>(columns()),
            std::vector<float>(columns())};
    if (!has_gradient(b, h, i)) {
      return row;
    }
    const float sum = rows_(b, h, i, 1);
    if (sum == 0) {
      for (std::size_t j = 0;
           spec_.empty_rows == EmptyRow::uniform && j < s.Lkv; ++j) {
        row.read[j] = true;
        row.weight[j] = kept(b, h, i, j) / static_cast<float>(s.Lkv);
      }
      return row;
    }
    std::vector<float> p(columns());
    std::vector<float> slope(columns());
    const float reciprocal = 1 / sum;
    for (std::size_t j = 0; j < columns(); ++j) {
      row.allowed[j] = allowed(b, h, i, j);
      row.read[j] = row.allowed[j];
      if (row.allowed[j]) {
        const float x = score(b, h, i, j, slope[j]) - rows_(b, h, i, 0);
        p[j] = contract_exp2(x) * reciprocal;
      }
    }
    const float delta = row_delta(row, p, b, h, i);
    if (spec_.sinks.has(h)) {
      const auto m =
          static_cast<float>(double{spec_.sinks.of(h)} * 0x1.71547652b82fep+0);
      row.d_sink =
          contract_exp2(m - rows_(b, h, i, 0)) * reciprocal * (0 - delta);
    }
    for (std::size_t j = 0; j < columns(); ++j) {
      if (!row.allowed[j]) {
        continue;
      }
      float d_weight = 0;
      for (std::size_t n = 0; n < s.Dv; ++n) {
        const std::size_t c = in_order(n, 0, s.Dv);
        d_weight = std::fma(rounded(up_.d_output(b, i, h, c)),
                            rounded(value(b, j, h, c)), d_weight);
      }
      d_weight = ended(d_weight);
      if (spec_.dropout.active()) {
        const float k = kept(b, h, i, j);
        d_weight = k == 0 ? 0 : d_weight * k;
        row.weight[j] = k == 0 ? 0 : p[j] * k;
      } else {
        row.weight[j] = p[j];
      }
      if (has_given()) {
        d_weight += given(b, h, i, j);
      }
      row.d_score[j] = p[j] * (d_weight - delta);
      row.d_product[j] =
          spec_.softcap ? row.d_score[j] * slope[j] : row.d_score[j];
    }
    if (spec_.alibi.given()) {
      for_each_key_block(b, [&](std::size_t first, std::size_t end) {
        float chain = 0;
        for (std::size_t j = first; j < end; ++j) {
          chain = std::fma(row.d_score[j], -distance(b, i, j), chain);
        }
        row.d_slope += chain;
      });
    }
    return row;
  }

  float row_delta(const Row& row, const std::vector<float>& p, std::size_t b,
                  std::size_t h, std::size_t i) const {
    float delta = 0;
    for (std::size_t c = 0; c < spec_.shape.Dv; ++c) {
      delta = std::fma(up_.d_output(b, i, h, c), output_(b, i, h, c), delta);
    }
    delta = ended(delta);
    if (has_given()) {
      for_each_block(b, [&](std::size_t first, std::size_t end) {
        float chain = 0;
        for (std::size_t j = first; j < end; ++j) {
          if (row.allowed[j]) {
            chain = std::fma(p[j], given(b, h, i, j), chain);
          }
        }
        delta += chain;
      });
    }
    return delta;
  }

  void add_query(const Row& row, std::size_t b, std::size_t h, std::size_t i) {
    const AttentionShape& s = spec_.shape;
    for (std::size_t d = 0; d < s.D; ++d) {
      for_each_block(b, [&](std::size_t first, std::size_t end) {
        float chain = 0;
        for (std::size_t n = first; n < end; ++n) {
          const std::size_t j = in_dot_order(n, first, end);
          if (row.allowed[j]) {
            chain = std::fma(rounded_dot(row.d_product[j]),
                             rounded_dot(by_query(b, h, i, j, d)), chain);
          }
        }
        gradients_.query(b, i, h, d) += chain;
      });
    }
  }

  // One block of queries into the running sums of all keys.
  void add_keys(const std::vector<Row>& rows, std::size_t b, std::size_t h,
                std::size_t first) {
    const AttentionShape& s = spec_.shape;
    const std::size_t g = s.kv_head(h);
    const std::size_t end = std::min(first + kQueries, s.Lq);
    for (std::size_t j = 0; j < columns(); ++j) {
      if (is_added(j) && !is_learned(j)) {
        continue;
      }
      for (std::size_t d = 0; d < s.D; ++d) {
        float chain = 0;
        for (std::size_t n = first; n < end; ++n) {
          const std::size_t i = in_dot_order(n, first, end);
          if (rows[i].allowed[j]) {
            chain = std::fma(rounded_dot(rows[i].d_product[j]),
                             rounded_dot(by_key(b, h, i, j, d)), chain);
          }
        }
        (is_added(j) ? learned_key_(g, d) : gradients_.key(b, j, g, d)) +=
            chain;
      }
      for (std::size_t c = 0; c < s.Dv; ++c) {
        float chain = 0;
        for (std::size_t n = first; n < end; ++n) {
          const std::size_t i = in_order(n, first, end);
          if (rows[i].read[j]) {
            chain = std::fma(rounded(rows[i].weight[j]),
                             rounded(up_.d_output(b, i, h, c)), chain);
          }
        }
        (is_added(j) ? learned_value_(g, c) : gradients_.value(b, j, g, c)) +=
            chain;
      }
    }
    for (std::size_t i = first; i < end; ++i) {
      d_slopes_.push_back(rows[i].d_slope);
    }
  }

  // The share of one block of queries: for each block of keys the diagonals,
  // from the earliest keys on.
  void add_t5_bias(const std::vector<Row>& rows, std::size_t b, std::size_t h,
                   std::size_t first) {
    if (gradients_.t5_bias.size() == 0) {
      return;
    }
    const std::size_t end = std::min(first + kQueries, spec_.shape.Lq);
    std::vector<float> share(gradients_.t5_bias.extent(0));
    for_each_key_block(b, [&](std::size_t begin_key, std::size_t end_key) {
      std::vector<float> sums(share.size());
      // From the last query to the first key, ... the first to the last.
      const auto before = static_cast<std::int64_t>(end - 1);
      for (std::int64_t shift = static_cast<std::int64_t>(begin_key) - before;
           shift < static_cast<std::int64_t>(end_key - first); ++shift) {
        float diagonal = 0;
        for (std::size_t i = first; i < end; ++i) {
          const std::int64_t j = static_cast<std::int64_t>(i) + shift;
          if (j >= static_cast<std::int64_t>(begin_key) &&
              j < static_cast<std::int64_t>(end_key)) {
            diagonal += rows[i].d_score[static_cast<std::size_t>(j)];
          }
        }
        sums[contract_bucket(t5_bias_, shift - spec_.mask.query_start(b))] +=
            diagonal;
      }
      for (std::size_t n = 0; n < share.size(); ++n) {
        share[n] += sums[n];
      }
    });
    for (std::size_t n = 0; n < share.size(); ++n) {
      gradients_.t5_bias(n, h) += share[n];
    }
  }

  // The share of one block of queries.
  void add_score_weight(const std::vector<Row>& rows, std::size_t b,
                        std::size_t h, std::size_t first) {
    const std::size_t end = std::min(first + kQueries, spec_.shape.Lq);
    for (std::size_t d = 0;
         d < spec_.shape.D && gradients_.score_weight.size() != 0; ++d) {
      float share = 0;
      for (std::size_t i = first; i < end; ++i) {
        float sum = 0;
        for_each_block(b, [&](std::size_t begin_key, std::size_t end_key) {
          float chain = 0;
          for (std::size_t j = begin_key; j < end_key; ++j) {
            if (rows[i].allowed[j]) {
              chain =
                  std::fma(rows[i].d_product[j], tangent(b, h, i, j, d), chain);
            }
          }
          sum += chain;
        });
        share += sum;
      }
      gradients_.score_weight(h, d) += share;
    }
  }

  void add_bias(const Row& row, std::size_t b, std::size_t h, std::size_t i) {
    if (gradients_.bias.size() == 0) {
      return;
    }
    const auto [eb, eh, ei, ej] = gradients_.bias.extents();
    const std::size_t at_b = eb == 1 ? 0 : b;
    const std::size_t at_h = eh == 1 ? 0 : h;
    const std::size_t at_i = ei == 1 ? 0 : i;
    if (ej != 1) {
      for (std::size_t j = 0; j < spec_.shape.Lkv; ++j) {
        gradients_.bias(at_b, at_h, at_i, j) += row.d_score[j];
      }
      return;
    }
    float sum = 0;
    for_each_key_block(b, [&](std::size_t first, std::size_t end) {
      float chain = 0;
      for (std::size_t j = first; j < end; ++j) {
        chain += row.d_score[j];
      }
      sum += chain;
    });
    gradients_.bias(at_b, at_h, at_i, 0) += sum;
  }

  // What a sequence gives to the learned added key, after all of its heads.
  void add_learned() {
    for (std::size_t n = 0; n < learned_key_.size(); ++n) {
      float& sum = gradients_.bias_k.data()[n];
      sum += learned_key_.data()[n] * static_cast<float>(spec_.scale);
      sum = std::isnan(sum) ? kNaN : sum;
    }
    for (std::size_t n = 0; n < learned_value_.size(); ++n) {
      float& sum = gradients_.bias_v.data()[n];
      sum += learned_value_.data()[n];
      sum = std::isnan(sum) ? kNaN : sum;
    }
  }

  // d_slopes_ stands in the order b, h, i.
  void add_slopes() {
    const AttentionShape& s = spec_.shape;
    for (std::size_t h = 0; h < gradients_.alibi.size(); ++h) {
      for (std::size_t b = 0; b < s.B; ++b) {
        for (std::size_t i = 0; i < s.Lq; ++i) {
          gradients_.alibi(h) += d_slopes_[(b * s.Hq + h) * s.Lq + i];
        }
      }
    }
  }

  void scale(Tensor<float, 4>& gradient) const {
    for (float& x : gradient.elements()) {
      x *= static_cast<float>(spec_.scale);
    }
    canonical(gradient);
  }
  static void canonical(Tensor<float, 4>& gradient) {
    for (float& x : gradient.elements()) {
      x = std::isnan(x) ? kNaN : x;
    }
  }

  const Inputs<float>& in_;
  const Tensor<float, 4>& output_;
  const Tensor<float, 4>& rows_;
  const Upstream<float>& up_;
  T5Bias t5_bias_;
  AttentionSpec spec_;
  Gradients<float> gradients_;
  std::vector<float> d_slopes_;
  Tensor<float, 2> learned_key_;  // of one sequence
  Tensor<float, 2> learned_value_;
};

}  // namespace headwise::testing_support
