#include "headwise/steps/mask.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/memory_overlap.h"
#include "base/out_of_memory.h"
#include "headwise/steps/softmax.h"
#include "steps/mask_words.h"
#include "steps/one_nan.h"
#include "steps/step_checks.h"
#include "steps/stored_rule.h"

namespace headwise::inline HEADWISE_ABI {

Result<BoundMask> BoundMask::bind(const Mask& mask, const CallContext& context,
                                  const BoundBias& bias) try {
  if (mask.rule_count() > kMostMaskRules) {
    return Error{
        ErrorCode::unsupported,
        ErrorDetails{.operation = std::string(context.operation),
                     .argument = "mask",
                     .given = message("combines {} rules", mask.rule_count()),
                     .expected = message("at most {}", kMostMaskRules)}};
  }
  for (const StoredMaskRule& rule : mask.rules()) {
    HEADWISE_TRY(rule.type->check(rule, {context.operation, context.shape}));
  }
  return BoundMask(mask, context, bias);
} catch (...) {
  return caught_out_of_memory();
}

bool BoundMask::may_attend(std::size_t b, std::size_t h, std::size_t i,
                           std::size_t j) const {
  if (bias_.given() && bias_(b, h, i, j) == kMinusInf) {
    return false;
  }
  const Pair pair{b, h, i, j, static_cast<std::int64_t>(i) + query_start(b)};
  return std::ranges::all_of(rules(), [&](const StoredMaskRule& rule) {
    return rule.type->allows(rule, pair);
  });
}

std::vector<BoundMask::Part> BoundMask::parts() const {
  const bool starts_differ = context_.query_start.differs_by_sequence();
  std::vector<Part> parts;
  Part all{"mask", {}};
  for (const StoredMaskRule& rule : rules()) {
    std::string name(rule.type->name);
    const auto before = std::ranges::count_if(
        parts, [&](const Part& part) { return part.name.starts_with(name); });
    if (before != 0) {
      name += "_" + std::to_string(before + 1);
    }
    parts.push_back({std::move(name), rule.type->varies(rule, starts_differ)});
    std::ranges::transform(all.varies, parts.back().varies, all.varies.begin(),
                           std::logical_or<>());
  }
  if (parts.size() > 1) {
    parts.push_back(all);
  }
  return parts;
}

Result<Tensor<bool, 4>> BoundMask::materialize(std::size_t part) const try {
  const BoundMask shown(part < rules().size() ? Mask(rules()[part]) : mask_,
                        context_, {});
  const std::array<bool, 4> varies = parts()[part].varies;
  const auto [B, H, Lq, Lkv] = Extents<4>{
      varies[0] ? context_.shape.B : 1, varies[1] ? context_.shape.Hq : 1,
      varies[2] ? context_.shape.Lq : 1, varies[3] ? context_.shape.Lkv : 1};
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
  HEADWISE_TRY(check_like_scores("apply_mask", "masked_scores",
                                 masked_scores.extents(), scores.extents()));
  HEADWISE_TRY(check_bound_to_scores("apply_mask", "mask", mask.shape(),
                                     scores.extents()));
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

namespace headwise::internal::inline HEADWISE_ABI {

bool sees_one_interval(const BoundMask& mask) {
  return std::ranges::all_of(mask.rules(), [](const StoredMaskRule& rule) {
    return rule.type->form == MaskForm::one_interval;
  });
}

}  // namespace headwise::internal::inline HEADWISE_ABI
