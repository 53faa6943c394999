#include <algorithm>
#include <cmath>
#include <new>
#include <utility>

#include "base/check.h"
#include "headwise/interop/dialect_diff.h"
#include "interop/dialect_steps.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr double kLargestHalf = 65504;

// What a mask allows, row by row. Sequences, heads and queries that it does not
// tell apart are one.
class Allowed {
 public:
  Allowed(const DialectMask& mask, const MaskSizes& sizes)
      : mask_(mask), sizes_(sizes) {
    const auto named = mask.axes.named();
    sizes_.B = named[0] ? sizes.B : 1;
    sizes_.Hq = named[1] ? sizes.Hq : 1;
    sizes_.Lq = named[2] ? sizes.Lq : 1;
  }

  const MaskSizes& sizes() const { return sizes_; }
  bool operator()(const std::array<std::size_t, 3>& row, std::size_t j) const {
    const auto& [b, h, i] = row;
    const std::ptrdiff_t at = mask_.axes.offset(b, h, i, j);
    return mask_.allowed ? mask_.allowed->data()[at]
                         : mask_.added->data()[at] > -kLargestHalf;
  }
  std::size_t keys_of(const std::array<std::size_t, 3>& row) const {
    std::size_t count = 0;
    for (std::size_t j = 0; j < sizes_.Lkv; ++j) {
      count += (*this)(row, j) ? 1 : 0;
    }
    return count;
  }

  // visit({b, h, i}) for every row.
  template <class Visit>
  void for_each_row(const Visit& visit) const {
    for (std::size_t b = 0; b < sizes_.B; ++b) {
      for (std::size_t h = 0; h < sizes_.Hq; ++h) {
        for (std::size_t i = 0; i < sizes_.Lq; ++i) {
          visit(std::array<std::size_t, 3>{b, h, i});
        }
      }
    }
  }

 private:
  const DialectMask& mask_;
  MaskSizes sizes_;
};

// The rows for which the test holds.
template <class Test>
MaskWarning rows_where(const Allowed& allowed, std::string_view name,
                       const Test& test) {
  MaskWarning warning{.name = name, .what = {}, .mend = {}, .first_rows = {}};
  allowed.for_each_row([&](const std::array<std::size_t, 3>& row) {
    if (test(row) && warning.rows++ < 8) {
      warning.first_rows.push_back(row);
    }
  });
  return warning;
}

std::size_t row_count(const Allowed& allowed) {
  return allowed.sizes().B * allowed.sizes().Hq * allowed.sizes().Lq;
}

Message what_rows_give(const Dialect& dialect) {
  const Message alone = empty_row_text(dialect, {});
  const Message with = empty_row_text(dialect, {.returns_weights = true});
  return alone == with
             ? alone
             : message("{}, or {} with returned weights", alone, with);
}

using Warnings = std::vector<MaskWarning>;

void warn(Warnings& warnings, MaskWarning warning, Message what, Message mend) {
  if (warning.rows != 0) {
    warning.what = std::move(what);
    warning.mend = std::move(mend);
    warnings.push_back(std::move(warning));
  }
}

void find_empty_rows(const Dialect& dialect, const Allowed& allowed,
                     Warnings& warnings) {
  warn(warnings,
       rows_where(allowed, "empty_rows",
                  [&](const auto& row) { return allowed.keys_of(row) == 0; }),
       message("some queries have no key; with {} their rows give {}",
               dialect.name, what_rows_give(dialect)),
       "let every query see a key, such as its own, or ignore the output of "
       "these rows");
}

