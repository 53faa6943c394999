#include "headwise/interop/dialect_diff.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <new>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "headwise/base/checked_product.h"
#include "interop/dialect_steps.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr double kNear = 1e-5;

bool same(double x, double y) {
  if (std::isnan(x) || std::isnan(y)) {
    return std::isnan(x) && std::isnan(y);
  }
  return x == y || std::abs(x - y) <= kNear * (1 + std::abs(y));
}

// How far apart they are; NaN and infinities are further than any number.
double distance(double x, double y) {
  const double apart = std::abs(x - y);
  return std::isnan(apart) ? std::numeric_limits<double>::infinity() : apart;
}

// What two dialects have at each pair, compared.
template <class Number>
std::optional<DialectDifference> compare(const AttentionShape& shape,
                                         std::string_view step,
                                         const Number& first,
                                         const Number& second) {
  DialectDifference found;
  found.step = step;
  double largest = -1;
  std::size_t n = 0;
  for (std::size_t row = 0; row < shape.B * shape.Hq * shape.Lq; ++row) {
    const std::array<std::size_t, 3> at = {
        row / shape.Lq / shape.Hq, row / shape.Lq % shape.Hq, row % shape.Lq};
    bool differs = false;
    for (std::size_t j = 0; j < shape.Lkv; ++j, ++n) {
      const double x = first(n);
      const double y = second(n);
      if (same(x, y)) {
        continue;
      }
      differs = true;
      if (distance(x, y) > largest) {
        largest = distance(x, y);
        found.at = {at[0], at[1], at[2], j};
        found.first = x;
        found.second = y;
      }
    }
    if (differs && found.rows++ < 8) {
      found.first_rows.push_back(at);
    }
  }
  return found.rows == 0 ? std::nullopt : std::optional(std::move(found));
}

// ---- Why. ----

// What the two dialects make of one mask.
struct Forms {
  const MaskForm* form = nullptr;
  MaskReading reading = MaskReading::refused;
};

Forms forms_of_mask(const Dialect& dialect, const Array& mask) {
  const auto form =
      std::ranges::find(dialect.masks, mask.shape.size(), &MaskForm::rank);
  if (form == dialect.masks.end()) {
    return {};
  }
  return {&*form, reading_of(*form, mask.dtype)};
}

// Of a nonzero element, or of a number.
Message reading_text(MaskReading reading) {
  switch (reading) {
    case MaskReading::refused:
      return "refused";
    case MaskReading::attends:
      return "attend";
    case MaskReading::masks:
      return "masked";
    case MaskReading::added:
      return "added to the score";
    case MaskReading::lengths:
      return "a number of keys";
  }
  return "";
}

std::string dialect_name(const Dialect& dialect) {
  return std::string(dialect.name);
}

Message why_masks_differ(const Dialect& a, const Dialect& b,
                         const DialectInput& input) {
  if (input.mask != nullptr) {
    const Forms in_a = forms_of_mask(a, *input.mask);
    const Forms in_b = forms_of_mask(b, *input.mask);
    if (in_a.reading != in_b.reading) {
      return message("an element of the mask means {} in {} and {} in {}",
                     reading_text(in_a.reading), dialect_name(a),
                     reading_text(in_b.reading), dialect_name(b));
    }
    if (in_a.form->axes != in_b.form->axes ||
        in_a.form->heads_in_batch != in_b.form->heads_in_batch) {
      return message("a mask of rank {} is {} in {} and {} in {}",
                     in_a.form->rank, axes_text(*in_a.form), dialect_name(a),
                     axes_text(*in_b.form), dialect_name(b));
    }
  }
  return message("in a key padding mask, True means {} in {} and {} in {}",
                 reading_text(a.key_padding), dialect_name(a),
                 reading_text(b.key_padding), dialect_name(b));
}

Message corner(const Dialect& dialect) {
  switch (dialect.causal) {
    case CausalAlignment::top_left:
      return "the first query with the first key";
    case CausalAlignment::bottom_right:
      return "the last query with the last key";
    case CausalAlignment::after_cache:
      return "the first query with the first key after the cache";
  }
  return "";
}

