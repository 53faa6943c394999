#include "headwise/steps/mask.h"

#include <algorithm>
#include <functional>
#include <string>

#include "base/check.h"
#include "headwise/steps/softmax.h"

namespace headwise {
namespace {

using mask_rule::Causal;
using mask_rule::Dense;
using mask_rule::KeyLengths;
using mask_rule::KeyPadding;

// ---- The rules: which key a query may attend to. ----

bool allows(const Causal& /*rule*/, const Pair& pair) {
  return static_cast<std::int64_t>(pair.j) <= pair.position;
}

bool allows(const KeyLengths& rule, const Pair& pair) {
  const std::size_t row = rule.per_query ? pair.i : 0;
  return static_cast<std::int64_t>(pair.j) < rule.lengths(pair.b, row);
}

bool allows(const KeyPadding& rule, const Pair& pair) {
  return rule.padding(pair.b, pair.j);
}

bool allows(const Dense& rule, const Pair& pair) {
  return rule.data[rule.offset(pair.b, pair.h, pair.i, pair.j)];
}

bool allows(const MaskRule& rule, const Pair& pair) {
  return std::visit([&](const auto& r) { return allows(r, pair); }, rule);
}

// ---- Their checks against the sizes of a call. ----

struct Call {
  std::string_view operation;
  const AttentionShape& shape;
};

Status check(Causal& /*rule*/, const Call& /*call*/) { return ok(); }

Status check(KeyLengths& rule, const Call& call) {
  const AttentionShape& shape = call.shape;
  const auto [B, rows] = rule.lengths.extents();
  if (rule.per_query && (B != shape.B || rows != shape.Lq)) {
    return shape_error(call.operation, "key_lengths", rule.lengths.extents(),
                       "(B, Lq)", {{shape.B, shape.Lq}});
  }
  if (B != shape.B) {
    return shape_error(call.operation, "key_lengths", {{B}}, "(B)",
                       {{shape.B}});
  }
  for (std::size_t b = 0; b < B; ++b) {
    for (std::size_t i = 0; i < rows; ++i) {
      const std::int64_t length = rule.lengths(b, i);
      if (length < 0 || static_cast<std::uint64_t>(length) > shape.Lkv) {
        const std::string place =
            rule.per_query ? std::to_string(b) + ", " + std::to_string(i)
                           : std::to_string(b);
        return value_error(call.operation, "key_lengths[" + place + "]",
                           std::to_string(length),
                           "0 to Lkv = " + std::to_string(shape.Lkv),
                           ErrorCode::out_of_range);
      }
    }
  }
  return ok();
}

Status check(KeyPadding& rule, const Call& call) {
  return check_shape(call.operation, "key_padding", rule.padding.extents(),
                     "(B, Lkv)", {{call.shape.B, call.shape.Lkv}});
}

Status check(Dense& rule, const Call& call) {
  return rule.check(call.shape, call.operation, "mask");
}

// ---- How they are shown: over which axes of the scores they differ. ----

BoundMask::Part looks(const Causal& /*rule*/, bool start_varies) {
  return {"causal_mask", {start_varies, false, true, true}};
}

BoundMask::Part looks(const KeyLengths& rule, bool /*start_varies*/) {
  return {"key_lengths_mask", {true, false, rule.per_query, true}};
}

BoundMask::Part looks(const KeyPadding& /*rule*/, bool /*start_varies*/) {
  return {"padding_mask", {true, false, false, true}};
}

BoundMask::Part looks(const Dense& rule, bool /*start_varies*/) {
  BoundMask::Part dense{"dense_mask", {}};
  for (const Axis axis : rule.axes) {
    if (axis != Axis::one) {
      dense.varies[static_cast<std::size_t>(axis)] = true;
    }
  }
  return dense;
}

}  // namespace

Mask causal() { return Mask(Causal{}); }

Mask key_lengths(TensorView<const std::int64_t, 1> lengths) {
  return Mask(KeyLengths{
      {lengths.data(), {lengths.extent(0), 1}, {lengths.stride(0), 0}}, false});
}

Mask key_lengths(TensorView<const std::int64_t, 2> lengths) {
  return Mask(KeyLengths{lengths, true});
}

Mask key_padding(TensorView<const bool, 2> padding) {
  return Mask(KeyPadding{padding});
}

Mask dense(const bool* data, std::vector<std::size_t> extents,
           std::vector<std::ptrdiff_t> strides, std::vector<Axis> axes) {
  return Mask(Dense{
      {std::move(extents), std::move(strides), std::move(axes), {}}, data});
}

Result<BoundMask> BoundMask::bind(const Mask& mask, const AttentionShape& shape,
                                  const QueryStart& query_start,
                                  std::string_view operation,
                                  const BoundBias& bias) {
  std::vector<MaskRule> rules = mask.rules();
  Mask bound;
  for (MaskRule& rule : rules) {
    const Status s = std::visit(
        [&](auto& r) {
          return check(r, Call{operation, shape});
        },
        rule);
    if (!s) {
      return s.error();
    }
    bound = std::move(bound) & Mask(std::move(rule));
  }
  return BoundMask(std::move(bound), shape, query_start, bias);
}

bool BoundMask::may_attend(std::size_t b, std::size_t h, std::size_t i,
                           std::size_t j) const {
  if (bias_.given() && bias_(b, h, i, j) == kMinusInf) {
    return false;
  }
  const Pair pair{b, h, i, j,
                  static_cast<std::int64_t>(i) + query_start_.of(b, shape_)};
  return std::ranges::all_of(
      mask_.rules(), [&](const MaskRule& rule) { return allows(rule, pair); });
}

std::vector<BoundMask::Part> BoundMask::parts() const {
  const bool start_varies = query_start_.differs_by_sequence();
  std::vector<Part> parts;
  Part all{"mask", {}};
  for (const MaskRule& rule : mask_.rules()) {
    parts.push_back(std::visit(
        [&](const auto& r) { return looks(r, start_varies); }, rule));
    std::ranges::transform(all.varies, parts.back().varies, all.varies.begin(),
                           std::logical_or<>());
  }
  if (parts.size() > 1) {
    parts.push_back(all);
  }
  return parts;
}

Result<Tensor<bool, 4>> BoundMask::materialize(std::size_t part) const {
  const auto& rules = mask_.rules();
  const BoundMask shown(part < rules.size() ? Mask(rules[part]) : mask_, shape_,
                        query_start_, {});
  const std::array<bool, 4> varies = parts()[part].varies;
  const auto [B, H, Lq, Lkv] =
      Extents<4>{varies[0] ? shape_.B : 1, varies[1] ? shape_.Hq : 1,
                 varies[2] ? shape_.Lq : 1, varies[3] ? shape_.Lkv : 1};
  auto allowed = Tensor<bool, 4>::create({B, H, Lq, Lkv});
  if (!allowed) {
    return allowed;
  }
  for (std::size_t b = 0; b < B; ++b) {
    for (std::size_t h = 0; h < H; ++h) {
      for (std::size_t i = 0; i < Lq; ++i) {
        for (std::size_t j = 0; j < Lkv; ++j) {
          (*allowed)(b, h, i, j) = shown.may_attend(b, h, i, j);
        }
      }
    }
  }
  return allowed;
}

void apply_mask(TensorView<const float, 4> scores, const BoundMask& mask,
                TensorView<float, 4> masked_scores) {
  const auto [B, Hq, Lq, Lkv] = scores.extents();
  for (std::size_t b = 0; b < B; ++b) {
    for (std::size_t h = 0; h < Hq; ++h) {
      for (std::size_t i = 0; i < Lq; ++i) {
        for (std::size_t j = 0; j < Lkv; ++j) {
          masked_scores(b, h, i, j) =
              mask.may_attend(b, h, i, j) ? scores(b, h, i, j) : kMinusInf;
        }
      }
    }
  }
}

}  // namespace headwise
