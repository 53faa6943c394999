#include "interop/dialect_steps.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "headwise/steps/scores.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr float kNothing = -std::numeric_limits<float>::infinity();

// visit(n, b, h, i, j) for each pair, n in C order.
template <class Visit>
void for_each_pair(const AttentionShape& shape, const Visit& visit) {
  std::size_t n = 0;
  for (std::size_t b = 0; b < shape.B; ++b) {
    for (std::size_t h = 0; h < shape.Hq; ++h) {
      for (std::size_t i = 0; i < shape.Lq; ++i) {
        for (std::size_t j = 0; j < shape.Lkv; ++j) {
          visit(n++, b, h, i, j);
        }
      }
    }
  }
}

void merge(const DialectMask& mask, const AttentionShape& shape,
           DialectSteps& steps) {
  for_each_pair(shape, [&](std::size_t n, std::size_t b, std::size_t h,
                           std::size_t i, std::size_t j) {
    const std::ptrdiff_t at = mask.axes.offset(b, h, i, j);
    if (mask.allowed && !mask.allowed->data()[at]) {
      steps.allowed[n] = 0;
    }
    if (mask.added) {
      steps.added[n] += mask.added->data()[at];
    }
  });
}

Status read_masks(const Dialect& dialect, const DialectInput& input,
                  const AttentionShape& shape, DialectSteps& steps) {
  const MaskSizes sizes{shape.B, shape.Hq, shape.Lq, shape.Lkv, input.batched};
  // What is filled with which number is the matter of a later step.
  Dialect unfilled = dialect;
  unfilled.fill = MaskFill::infinite;
  if (input.mask != nullptr && input.causal && dialect.mask_excludes_causal) {
    return argument_error("read_mask", "mask", "is given next to causal",
                          "a mask or causal, not both");
  }
  if (input.mask != nullptr) {
    HEADWISE_ASSIGN(const auto mask, read_mask(unfilled, *input.mask, sizes));
    merge(mask, shape, steps);
  }
  if (input.key_padding != nullptr) {
    HEADWISE_ASSIGN(const auto mask,
                    read_key_padding(unfilled, *input.key_padding, sizes));
    merge(mask, shape, steps);
  }
  if (input.key_lengths.data() != nullptr) {
    for_each_pair(shape, [&](std::size_t n, std::size_t b, std::size_t,
                             std::size_t, std::size_t j) {
      if (static_cast<std::int64_t>(j) >= input.key_lengths(b)) {
        steps.allowed[n] = 0;
      }
    });
  }
  return ok();
}

// Query 0 of sequence b stands at this key.
std::int64_t start_of(const Dialect& dialect, const DialectInput& input,
                      const AttentionShape& shape, std::size_t b) {
  if (dialect.causal == CausalAlignment::after_cache &&
      input.key_lengths.data() != nullptr) {
    return input.key_lengths(b) - static_cast<std::int64_t>(shape.Lq);
  }
  return causal_start(dialect, input.past_length).of(b, shape);
}

float capped(float score, double softcap) {
  return static_cast<float>(softcap * std::tanh(score / softcap));
}

float dot(const DialectInput& input, std::size_t b, std::size_t i,
          std::size_t h, std::size_t j, std::size_t g) {
  double sum = 0;
  for (std::size_t d = 0; d < input.query.extent(3); ++d) {
    sum += static_cast<double>(input.query(b, i, h, d)) *
           static_cast<double>(input.key(b, j, g, d));
  }
  return static_cast<float>(sum);
}

// A score that nothing masks yet, after the mask.
float filled_score(const Dialect& dialect, float score,
                   bool masked_by_position) {
  switch (dialect.fill) {
    case MaskFill::infinite:
      return kNothing;
    case MaskFill::replaced:
      return static_cast<float>(dialect.fill_value);
    case MaskFill::added:
      return masked_by_position
                 ? kNothing
                 : score + static_cast<float>(dialect.fill_value);
  }
  return score;
}

void compute_scores(const Dialect& dialect, const DialectInput& input,
                    const AttentionShape& shape, DialectSteps& steps) {
  const auto scale =
      static_cast<float>(input.scale.value_or(default_scale(shape.D)));
  const bool caps_first = dialect.softcap == SoftcapOrder::before_mask;
  for_each_pair(shape, [&](std::size_t n, std::size_t b, std::size_t h,
                           std::size_t i, std::size_t j) {
    float score = scale * dot(input, b, i, h, j, shape.kv_head(h));
    if (input.softcap && caps_first) {
      score = capped(score, *input.softcap);
    }
    score += steps.added[n];
    if (!steps.may_attend(n)) {
      score = filled_score(dialect, score, steps.causal[n] == 0);
    }
    if (input.softcap && !caps_first) {
      score = capped(score, *input.softcap);
    }
    steps.scores[n] = score;
  });
}

