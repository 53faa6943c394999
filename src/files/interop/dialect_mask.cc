#include <algorithm>
#include <cmath>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "headwise/base/dtype.h"
#include "headwise/interop/dialects.h"
#include "interop/dialect_steps.h"
#include "interop/mask_numbers.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kDialectMask = "read_mask";

// A score of which nothing is left beside a fill this large: a row without a
// key is then uniform.
constexpr double kAbsorbs = -1e30;

// Times log2 e it is still finite.
constexpr float kLargestBias = 2e38F;

// What read_mask() was called with.
struct Reader {
  const Dialect& dialect;
  std::string_view argument;
  const MaskSizes& sizes;

  std::size_t size_of(Axis axis) const {
    const std::array<std::size_t, 5> all = {sizes.B, sizes.Hq, sizes.Lq,
                                            sizes.Lkv, 1};
    return all[static_cast<std::size_t>(axis)];
  }
  std::vector<std::size_t> shape_of(const MaskForm& form) const {
    std::vector<std::size_t> shape;
    for (std::size_t a = 0; a < form.rank; ++a) {
      shape.push_back(size_of(form.axes[a]));
    }
    if (form.heads_in_batch) {
      shape[0] *= sizes.Hq;
    }
    return shape;
  }
  bool takes(const MaskForm& form) const {
    return !form.unbatched || !sizes.batched;
  }

  Error wrong_rank(const Array& mask) const {
    if (dialect.masks.empty()) {
      return argument_error(
          kDialectMask, argument,
          message("has shape {}", shape_text(mask.shape)),
          message("no mask with the dialect {}", dialect.name),
          ErrorCode::unsupported);
    }
    std::string forms;
    for (const MaskForm& form : dialect.masks) {
      if (takes(form)) {
        forms += (forms.empty() ? "" : "; ") + axes_text(form) + " = " +
                 shape_text(shape_of(form));
      }
    }
    return argument_error(
        kDialectMask, argument, message("has shape {}", shape_text(mask.shape)),
        message("a mask as {} takes it: {}", dialect.name, forms),
        ErrorCode::shape_mismatch);
  }

  Error wrong_type(const Array& mask, const MaskForm& form) const {
    std::string types;
    for (const auto& [reading, name] : {std::pair(form.bools, "bool"),
                                        {form.integers, "int"},
                                        {form.floats, "float"}}) {
      if (reading != MaskReading::refused) {
        types += (types.empty() ? "" : "; ") + std::string(name);
      }
    }
    return argument_error(
        kDialectMask, argument,
        message("holds {} elements", headwise::name_of(mask.dtype)),
        message("elements as {} takes them: {}", dialect.name, types));
  }
};

// The form of the array's rank, whose sizes fit.
Result<const MaskForm*> form_of_mask(const Reader& reader, const Array& mask) {
  const auto fits = [&](const MaskForm& form) {
    return form.rank == mask.shape.size() && reader.takes(form);
  };
  const auto form = std::ranges::find_if(reader.dialect.masks, fits);
  if (form == reader.dialect.masks.end()) {
    return reader.wrong_rank(mask);
  }
  const std::vector<std::size_t> expected = reader.shape_of(*form);
  for (std::size_t a = 0; a < form->rank; ++a) {
    const bool last = form->axes[a] == Axis::Lkv && a + 1 == form->rank;
    const bool fits_here = mask.shape[a] == expected[a] ||
                           (reader.dialect.broadcasts && mask.shape[a] == 1) ||
                           (reader.dialect.pads_short_masks && last &&
                            mask.shape[a] < expected[a]);
    if (!fits_here) {
      return shape_error(kDialectMask, reader.argument, mask.shape,
                         axes_text(*form), expected);
    }
  }
  if (reading_of(*form, mask.dtype) == MaskReading::refused) {
    return reader.wrong_type(mask, *form);
  }
  return &*form;
}

// The array as one row of elements.
Array flat(const Array& mask) {
  Array elements = mask;
  elements.shape = {element_count(mask.shape)};
  return elements;
}

// The axes of a mask with this shape.
NamedAxes axes_of(const MaskForm& form, const MaskSizes& sizes,
                  std::vector<std::size_t> shape) {
  std::vector<Axis> axes(
      form.axes.begin(),
      form.axes.begin() + static_cast<std::ptrdiff_t>(form.rank));
  if (form.heads_in_batch) {
    shape[0] = sizes.Hq;
    shape.insert(shape.begin(), sizes.B);
    axes.insert(axes.begin() + 1, Axis::H);
  }
  for (std::size_t a = 0; a < axes.size(); ++a) {
    if (shape[a] == 1) {
      axes[a] = Axis::one;
    }
  }
  std::vector<std::ptrdiff_t> strides(shape.size(), 1);
  for (std::size_t a = shape.size(); a-- > 1;) {
    strides[a - 1] = strides[a] * static_cast<std::ptrdiff_t>(shape[a]);
  }
  return {std::span<const std::size_t>(shape),
          std::span<const std::ptrdiff_t>(strides),
          std::span<const Axis>(axes)};
}

