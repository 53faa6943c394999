#include "headwise/steps/mask.h"

#include <algorithm>
#include <functional>
#include <string>

#include "base/check.h"
#include "base/memory_overlap.h"
#include "base/out_of_memory.h"
#include "headwise/steps/softmax.h"
#include "steps/one_nan.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

using mask_rule::Causal;
using mask_rule::Dense;
using mask_rule::Documents;
using mask_rule::KeyLengths;
using mask_rule::KeyPadding;
using mask_rule::KeyStarts;
using mask_rule::Window;

// ---- The rules: which key a query may attend to. ----

bool allows(const Causal& /*rule*/, const Pair& pair) {
  return static_cast<std::int64_t>(pair.j) <= pair.position;
}

// A distance cannot overflow: a position is within 2^62 and a few queries.
bool allows(const Window& rule, const Pair& pair) {
  const std::int64_t after = static_cast<std::int64_t>(pair.j) - pair.position;
  return (!rule.left || -after <= *rule.left) &&
         (!rule.right || after <= *rule.right);
}

bool allows(const KeyLengths& rule, const Pair& pair) {
  const std::size_t row = rule.per_query ? pair.i : 0;
  return static_cast<std::int64_t>(pair.j) < rule.lengths(pair.b, row);
}

bool allows(const KeyStarts& rule, const Pair& pair) {
  return static_cast<std::int64_t>(pair.j) >= rule.starts(pair.b);
}

bool allows(const KeyPadding& rule, const Pair& pair) {
  return rule.padding(pair.b, pair.j);
}