// What a row without a key gets.
double empty_weight(EmptyRow rule, std::size_t keys) {
  switch (rule) {
    case EmptyRow::zero:
      return 0;
    case EmptyRow::uniform:
      return 1.0 / static_cast<double>(keys);
    case EmptyRow::nan:
      return std::numeric_limits<double>::quiet_NaN();
  }
  return 0;
}

void compute_weights(const Dialect& dialect, const DialectInput& input,
                     const AttentionShape& shape, DialectSteps& steps) {
  DialectCall call{.returns_weights = input.returns_weights,
                   .dropout = input.dropout != 0};
  const std::size_t keys = shape.Lkv;
  for (std::size_t n = 0; n < steps.scores.size(); n += keys) {
    const float* const row = steps.scores.data() + n;
    const float most = *std::max_element(row, row + keys);
    const bool closed = [&] {
      for (std::size_t j = 0; j < keys; ++j) {
        if (steps.may_attend(n + j)) {
          return false;
        }
      }
      return dialect.fill != MaskFill::added && !input.softcap;
    }();
    if (closed || most == kNothing) {
      call.adds_mask = steps.adds_minus_inf(n, keys);
      AttentionOptions options;
      apply_dialect(dialect, call, options);
      std::fill_n(steps.weights.begin() + static_cast<std::ptrdiff_t>(n), keys,
                  empty_weight(options.empty_rows, keys));
      continue;
    }
    double sum = 0;
    for (std::size_t j = 0; j < keys; ++j) {
      steps.weights[n + j] =
          std::exp(static_cast<double>(row[j]) - static_cast<double>(most));
      sum += steps.weights[n + j];
    }
    for (std::size_t j = 0; j < keys; ++j) {
      steps.weights[n + j] /= sum;
    }
  }
}

}  // namespace

std::string axes_text(const MaskForm& form) {
  constexpr std::array<std::string_view, 5> kNames = {"B", "H", "Lq", "Lkv",
                                                      "1"};
  std::string text = form.heads_in_batch ? "(B * H" : "(";
  for (std::size_t a = form.heads_in_batch ? 1 : 0; a < form.rank; ++a) {
    text += a == 0 ? "" : ", ";
    text += kNames[static_cast<std::size_t>(form.axes[a])];
  }
  return text + ")";
}

MaskReading reading_of(const MaskForm& form, DType type) {
  return type == DType::boolean ? form.bools
         : holds_integers(type) ? form.integers
                                : form.floats;
}

bool holds_integers(DType type) {
  return type != DType::boolean && type != DType::float16 &&
         type != DType::bfloat16 && type != DType::float32 &&
         type != DType::float64;
}

bool DialectSteps::adds_minus_inf(std::size_t n, std::size_t keys) const {
  const float* const row = added.data() + n;
  return std::find(row, row + keys, kNothing) != row + keys;
}

Result<DialectSteps> dialect_steps(const Dialect& dialect,
                                   const DialectInput& input,
                                   const AttentionShape& shape) {
  const std::size_t pairs = shape.B * shape.Hq * shape.Lq * shape.Lkv;
  DialectSteps steps{std::vector<char>(pairs, 1), std::vector<float>(pairs, 0),
                     std::vector<char>(pairs, 1), std::vector<float>(pairs, 0),
                     std::vector<double>(pairs, 0)};
  HEADWISE_TRY(read_masks(dialect, input, shape, steps));
  if (input.causal) {
    for_each_pair(shape, [&](std::size_t n, std::size_t b, std::size_t,
                             std::size_t i, std::size_t j) {
      const std::int64_t position =
          static_cast<std::int64_t>(i) + start_of(dialect, input, shape, b);
      steps.causal[n] = static_cast<std::int64_t>(j) <= position ? 1 : 0;
    });
  }
  compute_scores(dialect, input, shape, steps);
  compute_weights(dialect, input, shape, steps);
  return steps;
}

Message empty_row_text(const Dialect& dialect, const DialectCall& call) {
  if (dialect.fill == MaskFill::added && dialect.fill_value > -1e30 &&
      !call.adds_mask) {
    return "what it gives without a mask";
  }
  AttentionOptions options;
  apply_dialect(dialect, call, options);
  switch (options.empty_rows) {
    case EmptyRow::zero:
      return "0";
    case EmptyRow::uniform:
      return "the mean of all values";
    case EmptyRow::nan:
      return "NaN";
  }
  return "";
}

}  // namespace headwise::inline HEADWISE_ABI