// The rows of a mask of this shape, each with `missing` behind it until it has
// `to` elements.
template <class T>
Result<Tensor<T, 1>> padded(Tensor<T, 1> rows,
                            const std::vector<std::size_t>& shape,
                            std::size_t to, T missing) {
  const std::size_t from = shape.back();
  if (from == to) {
    return rows;
  }
  // From the shape: rows without an element are rows, too.
  const std::size_t count =
      element_count(std::span(shape).first(shape.size() - 1));
  HEADWISE_ASSIGN(auto longer, Tensor<T, 2>::create({count, to}));
  std::ranges::fill(longer.elements(), missing);
  for (std::size_t row = 0; row < count; ++row) {
    std::copy_n(rows.data() + row * from, from, longer.data() + row * to);
  }
  return std::move(longer).with_extents(Extents<1>{count * to});
}

// Whether each pair may attend; `lengths` are of the keys.
Result<Tensor<bool, 1>> within(std::span<const std::int64_t> lengths,
                               std::size_t Lkv) {
  HEADWISE_ASSIGN(auto allowed, Tensor<bool, 2>::create({lengths.size(), Lkv}));
  for (std::size_t row = 0; row < lengths.size(); ++row) {
    for (std::size_t j = 0; j < Lkv; ++j) {
      allowed(row, j) = static_cast<std::int64_t>(j) < lengths[row];
    }
  }
  return std::move(allowed).with_extents(Extents<1>{lengths.size() * Lkv});
}

// Whether each element lets a query attend.
Result<Tensor<bool, 1>> allowed_of(const Array& mask, MaskReading reading,
                                   std::string_view argument) {
  if (holds_integers(mask.dtype) || mask.dtype == DType::boolean) {
    auto allowed = to_bool<1>(flat(mask), kDialectMask, argument);
    if (allowed && reading == MaskReading::masks) {
      std::ranges::transform(allowed->elements(), allowed->data(),
                             [](bool masked) { return !masked; });
    }
    return allowed;
  }
  HEADWISE_ASSIGN(auto numbers,
                  to_float<1>(flat(mask), kDialectMask, argument));
  HEADWISE_TRY(
      check_mask_numbers(kDialectMask, argument, numbers.size(),
                         [&](std::size_t i) { return numbers.elements()[i]; }));
  HEADWISE_ASSIGN(auto allowed, Tensor<bool, 1>::create({numbers.size()}));
  std::ranges::transform(numbers.elements(), allowed.data(),
                         [](float number) { return number != 0; });
  return allowed;
}

// A mask, or the bias that a small fill is.
Result<DialectMask> filled_mask(const Dialect& dialect, Tensor<bool, 1> allowed,
                                const NamedAxes& axes) {
  if (dialect.fill != MaskFill::added || dialect.fill_value < kAbsorbs) {
    return DialectMask{.allowed = std::move(allowed), .axes = axes};
  }
  HEADWISE_ASSIGN(auto bias, Tensor<float, 1>::create({allowed.size()}));
  const auto fill = static_cast<float>(dialect.fill_value);
  std::ranges::transform(allowed.elements(), bias.data(),
                         [fill](bool may) { return may ? 0.0F : fill; });
  return DialectMask{.added = std::move(bias), .axes = axes};
}

float as_bias(float number) {
  return std::isfinite(number) ? std::clamp(number, -kLargestBias, kLargestBias)
                               : number;
}

// True is 1.
Result<Tensor<float, 1>> numbers_of(const Reader& reader, const Array& mask) {
  if (mask.dtype != DType::boolean) {
    return to_float<1>(flat(mask), kDialectMask, reader.argument);
  }
  HEADWISE_ASSIGN(const auto flags,
                  to_bool<1>(flat(mask), kDialectMask, reader.argument));
  HEADWISE_ASSIGN(auto numbers, Tensor<float, 1>::create({flags.size()}));
  std::ranges::transform(flags.elements(), numbers.data(),
                         [](bool flag) { return flag ? 1.0F : 0.0F; });
  return numbers;
}