// Among as many queries as keys, each is expected to see itself. In a batch
// whose padding is exchanged with its tokens, the longest sequence has no key.
void find_inverted(const Allowed& allowed, Warnings& warnings) {
  const MaskSizes& sizes = allowed.sizes();
  const bool self = sizes.Lq == sizes.Lkv && sizes.Lq > 1;
  std::size_t without = 0;
  std::size_t without_own = 0;
  std::size_t visible = 0;
  allowed.for_each_row([&](const std::array<std::size_t, 3>& row) {
    const std::size_t keys = allowed.keys_of(row);
    visible += keys;
    without += keys == 0 ? 1 : 0;
    without_own += self && !allowed(row, row[2]) ? 1 : 0;
  });
  const std::size_t rows = row_count(allowed);
  const bool no_own_key = self && visible != 0 && without_own == rows;
  const bool exchanged = without != 0 && without < rows &&
                         2 * visible < rows * sizes.Lkv &&
                         (!self || without_own * 2 > rows);
  if (no_own_key || exchanged) {
    warn(warnings,
         rows_where(allowed, "inverted",
                    [&](const auto& row) {
                      return no_own_key || allowed.keys_of(row) == 0;
                    }),
         no_own_key ? "no query may attend to its own key: the mask looks "
                      "inverted"
                    : "some rows have no key and few keys are visible: the "
                      "mask looks inverted",
         "negate the mask, or name the dialect that it was made for");
  }
}

// Whether row i sees key i and none after it.
bool is_top_left(const Allowed& allowed,
                 const std::array<std::size_t, 3>& row) {
  for (std::size_t j = 0; j < allowed.sizes().Lkv; ++j) {
    if (j > row[2] && allowed(row, j)) {
      return false;
    }
  }
  return allowed(row, row[2]);
}

void find_alignment(const Allowed& allowed, Warnings& warnings) {
  const MaskSizes& sizes = allowed.sizes();
  if (sizes.Lq >= sizes.Lkv || sizes.Lq < 2) {
    return;
  }
  MaskWarning warning = rows_where(allowed, "alignment", [&](const auto& row) {
    return is_top_left(allowed, row);
  });
  if (warning.rows != row_count(allowed)) {
    return;
  }
  const std::string cached = std::to_string(sizes.Lkv - sizes.Lq);
  warn(warnings, std::move(warning),
       message("the mask is causal from the top left, but has {} more keys "
               "than queries: with a cache, queries miss the newest keys",
               cached),
       message("let query i see the keys up to i + {}", cached));
}

// The first and the last key of a sequence that any query sees.
struct Ends {
  std::size_t first;
  std::size_t last;  // one after the last
};
Ends ends_of(const Allowed& allowed, std::size_t b) {
  const MaskSizes& sizes = allowed.sizes();
  Ends ends{sizes.Lkv, 0};
  for (std::size_t h = 0; h < sizes.Hq; ++h) {
    for (std::size_t i = 0; i < sizes.Lq; ++i) {
      for (std::size_t j = 0; j < sizes.Lkv; ++j) {
        if (allowed({b, h, i}, j)) {
          ends.first = std::min(ends.first, j);
          ends.last = std::max(ends.last, j + 1);
        }
      }
    }
  }
  return ends;
}

void find_padding_side(const Allowed& allowed, const MaskLintOptions& options,
                       Warnings& warnings) {
  const std::size_t keys = allowed.sizes().Lkv;
  std::vector<char> odd(allowed.sizes().B, 0);
  for (std::size_t b = 0; b < odd.size(); ++b) {
    const Ends ends = ends_of(allowed, b);
    if (ends.first < ends.last) {
      odd[b] = options.padded_left ? ends.first == 0 && ends.last < keys
                                   : ends.first > 0 && ends.last == keys;
    }
  }
  warn(warnings,
       rows_where(allowed, "padding_side",
                  [&](const auto& row) { return odd[row[0]] != 0; }),
       options.padded_left
           ? "padding is after the tokens, but expected before them"
           : "padding is before the tokens, but expected after them",
       options.padded_left ? "pad on the left, or expect padding on the right"
                           : "pad on the right, or expect padding on the left");
}

// Most of the keys after their query are masked, but some are not.
void find_leak(const Allowed& allowed, Warnings& warnings) {
  const MaskSizes& sizes = allowed.sizes();
  if (sizes.Lq < 2 || sizes.Lq > sizes.Lkv) {
    return;
  }
  const std::size_t offset = sizes.Lkv - sizes.Lq;
  const auto leaks = [&](const std::array<std::size_t, 3>& row) {
    std::size_t count = 0;
    for (std::size_t j = row[2] + offset + 1; j < sizes.Lkv; ++j) {
      count += allowed(row, j) ? 1 : 0;
    }
    return count;
  };
  std::size_t leaked = 0;
  allowed.for_each_row([&](const auto& row) { leaked += leaks(row); });
  const std::size_t after =
      row_count(allowed) / sizes.Lq * (sizes.Lq * (sizes.Lq - 1) / 2);
  if (leaked == 0 || leaked * 4 > after) {
    return;
  }
  warn(warnings,
       rows_where(allowed, "leak",
                  [&](const auto& row) { return leaks(row) != 0; }),
       "the mask is causal, but lets a query see keys after it",
       "mask these keys too, or use a separate causal mask");
}

