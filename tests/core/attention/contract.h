// The arithmetic of docs/arithmetic.md written out once more, one row at a
// time, in scalar code: what every kernel's bits are held against. Nothing is
// shared with the kernels.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "attention/attention_call.h"
#include "attention/log2_sum.h"
#include "headwise/attention/spec.h"
#include "headwise/base/half.h"
#include "run/float_environment.h"
#include "support/tensors.h"

namespace headwise::testing_support {

inline float contract_exp2(float x) {
  if (x < -126) {
    return 0;
  }
  const float magic = 0x1.8p23f + 127;
  const float shifted = x + magic;
  const float f = x - (shifted - magic);
  float y = 0x1.4211eep-13f;
  for (const float c : {0x1.5f3e88p-10f, 0x1.3b2d2ep-7f, 0x1.c6aee8p-5f,
                        0x1.ebfbdcp-3f, 0x1.62e430p-1f, 1.0f}) {
    y = std::fma(y, f, c);
  }
  return y * std::bit_cast<float>(std::bit_cast<std::uint32_t>(shifted) << 23);
}

inline float contract_tanh(float x) {
  const float steep = std::fabs(x) * -0x1.715476p+1f;
  const float z = steep < -64 ? -64 : steep;
  const float magic = 0x1.8p23f + 127;
  const float shifted = z + magic;
  const float g = z - (shifted - magic);
  float y = 0x1.4308fap-13f;
  for (const float c : {0x1.5f07b4p-10f, 0x1.3b2ba0p-7f, 0x1.c6af6ep-5f,
                        0x1.ebfbdep-3f, 0x1.62e430p-1f}) {
    y = std::fma(y, g, c);
  }
  y *= g;
  const auto power =
      std::bit_cast<float>(std::bit_cast<std::uint32_t>(shifted) << 23);
  const float e = std::fma(y, power, power - 1);
  return std::copysign(e / (e + 2), x);
}

// The bucket of a key at j - (i + query_start) under T5's bias.
inline std::size_t contract_bucket(const T5Bias& bias, std::int64_t offset) {
  const std::size_t buckets = bias.table.extent(0);
  const std::size_t n = bias.bidirectional ? buckets / 2 : buckets;
  const std::size_t side = bias.bidirectional && offset > 0 ? n : 0;
  const std::int64_t near = static_cast<std::int64_t>(n / 2);
  const std::int64_t x = offset > 0 && !bias.bidirectional ? 0
                         : offset > 0                      ? offset
                                                           : -offset;
  if (x < near) {
    return side + static_cast<std::size_t>(x);
  }
  const auto E = static_cast<double>(near);
  const double steps = static_cast<double>(n) - E;
  const double step = std::log(static_cast<double>(x) / E) /
                      std::log(static_cast<double>(bias.max_distance) / E) *
                      steps;
  return side + static_cast<std::size_t>(
                    std::min(E + std::floor(step + 0x1p-40), E + steps - 1));
}

// One row's running result: M, sum and the context.
class ContractRow {
 public:
  explicit ContractRow(std::size_t Dv) : context_(Dv, 0.0f) {}

  void fold(float m, float block_sum, const std::vector<float>& block) {
    if (block_sum == 0) {
      return;
    }
    if (sum_ == 0) {
      max_ = m;
      sum_ = block_sum;
      context_ = block;
      return;
    }
    const float top = m > max_ ? m : max_;
    const float a = contract_exp2(max_ - top);
    const float b = contract_exp2(m - top);
    for (std::size_t c = 0; c < context_.size(); ++c) {
      context_[c] = std::fma(block[c], b, context_[c] * a);
    }
    sum_ = std::fma(block_sum, b, sum_ * a);
    max_ = top;
  }

  float max() const { return max_; }
  float sum() const { return sum_; }
  float context(std::size_t c) const { return context_[c]; }

 private:
  float max_ = -std::numeric_limits<float>::infinity();
  float sum_ = 0;
  std::vector<float> context_;
};

// A block of 128 keys of one row: the scores, p, their maximum and sum.
struct ContractBlock {
  std::vector<float> scores;
  std::vector<float> p;
  float max = -std::numeric_limits<float>::infinity();
  float sum = 0;
};

class Contract {
 public:
  // `norms` (B, Hq, Lkv): p and the scores are those of the keys' shares.
  Contract(const Inputs<float>& in, const AttentionOptions& options,
           const OperationOptions& operation_options,
           TensorView<const float, 3> norms = {})
      : in_(in),
        t5_bias_(options.t5_bias),
        norms_(norms),
        spec_(AttentionSpec::create(
                  attention_shape(in.query.extents(), in.key.extents(),
                                  in.value.extents())
                      .value(),
                  options, operation_options)
                  .value()) {}