Result<DialectMask> read_added(const Reader& reader, const MaskForm& form,
                               const Array& mask,
                               std::vector<std::size_t> shape) {
  HEADWISE_ASSIGN(auto numbers, numbers_of(reader, mask));
  std::ranges::transform(numbers.elements(), numbers.data(), as_bias);
  HEADWISE_ASSIGN(auto rows, padded(std::move(numbers), mask.shape,
                                    shape.back(), kMinusInf));
  return DialectMask{.added = std::move(rows),
                     .axes = axes_of(form, reader.sizes, std::move(shape))};
}

Result<DialectMask> read_lengths(const Reader& reader, MaskForm form,
                                 const Array& mask) {
  HEADWISE_ASSIGN(const auto lengths,
                  to_int64<1>(flat(mask), kDialectMask, reader.argument));
  HEADWISE_ASSIGN(auto allowed, within(lengths.elements(), reader.sizes.Lkv));
  std::vector<std::size_t> shape = mask.shape;
  shape.push_back(reader.sizes.Lkv);
  form.axes[form.rank++] = Axis::Lkv;
  return filled_mask(reader.dialect, std::move(allowed),
                     axes_of(form, reader.sizes, std::move(shape)));
}

Result<DialectMask> read_with(const Reader& reader, const Array& mask) {
  HEADWISE_ASSIGN(const auto found, form_of_mask(reader, mask));
  const MaskForm& form = *found;
  const MaskReading reading = reading_of(form, mask.dtype);
  if (reading == MaskReading::lengths) {
    return read_lengths(reader, form, mask);
  }
  std::vector<std::size_t> shape = mask.shape;
  if (reader.dialect.pads_short_masks) {
    shape.back() = reader.sizes.Lkv;
  }
  if (reading == MaskReading::added) {
    return read_added(reader, form, mask, std::move(shape));
  }
  HEADWISE_ASSIGN(auto allowed, allowed_of(mask, reading, reader.argument));
  HEADWISE_ASSIGN(auto rows,
                  padded(std::move(allowed), mask.shape, shape.back(), false));
  return filled_mask(reader.dialect, std::move(rows),
                     axes_of(form, reader.sizes, std::move(shape)));
}

}  // namespace

Result<DialectMask> read_mask(const Dialect& dialect, const Array& mask,
                              const MaskSizes& sizes) try {
  return read_with({dialect, "mask", sizes}, mask);
} catch (const std::bad_alloc&) {
  return Error{ErrorCode::out_of_memory};
}

Result<DialectMask> read_key_padding(const Dialect& dialect, const Array& mask,
                                     const MaskSizes& sizes) try {
  const MaskForm batch{.rank = 2,
                       .axes = {Axis::B, Axis::Lkv},
                       .bools = dialect.key_padding,
                       .integers = dialect.key_padding,
                       .floats = dialect.float_key_padding};
  MaskForm one = batch;
  one.rank = 1;
  one.axes = {Axis::Lkv};
  one.unbatched = true;
  const std::array<MaskForm, 2> forms = {batch, one};
  Dialect padding = dialect;
  padding.masks = forms;
  padding.broadcasts = false;
  padding.pads_short_masks = false;
  return read_with({padding, "mask.key_padding", sizes}, mask);
} catch (const std::bad_alloc&) {
  return Error{ErrorCode::out_of_memory};
}

Result<DialectMask> sum_of(const DialectMask& a, const DialectMask& b,
                           const MaskSizes& sizes) try {
  HEADWISE_ASSIGN(auto sums, Tensor<float, 4>::create(
                                 {sizes.B, sizes.Hq, sizes.Lq, sizes.Lkv}));
  for (std::size_t n = 0; n < sums.size(); ++n) {
    const std::size_t row = n / sizes.Lkv;
    const std::size_t i = row % sizes.Lq;
    const std::size_t h = row / sizes.Lq % sizes.Hq;
    const std::size_t batch = row / sizes.Lq / sizes.Hq;
    const std::size_t j = n % sizes.Lkv;
    sums.data()[n] = as_bias(a.added->data()[a.axes.offset(batch, h, i, j)] +
                             b.added->data()[b.axes.offset(batch, h, i, j)]);
  }
  const std::size_t count = sums.size();
  return DialectMask{
      .added = std::move(sums).with_extents(Extents<1>{count}),
      .axes = axes_of({4, {Axis::B, Axis::H, Axis::Lq, Axis::Lkv}}, sizes,
                      {sizes.B, sizes.Hq, sizes.Lq, sizes.Lkv})};
} catch (const std::bad_alloc&) {
  return Error{ErrorCode::out_of_memory};
}

}  // namespace headwise::inline HEADWISE_ABI
