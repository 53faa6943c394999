// Step 7: which keys a query may attend to. True = may attend, everywhere in
// headwise. Masks are values that combine with &: a query may attend to a key
// if all of them allow it. Each row of the table is one rule of
// src/core/steps/mask_rules.cc.
//
//   masked_scores[b,h,i,j] = scores[b,h,i,j] where allowed, -inf elsewhere
//
//   mask                     allows key j for query i of sequence b when
//   causal()                 j <= p, where p = i + query_start
//   window(left, right)      p - left <= j <= p + right
//   window(left, right, n)   (p - left <= j or j < n) and j <= p + right
//   key_lengths(n), (B)      j < n[b]
//   key_lengths(n), (B, Lq)  j < n[b,i]          (d2l's valid_lens)
//   key_starts(n), (B)       j >= n[b]           (padding on the left)
//   key_padding(m), (B, Lkv) m[b,j]
//   documents(q, k)          q[b,i] == k[b,j]
//   dense(m, axes)           m, with named axes, broadcast over the others
//
// A bias (steps/bias.h) of -inf masks too.
//
// The views inside a mask are not copied: they must outlive the call.
//
// Example:
//   Mask mask = causal() & key_lengths(lengths.view());
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/base/tensor_view.h"
#include "headwise/steps/bias.h"
#include "headwise/steps/named_axes.h"
#include "headwise/steps/query_start.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// The most rules that one mask may combine.
inline constexpr std::size_t kMostMaskRules = 8;

}  // namespace headwise::inline HEADWISE_ABI

namespace headwise::internal::inline HEADWISE_ABI {

inline constexpr std::size_t kMaskRuleBytes = 200;
inline constexpr std::size_t kMaskRuleAlignment = 8;

// One rule of a mask. Only src/core/steps/stored_rule.h looks inside.
struct MaskRuleType;
struct StoredMaskRule {
  const MaskRuleType* type;
  alignas(kMaskRuleAlignment) std::array<std::byte, kMaskRuleBytes> bytes;
};

}  // namespace headwise::internal::inline HEADWISE_ABI

namespace headwise::inline HEADWISE_ABI {

// Holds up to kMostMaskRules rules and allocates nothing. More are an error
// when the mask is bound to a call.
class Mask {
 public:
  // NOLINTBEGIN(*-member-init,modernize-use-equals-default): no rule is zeroed
  Mask() {}
  explicit Mask(const internal::StoredMaskRule& rule) : count_(1) {
    rules_[0] = rule;
  }
  Mask(const Mask& other) { *this = other; }
  Mask& operator=(const Mask& other) {
    if (this != &other) {
      std::ranges::copy(other.rules(), rules_.begin());
      count_ = other.count_;
    }
    return *this;
  }
  // NOLINTEND(*-member-init,modernize-use-equals-default)

  friend Mask operator&(const Mask& a, const Mask& b) {
    Mask both = a;
    const std::size_t held = both.rules().size();
    std::ranges::copy(
        b.rules().first(std::min(b.rules().size(), kMostMaskRules - held)),
        both.rules_.begin() + static_cast<std::ptrdiff_t>(held));
    both.count_ += b.count_;
    return both;
  }

  // The number of rules that were combined, which may be too many.
  std::size_t rule_count() const { return count_; }
  // At most kMostMaskRules of them.
  std::span<const internal::StoredMaskRule> rules() const {
    return std::span(rules_).first(std::min(count_, kMostMaskRules));
  }