  Outputs<float> run() const {
    const FloatEnvironment environment;
    const AttentionShape& s = spec_.shape;
    Outputs<float> out = outputs_for(in_, spec_.attn_weights, spec_.scores,
                                     spec_.added_keys.count());
    if (spec_.attn_weights == AttnWeights::mean) {
      std::fill_n(out.attn_weights.data(), out.attn_weights.size(), 0.0f);
    }
    for (std::size_t b = 0; b < s.B; ++b) {
      for (std::size_t h = 0; h < s.Hq; ++h) {
        for (std::size_t i = 0; i < s.Lq; ++i) {
          row(b, h, i, out);
        }
      }
    }
    if (spec_.attn_weights == AttnWeights::mean) {
      for (float& x : out.attn_weights.elements()) {
        x /= static_cast<float>(s.Hq);
      }
    }
    return out;
  }

 protected:
  static constexpr std::size_t kBlock = 128;

  const AttentionSpec& spec() const { return spec_; }
  static float one_nan(float x) { return std::isnan(x) ? kNaN : x; }

  // Added keys are the last columns.
  bool is_added(std::size_t j) const { return j >= spec_.shape.Lkv; }
  std::size_t columns() const {
    return spec_.shape.Lkv + spec_.added_keys.count();
  }
  // What dropout counts a column as.
  std::size_t number(std::size_t j) const {
    const bool learned = spec_.added_keys.bias_k().data() != nullptr;
    return !is_added(j)                      ? j
           : learned && j == spec_.shape.Lkv ? 0xFFFFFFFE
                                             : 0xFFFFFFFF;
  }
  float key(std::size_t b, std::size_t j, std::size_t h, std::size_t d) const {
    const std::size_t g = spec_.shape.kv_head(h);
    return !is_added(j)              ? in_.key(b, j, g, d)
           : number(j) == 0xFFFFFFFE ? spec_.added_keys.bias_k()(g, d)
                                     : 0;
  }
  float value(std::size_t b, std::size_t j, std::size_t h,
              std::size_t c) const {
    const std::size_t g = spec_.shape.kv_head(h);
    return !is_added(j)              ? in_.value(b, j, g, c)
           : number(j) == 0xFFFFFFFE ? spec_.added_keys.bias_v()(g, c)
                                     : 0;
  }
  float norm(std::size_t b, std::size_t h, std::size_t j) const {
    return std::max(norms_(b, h, j), 0x1p-60f);
  }
  // The blocks of keys, and one of each added key.
  template <class Body>
  void for_each_block(std::size_t b, const Body& body) const {
    for (std::size_t first = spec_.mask.first_key(b); first < spec_.shape.Lkv;
         first += kBlock) {
      body(first, std::min(first + kBlock, spec_.shape.Lkv));
    }
    for (std::size_t j = spec_.shape.Lkv; j < columns(); ++j) {
      body(j, j + 1);
    }
  }

  bool allowed(std::size_t b, std::size_t h, std::size_t i,
               std::size_t j) const {
    return is_added(j) || (spec_.mask.may_attend(b, h, i, j) &&
                           !(spec_.bias.given() &&
                             spec_.bias(b, h, i, j) ==
                                 -std::numeric_limits<float>::infinity()));
  }

  // As the call's arithmetic multiplies a number.
  float rounded(float x) const {
    return bf16() ? widened(narrowed_to_bfloat16(x)) : x;
  }
  // The place of the n-th product of a chain: in bf16 the second of each pair
  // comes first.
  std::size_t in_order(std::size_t n, std::size_t count) const {
    return bf16() ? std::min(n ^ 1, count - 1) : n;
  }
  bool bf16() const { return spec_.arithmetic == Arithmetic::bf16; }

  float product(std::size_t b, std::size_t h, std::size_t i,
                std::size_t j) const {
    const auto factor = static_cast<float>(spec_.scale * 0x1.71547652b82fep+0);
    float chain = 0;
    if (bf16()) {
      for (std::size_t n = 0; n < spec_.shape.D; ++n) {
        const std::size_t d = in_order(n, spec_.shape.D);
        chain = std::fma(rounded(in_.query(b, i, h, d)),
                         rounded(key(b, j, h, d)), chain);
      }
      return (chain + 0.0f) * factor;
    }
    for (std::size_t d = 0; d < spec_.shape.D; ++d) {
      chain = std::fma(in_.query(b, i, h, d) * factor, key(b, j, h, d), chain);
    }
    return chain + 0.0f;
  }
  float additive(std::size_t b, std::size_t h, std::size_t i,
                 std::size_t j) const {
    float chain = 0;
    for (std::size_t d = 0; d < spec_.shape.D; ++d) {
      const float t = contract_tanh(in_.query(b, i, h, d) + key(b, j, h, d));
      chain = std::fma(spec_.score_weight(h, d), t, chain);
    }
    return (chain + 0.0f) * 0x1.715476p+0f;
  }