void find_overflow(const Dialect& dialect, const DialectMask& mask,
                   const Allowed& allowed, Warnings& warnings) {
  const auto too_large = [](double number) {
    return std::isfinite(number) && number < -kLargestHalf;
  };
  const double lowest = -1e30;  // below it, a fill is the type's own lowest
  if (mask.added) {
    const auto* const numbers = mask.added->data();
    warn(warnings,
         rows_where(
             allowed, "half_overflow",
             [&](const std::array<std::size_t, 3>& row) {
               for (std::size_t j = 0; j < allowed.sizes().Lkv; ++j) {
                 if (too_large(static_cast<double>(numbers[mask.axes.offset(
                         row[0], row[1], row[2], j)]))) {
                   return true;
                 }
               }
               return false;
             }),
         "the mask has finite numbers below -65504, which are -inf in float16",
         "use -inf, a bool mask, or -65504 in float16");
    return;
  }
  if (dialect.fill == MaskFill::replaced && dialect.fill_value > lowest &&
      too_large(dialect.fill_value)) {
    warn(warnings,
         rows_where(allowed, "half_overflow",
                    [&](const std::array<std::size_t, 3>& row) {
                      return allowed.keys_of(row) < allowed.sizes().Lkv;
                    }),
         message("masked scores become {}, which is -inf in float16",
                 number_text(dialect.fill_value)),
         "compute these scores in float32, or fill with -65504 in float16");
  }
}

}  // namespace

Result<std::vector<MaskWarning>> lint_mask(const Dialect& dialect,
                                           const Array& array,
                                           const MaskSizes& sizes,
                                           const MaskLintOptions& options) try {
  // The dialect says which number is the fill.
  Dialect unfilled = dialect;
  unfilled.fill = MaskFill::infinite;
  HEADWISE_ASSIGN(const auto mask,
                  options.key_padding ? read_key_padding(unfilled, array, sizes)
                                      : read_mask(unfilled, array, sizes));
  const Allowed allowed(mask, sizes);
  Warnings warnings;
  find_empty_rows(dialect, allowed, warnings);
  find_inverted(allowed, warnings);
  const bool inverted = std::ranges::find(warnings, "inverted",
                                          &MaskWarning::name) != warnings.end();
  find_alignment(allowed, warnings);
  if (!inverted) {  // what is inverted has its padding on the other side
    find_padding_side(allowed, options, warnings);
  }
  find_leak(allowed, warnings);
  find_overflow(dialect, mask, allowed, warnings);
  return warnings;
} catch (const std::bad_alloc&) {
  return Error{ErrorCode::out_of_memory};
}

Result<MaskSizes> sizes_of_mask(const Dialect& dialect, const Array& mask,
                                const MaskSizes& others) try {
  MaskSizes sizes = others;
  const auto form =
      std::ranges::find(dialect.masks, mask.shape.size(), &MaskForm::rank);
  if (form == dialect.masks.end()) {
    const auto refused = read_mask(dialect, mask, others);
    return refused ? Result<MaskSizes>(sizes) : refused.error();
  }
  sizes.batched = others.batched && !form->unbatched;
  for (std::size_t a = 0; a < form->rank; ++a) {
    const std::size_t extent = mask.shape[a];
    switch (form->axes[a]) {
      case Axis::B:
        sizes.B = form->heads_in_batch && others.Hq != 0 ? extent / others.Hq
                                                         : extent;
        break;
      case Axis::H:
        sizes.Hq = extent;
        break;
      case Axis::Lq:
        sizes.Lq = extent;
        break;
      case Axis::Lkv:
        sizes.Lkv = extent;
        break;
      case Axis::one:
        break;
    }
  }
  return sizes;
} catch (const std::bad_alloc&) {
  return Error{ErrorCode::out_of_memory};
}

}  // namespace headwise::inline HEADWISE_ABI