// What masked scores are.
Message fill_text(const Dialect& dialect) {
  const std::string number = number_text(dialect.fill_value, 8);
  switch (dialect.fill) {
    case MaskFill::infinite:
      return "-inf";
    case MaskFill::replaced:
      return message("replaced with {}", number);
    case MaskFill::added:
      return message("their own numbers plus {}", number);
  }
  return "";
}

Message why_rows_differ(const Dialect& a, const Dialect& b,
                        const DialectCall& call) {
  return message("a fully masked row gives {} in {} and {} in {}",
                 empty_row_text(a, call), dialect_name(a),
                 empty_row_text(b, call), dialect_name(b));
}

Message why_scores_differ(const Dialect& a, const Dialect& b) {
  return message(
      "masked keys get weight: masked scores are {} in {} and {} in {}",
      fill_text(a), dialect_name(a), fill_text(b), dialect_name(b));
}

// ---- The steps, one after the other. ----

using Found = std::optional<DialectDifference>;

Found with_why(Found found, Message why) {
  if (found) {
    found->why = std::move(why);
  }
  return found;
}

Found diff_masks(const Dialect& a, const Dialect& b, const DialectInput& input,
                 const AttentionShape& shape, const DialectSteps& in_a,
                 const DialectSteps& in_b) {
  const auto allowed = [](const DialectSteps& steps) {
    return [&steps](std::size_t n) {
      return steps.allowed[n] != 0 && std::isfinite(steps.added[n]) ? 1.0 : 0.0;
    };
  };
  const auto added = [](const DialectSteps& steps) {
    return
        [&steps](std::size_t n) { return static_cast<double>(steps.added[n]); };
  };
  Found found = compare(shape, "mask", allowed(in_a), allowed(in_b));
  if (!found) {
    found = compare(shape, "mask", added(in_a), added(in_b));
  }
  return found ? with_why(std::move(found), why_masks_differ(a, b, input))
               : found;
}

Found diff_causal(const Dialect& a, const Dialect& b,
                  const AttentionShape& shape, const DialectSteps& in_a,
                  const DialectSteps& in_b) {
  const auto seen = [](const DialectSteps& steps) {
    return [&steps](std::size_t n) { return steps.causal[n] != 0 ? 1.0 : 0.0; };
  };
  return with_why(
      compare(shape, "causal_mask", seen(in_a), seen(in_b)),
      message("a causal mask aligns {} in {} and {} in {}", corner(a),
              dialect_name(a), corner(b), dialect_name(b)));
}

Found diff_weights(const Dialect& a, const Dialect& b,
                   const DialectInput& input, const AttentionShape& shape,
                   const DialectSteps& in_a, const DialectSteps& in_b) {
  const auto weights = [](const DialectSteps& steps) {
    return [&steps](std::size_t n) { return steps.weights[n]; };
  };
  Found found = compare(shape, "attn_weights", weights(in_a), weights(in_b));
  if (!found) {
    return found;
  }
  if (input.softcap && a.softcap != b.softcap) {
    const Dialect& before = a.softcap == SoftcapOrder::before_mask ? a : b;
    const Dialect& after = a.softcap == SoftcapOrder::before_mask ? b : a;
    found->step = "softcap";
    found->why = message(
        "{} caps scores before the mask and {} after it, which leaves weight "
        "on masked keys",
        dialect_name(before), dialect_name(after));
    return found;
  }
  const auto& [b0, h0, i0, j0] = found->at;
  const std::size_t row = ((b0 * shape.Hq + h0) * shape.Lq + i0) * shape.Lkv;
  for (std::size_t j = 0; j < shape.Lkv; ++j) {
    if (in_a.may_attend(row + j) && std::isfinite(in_a.added[row + j])) {
      found->step = "masked_scores";
      return with_why(std::move(found), why_scores_differ(a, b));
    }
  }
  const DialectCall call{.returns_weights = input.returns_weights,
                         .dropout = input.dropout != 0,
                         .adds_mask = in_a.adds_minus_inf(row, shape.Lkv)};
  return with_why(std::move(found), why_rows_differ(a, b, call));
}