  float plain(std::size_t b, std::size_t h, std::size_t i,
              std::size_t j) const {
    return spec_.additive() ? additive(b, h, i, j) : product(b, h, i, j);
  }
  float capped(float score) const {
    if (!spec_.softcap) {
      return score;
    }
    const auto c = static_cast<float>(*spec_.softcap * 0x1.71547652b82fep+0);
    return c * contract_tanh(score / c);
  }
  float with_terms(float score, std::size_t b, std::size_t h, std::size_t i,
                   std::size_t j) const {
    constexpr double kLog2E = 0x1.71547652b82fep+0;
    score = capped(score);
    if (is_added(j)) {
      return score;
    }
    if (spec_.bias.given()) {
      score =
          std::fma(spec_.bias(b, h, i, j), static_cast<float>(kLog2E), score);
    }
    if (t5_bias_.table.data() != nullptr) {
      const std::int64_t position =
          static_cast<std::int64_t>(i) + spec_.mask.query_start(b);
      const std::size_t bucket =
          contract_bucket(t5_bias_, static_cast<std::int64_t>(j) - position);
      score = std::fma(t5_bias_.table(bucket, h), static_cast<float>(kLog2E),
                       score);
    }
    if (spec_.alibi.given()) {
      const auto slope = static_cast<float>(
          static_cast<double>(spec_.alibi.slope(h)) * kLog2E);
      const std::int64_t offset = spec_.alibi.offset(b, i, j);
      const auto distance = static_cast<float>(offset < 0 ? -offset : offset);
      score = std::fma(slope, -distance, score);
    }
    if (norms_.data() != nullptr) {
      const auto logarithm =
          static_cast<float>(std::log(static_cast<double>(norm(b, h, j))));
      score = std::fma(logarithm, static_cast<float>(kLog2E), score);
    }
    return score;
  }

  ContractBlock block(std::size_t b, std::size_t h, std::size_t i,
                      std::size_t first, std::size_t end) const {
    ContractBlock block;
    for (std::size_t j = first; j < end; ++j) {
      float score = -std::numeric_limits<float>::infinity();
      if (allowed(b, h, i, j)) {
        score = with_terms(plain(b, h, i, j), b, h, i, j);
        block.max = score > block.max ? score : block.max;
      }
      block.scores.push_back(score);
    }
    block.p = block.scores;
    const float shift = std::isinf(block.max) && block.max < 0 ? 0 : block.max;
    for (float& p : block.p) {
      p = contract_exp2(p - shift);
      block.sum += p;
    }
    return block;
  }

  float dropped(std::size_t b, std::size_t h, std::size_t i, std::size_t j,
                float p) const {
    if (!spec_.dropout.active()) {
      return p;
    }
    return spec_.dropout.keeps(b, h, i, number(j))
               ? p * static_cast<float>(spec_.dropout.factor())
               : 0;
  }

  // The maximum of the block that is folded after the last key: its sum is 1,
  // and it has no value.
  std::optional<float> sink(std::size_t h) const {
    const TensorView<const float, 1> sinks = spec_.sinks.view();
    if (sinks.data() == nullptr || std::isinf(sinks(h))) {
      return std::nullopt;
    }
    return static_cast<float>(double{sinks(h)} * 0x1.71547652b82fep+0);
  }