bool allows(const Documents& rule, const Pair& pair) {
  const std::size_t row = rule.shared ? 0 : pair.b;
  return rule.query_ids(row, pair.i) == rule.key_ids(row, pair.j);
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

Status check(Window& rule, const Call& call) {
  for (const auto& [side, keys] :
       {std::pair("left", rule.left), std::pair("right", rule.right)}) {
    if (keys && *keys < 0) {
      return value_error(call.operation, std::string("mask.window.") + side,
                         std::to_string(*keys), "a whole number from 0 on",
                         ErrorCode::out_of_range);
    }
  }
  return ok();
}

bool counts_keys(std::int64_t keys, const Call& call) {
  return keys >= 0 && static_cast<std::uint64_t>(keys) <= call.shape.Lkv;
}

Error no_count_of_keys(std::string_view argument, const std::string& place,
                       std::int64_t given, const Call& call) {
  return value_error(call.operation, std::string(argument) + "[" + place + "]",
                     std::to_string(given),
                     "0 to Lkv = " + std::to_string(call.shape.Lkv),
                     ErrorCode::out_of_range);
}

// "1, 2"
std::string place_text(std::size_t b, std::size_t i) {
  return std::to_string(b) + ", " + std::to_string(i);
}

Status check(KeyLengths& rule, const Call& call) {
  const AttentionShape& shape = call.shape;
  const auto [B, rows] = rule.lengths.extents();
  if (rule.per_query && (B != shape.B || rows != shape.Lq)) {
    return shape_error(call.operation, "mask.key_lengths",
                       rule.lengths.extents(), "(B, Lq)",
                       {{shape.B, shape.Lq}});
  }
  if (B != shape.B) {
    return shape_error(call.operation, "mask.key_lengths", {{B}}, "(B)",
                       {{shape.B}});
  }
  for (std::size_t b = 0; rows != 0 && b < B; ++b) {
    for (std::size_t i = 0; i < rows; ++i) {
      if (!counts_keys(rule.lengths(b, i), call)) {
        return no_count_of_keys(
            "mask.key_lengths",
            rule.per_query ? place_text(b, i) : std::to_string(b),
            rule.lengths(b, i), call);
      }
    }
  }
  return ok();
}

Status check(KeyStarts& rule, const Call& call) {
  HEADWISE_TRY(check_shape(call.operation, "mask.key_starts",
                           rule.starts.extents(), "(B)", {{call.shape.B}}));
  for (std::size_t b = 0; b < call.shape.B; ++b) {
    if (!counts_keys(rule.starts(b), call)) {
      return no_count_of_keys("mask.key_starts", std::to_string(b),
                              rule.starts(b), call);
    }
  }
  return ok();
}

Status check(KeyPadding& rule, const Call& call) {
  return check_shape(call.operation, "mask.key_padding", rule.padding.extents(),
                     "(B, Lkv)", {{call.shape.B, call.shape.Lkv}});
}

// One side of documents(): a row for each sequence or one for all, no row with
// an id below the one before it.
Status check_ids(TensorView<const std::int64_t, 2> ids, bool shared,
                 std::string_view argument, std::string_view axis,
                 std::size_t count, const Call& call) {
  const std::string axes = (shared ? "(" : "(B, ") + std::string(axis) + ")";
  const std::array<std::size_t, 2> expected = {call.shape.B, count};
  HEADWISE_TRY(check_shape(call.operation, argument,
                           std::span(ids.extents()).subspan(shared ? 1 : 0),
                           axes, std::span(expected).subspan(shared ? 1 : 0)));
  for (std::size_t b = 0; count != 0 && b < ids.extent(0); ++b) {
    for (std::size_t l = 1; l < count; ++l) {
      if (ids(b, l) < ids(b, l - 1)) {
        const std::string place = shared ? std::to_string(l) : place_text(b, l);
        return value_error(call.operation,
                           std::string(argument) + "[" + place + "]",
                           std::to_string(ids(b, l)),
                           "at least the " + std::to_string(ids(b, l - 1)) +
                               " before it: ids do not decrease along a row");
      }
    }
  }
  return ok();
}

Status check(Documents& rule, const Call& call) {
  HEADWISE_TRY(check_ids(rule.query_ids, rule.shared,
                         "mask.documents.query_ids", "Lq", call.shape.Lq,
                         call));
  return check_ids(rule.key_ids, rule.shared, "mask.documents.key_ids", "Lkv",
                   call.shape.Lkv, call);
}

Status check(Dense& rule, const Call& call) {
  return rule.check(call.shape, call.operation, "mask");
}

// ---- How they are shown: over which axes of the scores they differ. ----

BoundMask::Part looks(const Causal& /*rule*/, bool start_varies) {
  return {"causal_mask", {start_varies, false, true, true}};
}

BoundMask::Part looks(const Window& /*rule*/, bool start_varies) {
  return {"window_mask", {start_varies, false, true, true}};
}

BoundMask::Part looks(const KeyLengths& rule, bool /*start_varies*/) {
  return {"key_lengths_mask", {true, false, rule.per_query, true}};
}

BoundMask::Part looks(const KeyStarts& /*rule*/, bool /*start_varies*/) {
  return {"key_starts_mask", {true, false, false, true}};
}

BoundMask::Part looks(const KeyPadding& /*rule*/, bool /*start_varies*/) {
  return {"padding_mask", {true, false, false, true}};
}

BoundMask::Part looks(const Documents& rule, bool /*start_varies*/) {
  return {"documents_mask", {!rule.shared, false, true, true}};
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

Mask window(std::optional<std::int64_t> left,
            std::optional<std::int64_t> right) {
  return Mask(Window{left, right});
}

Mask key_lengths(TensorView<const std::int64_t, 1> lengths) {
  return Mask(KeyLengths{
      {lengths.data(), {lengths.extent(0), 1}, {lengths.stride(0), 0}}, false});
}

Mask key_lengths(TensorView<const std::int64_t, 2> lengths) {
  return Mask(KeyLengths{lengths, true});
}

Mask key_starts(TensorView<const std::int64_t, 1> starts) {
  return Mask(KeyStarts{starts});
}

Mask key_padding(TensorView<const bool, 2> padding) {
  return Mask(KeyPadding{padding});
}

Mask documents(TensorView<const std::int64_t, 2> query_ids,
               TensorView<const std::int64_t, 2> key_ids) {
  return Mask(Documents{query_ids, key_ids, false});
}

Mask documents(TensorView<const std::int64_t, 1> query_ids,
               TensorView<const std::int64_t, 1> key_ids) {
  const auto one_row = [](TensorView<const std::int64_t, 1> ids) {
    return TensorView<const std::int64_t, 2>(ids.data(), {1, ids.extent(0)},
                                             {0, ids.stride(0)});
  };
  return Mask(Documents{one_row(query_ids), one_row(key_ids), true});
}

Mask dense(const bool* data, std::vector<std::size_t> extents,
           std::vector<std::ptrdiff_t> strides, std::vector<Axis> axes) {
  return Mask(Dense{
      {std::move(extents), std::move(strides), std::move(axes), {}}, data});
}

Result<BoundMask> BoundMask::bind(const Mask& mask, const AttentionShape& shape,
                                  const QueryStart& query_start,
                                  std::string_view operation,
                                  const BoundBias& bias) try {
  std::vector<MaskRule> rules = mask.rules();
  Mask bound;
  for (MaskRule& rule : rules) {
    const Status s = std::visit(
        [&](auto& r) {
          return check(r, Call{operation, shape});
        },
        rule);
    HEADWISE_TRY(s);
    bound = std::move(bound) & Mask(std::move(rule));
  }
  return BoundMask(std::move(bound), shape, query_start, bias);
} catch (...) {
  return caught_out_of_memory();
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

Result<Tensor<bool, 4>> BoundMask::materialize(std::size_t part) const try {
  const auto& rules = mask_.rules();
  const BoundMask shown(part < rules.size() ? Mask(rules[part]) : mask_, shape_,
                        query_start_, {});
  const std::array<bool, 4> varies = parts()[part].varies;
  const auto [B, H, Lq, Lkv] =
      Extents<4>{varies[0] ? shape_.B : 1, varies[1] ? shape_.Hq : 1,
                 varies[2] ? shape_.Lq : 1, varies[3] ? shape_.Lkv : 1};
  auto allowed = Tensor<bool, 4>::create({B, H, Lq, Lkv});
  if (!allowed || allowed->size() == 0) {
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
} catch (...) {
  return caught_out_of_memory();
}

Status apply_mask(TensorView<const float, 4> scores, const BoundMask& mask,
                  TensorView<float, 4> masked_scores) try {
  HEADWISE_TRY(check_in_place("apply_mask", "masked_scores", masked_scores,
                              {{"scores", scores}}));
  const auto [B, Hq, Lq, Lkv] = scores.extents();
  for (std::size_t b = 0; scores.size() != 0 && b < B; ++b) {
    for (std::size_t h = 0; h < Hq; ++h) {
      for (std::size_t i = 0; i < Lq; ++i) {
        for (std::size_t j = 0; j < Lkv; ++j) {
          masked_scores(b, h, i, j) = mask.may_attend(b, h, i, j)
                                          ? one_nan(scores(b, h, i, j))
                                          : kMinusInf;
        }
      }
    }
  }
  return ok();
} catch (...) {
  return caught_out_of_memory();
}

}  // namespace headwise::inline HEADWISE_ABI