Found diff_returned(const Dialect& a, const Dialect& b,
                    const DialectInput& input, const AttentionShape& shape,
                    const DialectSteps& steps) {
  if (!input.returns_weights) {
    return std::nullopt;
  }
  if (input.dropout != 0 &&
      a.weights_after_dropout != b.weights_after_dropout) {
    const Dialect& after = a.weights_after_dropout ? a : b;
    const Dialect& before = a.weights_after_dropout ? b : a;
    // A kept weight.
    const auto returned = [&](const Dialect& dialect) {
      return [&steps, factor = dialect.weights_after_dropout
                                   ? 1 / (1 - input.dropout)
                                   : 1.0](std::size_t n) {
        return steps.weights[n] * factor;
      };
    };
    return with_why(
        compare(shape, "returned_weights", returned(a), returned(b)),
        message("{} returns the weights after dropout and {} before it",
                dialect_name(after), dialect_name(before)));
  }
  if (a.averages_heads == b.averages_heads) {
    return std::nullopt;
  }
  const Dialect& mean = a.averages_heads ? a : b;
  const Dialect& each = a.averages_heads ? b : a;
  const std::size_t pairs = shape.Lq * shape.Lkv;
  const auto returned = [&](const Dialect& dialect) {
    return [&, averages = dialect.averages_heads](std::size_t n) {
      if (!averages) {
        return steps.weights[n];
      }
      const std::size_t sequence = n / (pairs * shape.Hq) * pairs * shape.Hq;
      double sum = 0;
      for (std::size_t h = 0; h < shape.Hq; ++h) {
        sum += steps.weights[sequence + h * pairs + n % pairs];
      }
      return sum / static_cast<double>(shape.Hq);
    };
  };
  return with_why(
      compare(shape, "returned_weights", returned(a), returned(b)),
      message(
          "{} returns the mean over the heads and {} the weights of each head",
          dialect_name(mean), dialect_name(each)));
}

Status check(const DialectInput& input, const AttentionShape& shape) {
  OperationOptions without_values;
  without_values.statistics.rows = true;
  HEADWISE_TRY(AttentionSpec::create(
      shape, {.scale = input.scale, .softcap = input.softcap}, without_values,
      "diff_dialects"));
  const std::array<std::size_t, 4> pairs = {shape.B, shape.Hq, shape.Lq,
                                            shape.Lkv};
  if (!checked_product(pairs)) {
    return Error{ErrorCode::out_of_memory};
  }
  if (input.key_lengths.data() == nullptr) {
    return ok();
  }
  const std::array<std::size_t, 1> expected = {shape.B};
  const std::array<std::size_t, 1> given = {input.key_lengths.extent(0)};
  return check_shape("diff_dialects", "key_lengths", given, "(B)", expected);
}

}  // namespace

Result<std::optional<DialectDifference>> diff_dialects(
    const Dialect& a, const Dialect& b, const DialectInput& input) try {
  Extents<4> values = input.key.extents();
  values[3] = 0;
  const auto shape =
      attention_shape(input.query.extents(), input.key.extents(), values);
  HEADWISE_TRY(shape);
  HEADWISE_TRY(check(input, *shape));
  const auto in_a = dialect_steps(a, input, *shape);
  const auto in_b = dialect_steps(b, input, *shape);
  if (!in_a && !in_b) {
    return in_a.error();
  }
  if (!in_a || !in_b) {
    const Error& error = in_a ? in_b.error() : in_a.error();
    DialectDifference found;
    found.step = "mask";
    found.why = message("{} does not take this mask: it {}, expected {}",
                        dialect_name(in_a ? b : a), error.details().given,
                        error.details().expected);
    return std::optional(std::move(found));
  }
  Found found = diff_masks(a, b, input, *shape, *in_a, *in_b);
  if (!found) {
    found = diff_causal(a, b, *shape, *in_a, *in_b);
  }
  if (!found) {
    found = diff_weights(a, b, input, *shape, *in_a, *in_b);
  }
  if (!found) {
    found = diff_returned(a, b, input, *shape, *in_a);
  }
  return found;
} catch (const std::bad_alloc&) {
  return Error{ErrorCode::out_of_memory};
}

}  // namespace headwise::inline HEADWISE_ABI