  void row(std::size_t b, std::size_t h, std::size_t i,
           Outputs<float>& out) const {
    const AttentionShape& s = spec_.shape;
    ContractRow state(s.Dv);
    const std::size_t start = spec_.mask.first_key(b);
    for_each_block(b, [&](std::size_t first, std::size_t end) {
      const ContractBlock part = block(b, h, i, first, end);
      std::vector<float> context(s.Dv, 0.0f);
      for (std::size_t c = 0; c < s.Dv; ++c) {
        for (std::size_t n = 0; n < part.p.size(); ++n) {
          const std::size_t k = in_order(n, part.p.size());
          if (allowed(b, h, i, first + k)) {
            context[c] =
                std::fma(rounded(dropped(b, h, i, first + k, part.p[k])),
                         rounded(value(b, first + k, h, c)), context[c]);
          }
        }
        context[c] += 0.0f;
      }
      state.fold(part.max, part.sum, context);
    });
    if (const auto m = sink(h)) {
      state.fold(*m, 1, std::vector<float>(s.Dv, 0.0f));
    }
    out.lse(b, h, i) =
        state.sum() == 0
            ? -std::numeric_limits<float>::infinity()
            : one_nan(0x1.62e43p-1f * (state.max() + log2_sum(state.sum())));
    for (std::size_t c = 0; c < s.Dv; ++c) {
      out.output(b, i, h, c) =
          one_nan(state.sum() == 0 ? empty_output(b, h, i, c)
                                   : state.context(c) / state.sum());
    }
    for (std::size_t j = 0; out.scores.size() != 0 && j < columns(); ++j) {
      out.scores(b, h, i, j) = returned_score(b, h, i, j);
    }
    if (spec_.attn_weights != AttnWeights::none ||
        spec_.scores == ScoresStage::softmax) {
      for (std::size_t j = 0; j < start; ++j) {
        weight(b, h, i, j, 0, 0, state, out);
      }
      for_each_block(b, [&](std::size_t first, std::size_t end) {
        const ContractBlock part = block(b, h, i, first, end);
        for (std::size_t k = 0; k < part.p.size(); ++k) {
          weight(b, h, i, first + k, part.p[k], part.max, state, out);
        }
      });
    }
  }

  // In natural units; of the stage softmax weight() writes them.
  float returned_score(std::size_t b, std::size_t h, std::size_t i,
                       std::size_t j) const {
    if (spec_.scores == ScoresStage::bias && !allowed(b, h, i, j)) {
      return -std::numeric_limits<float>::infinity();
    }
    float score = plain(b, h, i, j);
    if (spec_.scores == ScoresStage::softcap) {
      score = capped(score);
    } else if (spec_.scores == ScoresStage::bias) {
      score = with_terms(score, b, h, i, j);
    }
    return one_nan(score * 0x1.62e43p-1f);
  }

  void weight(std::size_t b, std::size_t h, std::size_t i, std::size_t j,
              float p, float block_max, const ContractRow& state,
              Outputs<float>& out) const {
    const bool after = spec_.attn_weights == AttnWeights::after_dropout;
    const auto weight_of = [&](bool after_dropout) {
      if (state.sum() == 0) {
        return empty_weight(b, h, i, j, after_dropout);
      }
      const float whole = after_dropout ? dropped(b, h, i, j, p) : p;
      return allowed(b, h, i, j)
                 ? one_nan(whole * contract_exp2(block_max - state.max()) /
                           state.sum())
                 : 0.0f;
    };
    if (spec_.scores == ScoresStage::softmax) {
      out.scores(b, h, i, j) = weight_of(false);
    }
    if (spec_.attn_weights == AttnWeights::none) {
      return;
    }
    const float weight = weight_of(after);
    if (spec_.attn_weights == AttnWeights::mean) {
      out.attn_weights(b, 0, i, j) += weight;
    } else {
      out.attn_weights(b, h, i, j) = weight;
    }
  }

  float empty_weight(std::size_t b, std::size_t h, std::size_t i, std::size_t j,
                     bool after) const {
    switch (spec_.empty_rows) {
      case EmptyRow::zero:
        return 0;
      case EmptyRow::nan:
        return kNaN;
      case EmptyRow::uniform:
        break;
    }
    if (is_added(j)) {
      return 0;
    }
    return (after ? dropped(b, h, i, j, 1) : 1) /
           static_cast<float>(spec_.shape.Lkv);
  }

  float empty_output(std::size_t b, std::size_t h, std::size_t i,
                     std::size_t c) const {
    const AttentionShape& s = spec_.shape;
    if (spec_.empty_rows != EmptyRow::uniform) {
      return spec_.empty_rows == EmptyRow::nan ? kNaN : 0;
    }
    float sum = 0;
    for (std::size_t first = 0; first < s.Lkv; first += kBlock) {
      float block = 0;
      for (std::size_t j = first; j < std::min(first + kBlock, s.Lkv); ++j) {
        block = std::fma(dropped(b, h, i, j, 1),
                         in_.value(b, j, s.kv_head(h), c), block);
      }
      sum += block;
    }
    return s.Lkv == 0 ? 0 : sum / static_cast<float>(s.Lkv);
  }

  const Inputs<float>& in_;
  T5Bias t5_bias_;
  TensorView<const float, 3> norms_;
  AttentionSpec spec_;
};

}  // namespace headwise::testing_support