 private:
  std::size_t count_ = 0;
  std::array<internal::StoredMaskRule, kMostMaskRules> rules_;
};

Mask causal();
// A query sees the key at its position, `left` keys before it and `right` keys
// after it. std::nullopt: all keys on that side. With `keep_first` it also sees
// the first keys of the sequence, but none beyond its right side: what remains
// in a rolling cache (decode/kv_cache.h). Source: Xiao et al. 2023,
// arXiv:2309.17453, section 3.2.
Mask window(std::optional<std::int64_t> left, std::optional<std::int64_t> right,
            std::int64_t keep_first = 0);
Mask key_lengths(TensorView<const std::int64_t, 1> lengths);
Mask key_lengths(TensorView<const std::int64_t, 2> lengths);
// For sequences padded on the left. Positions still include the padding.
Mask key_starts(TensorView<const std::int64_t, 1> starts);
Mask key_padding(TensorView<const bool, 2> padding);
// Several documents in one row: a query sees the keys of its own document. Ids
// do not decrease along a row: (B, Lq) and (B, Lkv), or (Lq) and (Lkv) if they
// are the same in all rows. A query whose id no key has sees nothing.
Mask documents(TensorView<const std::int64_t, 2> query_ids,
               TensorView<const std::int64_t, 2> key_ids);
Mask documents(TensorView<const std::int64_t, 1> query_ids,
               TensorView<const std::int64_t, 1> key_ids);
// `axes` names the view's axes, so that those of a rank-3 mask are never
// guessed. Each name occurs at most once; an axis that is not named is
// broadcast.
Mask dense(const bool* data, const NamedAxes& axes);
template <std::size_t Rank>
Mask dense(std::type_identity_t<TensorView<const bool, Rank>> view,
           const std::array<Axis, Rank>& axes) {
  return dense(view.data(), NamedAxes(view.extents(), view.strides(), axes));
}
// The same with a list of axes, which gives the rank.
template <std::size_t Rank>
Mask dense(std::type_identity_t<TensorView<const bool, Rank>> view,
           const Axis (&axes)[Rank]) {
  return dense<Rank>(view, std::to_array(axes));
}

// A mask that was checked against the sizes of a call.
class BoundMask {
 public:
  // Errors: shape_mismatch, out_of_range (a length or a start beyond the keys
  // or negative, a negative window), invalid_argument (axes that name an axis
  // twice, ids that decrease), unsupported (more than kMostMaskRules rules). A
  // key is also masked where `bias` is -inf.
  HEADWISE_HIDDEN static Result<BoundMask> bind(const Mask& mask,
                                                const CallContext& context,
                                                const BoundBias& bias = {});

  std::span<const internal::StoredMaskRule> rules() const {
    return mask_.rules();
  }
  const BoundBias& bias() const { return bias_; }
  // The sizes that the mask was bound to.
  const AttentionShape& shape() const { return context_.shape; }
  std::int64_t query_start(std::size_t b) const {
    return context_.first_position(b);
  }
  bool allows_all() const { return mask_.rules().empty() && !bias_.given(); }
  bool may_attend(std::size_t b, std::size_t h, std::size_t i,
                  std::size_t j) const;

  // The first key that may be seen in sequence b, by the rules that do not
  // depend on the query: the largest of its key_starts, 0 without any. Blocks
  // of keys are aligned here.
  std::size_t first_key(std::size_t b) const;
  // The queries [first, first + queries) of sequence b, at least one, see no
  // key before visible_begin and none from visible_end on. Both are at most
  // Lkv; if begin >= end they see nothing.
  std::size_t visible_begin(std::size_t b, std::size_t first,
                            std::size_t queries) const;
  std::size_t visible_end(std::size_t b, std::size_t first,
                          std::size_t queries) const;

  // For display: each rule by itself and then, if there is more than one,
  // "mask", all of them combined. A part has extent 1 along the axes over which
  // it is broadcast. A bias is not a part.
  struct Part {
    // "causal_mask", "padding_mask", ..., "mask"; a second rule of a kind is
    // "padding_mask_2".
    std::string name;
    std::array<bool, 4> varies;  // over B, H, Lq, Lkv
  };
  std::vector<Part> parts() const;
  // parts()[part] as a tensor, true = may attend. Errors: out_of_memory.
  HEADWISE_HIDDEN Result<Tensor<bool, 4>> materialize(std::size_t part) const;
  // The offsets of the next run, for a ragged batch.
  void set_offsets(const Offsets& offsets) { context_.shape.offsets = offsets; }

 private:
  // NOLINTNEXTLINE(modernize-pass-by-value): moving a mask copies it
  BoundMask(const Mask& mask, const CallContext& context, const BoundBias& bias)
      : mask_(mask), bias_(bias), context_(context) {}

  Mask mask_;
  BoundBias bias_;
  CallContext context_;
};

// Scores in, masked scores out (may be the same tensor): (B, Hq, Lq, Lkv).
// Errors: shape_mismatch for other shapes, or a mask that was bound to other
// sizes; invalid_argument for an output that overlaps the scores without being
// the same tensor.
Status apply_mask(TensorView<const float, 4> scores, const BoundMask& mask,
                  TensorView<float, 4> masked_scores);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
