// Step 7: who may attend to whom. True = may attend, everywhere in headwise.
// Masks are values that combine with &: a key is attended when every one of
// them allows it. This is the only file that decides it.
//
//   masked_scores[b,h,i,j] = scores[b,h,i,j] where allowed, -inf elsewhere
//
//   mask                     allows key j for query i of sequence b when
//   causal()                 j <= p, where p = i + query_start
//   window(left, right)      p - left <= j <= p + right
//   key_lengths(n), (B)      j < n[b]
//   key_lengths(n), (B, Lq)  j < n[b,i]          (d2l's valid_lens)
//   key_starts(n), (B)       j >= n[b]           (padding on the left)
//   key_padding(m), (B, Lkv) m[b,j]
//   documents(q, k)          q[b,i] == k[b,j]
//   dense(m, axes)           m at the named axes, broadcast over the others
//
// A bias (steps/bias.h) of -inf masks too.
//
// The views inside a mask are not copied: they must outlive the call.
//
// Example:
//   Mask mask = causal() & key_lengths(lengths.view());
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/base/tensor_view.h"
#include "headwise/steps/bias.h"
#include "headwise/steps/call_context.h"
#include "headwise/steps/named_axes.h"
#include "headwise/steps/tile.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// One query-key pair. `position` is i + query_start.
struct Pair {
  std::size_t b;
  std::size_t h;
  std::size_t i;
  std::size_t j;
  std::int64_t position;
};

namespace mask_rule {
struct Causal {};
struct Window {
  std::optional<std::int64_t> left;  // none: no limit on that side
  std::optional<std::int64_t> right;
};
struct KeyLengths {
  TensorView<const std::int64_t, 2> lengths;  // (B, Lq), or (B, 1)
  bool per_query;
};
struct KeyStarts {
  TensorView<const std::int64_t, 1> starts;  // (B)
};
struct KeyPadding {
  TensorView<const bool, 2> padding;  // (B, Lkv)
};
struct Documents {
  TensorView<const std::int64_t, 2> query_ids;  // (B, Lq), or (1, Lq)
  TensorView<const std::int64_t, 2> key_ids;    // (B, Lkv), or (1, Lkv)
  bool shared;                                  // by all sequences: the latter
};
struct Dense : NamedAxes {
  const bool* data;
};
}  // namespace mask_rule

using MaskRule =
    std::variant<mask_rule::Causal, mask_rule::Window, mask_rule::KeyLengths,
                 mask_rule::KeyStarts, mask_rule::KeyPadding,
                 mask_rule::Documents, mask_rule::Dense>;

class Mask {
 public:
  Mask() = default;  // everything is allowed
  explicit Mask(MaskRule rule) { rules_.push_back(std::move(rule)); }

  friend Mask operator&(Mask a, const Mask& b) {
    a.rules_.insert(a.rules_.end(), b.rules_.begin(), b.rules_.end());
    return a;
  }

  const std::vector<MaskRule>& rules() const { return rules_; }

 private:
  std::vector<MaskRule> rules_;
};

Mask causal();
// A query sees `left` keys before its position and `right` keys after it, and
// the key at it. std::nullopt: all there are on that side.
Mask window(std::optional<std::int64_t> left,
            std::optional<std::int64_t> right);
Mask key_lengths(TensorView<const std::int64_t, 1> lengths);
Mask key_lengths(TensorView<const std::int64_t, 2> lengths);
// For sequences padded on the left. Positions count in the tensor all the same.
Mask key_starts(TensorView<const std::int64_t, 1> starts);
Mask key_padding(TensorView<const bool, 2> padding);
// Several documents in one row: a query sees the keys of its own. Ids do not
// decrease along a row: (B, Lq) and (B, Lkv), or (Lq) and (Lkv) for rows that
// are all cut alike. A query whose id no key has sees nothing.
Mask documents(TensorView<const std::int64_t, 2> query_ids,
               TensorView<const std::int64_t, 2> key_ids);
Mask documents(TensorView<const std::int64_t, 1> query_ids,
               TensorView<const std::int64_t, 1> key_ids);
// `axes` names the view's axes, so that a rank-3 mask is never guessed. Each
// name at most once; an axis that is not named is broadcast.
Mask dense(const bool* data, std::vector<std::size_t> extents,
           std::vector<std::ptrdiff_t> strides, std::vector<Axis> axes);
template <std::size_t Rank>
Mask dense(TensorView<const bool, Rank> view,
           const std::array<Axis, Rank>& axes) {
  return dense(view.data(), {view.extents().begin(), view.extents().end()},
               {view.strides().begin(), view.strides().end()},
               {axes.begin(), axes.end()});
}

// What a mask says of a tile.
enum class TileKind {
  empty,    // nobody attends: the tile costs nothing
  full,     // everybody does: no test
  partial,  // the mask's words say who
};

// A mask that was checked against the sizes of a call.
class BoundMask {
 public:
  // Errors: shape_mismatch, out_of_range (a length or a start beyond the keys
  // or negative, a negative window), invalid_argument (axes that name an axis
  // twice, ids that decrease). A key is masked where `bias` is -inf, too.
  static Result<BoundMask> bind(const Mask& mask, const CallContext& context,
                                const BoundBias& bias = {});

  const std::vector<MaskRule>& rules() const { return mask_.rules(); }
  std::int64_t query_start(std::size_t b) const {
    return context_.first_position(b);
  }
  bool allows_all() const { return mask_.rules().empty() && !bias_.given(); }
  bool may_attend(std::size_t b, std::size_t h, std::size_t i,
                  std::size_t j) const;

  // The largest of sequence b's key_starts, 0 without any: nobody sees a key
  // before it, and what is aligned to the sequence's first key is aligned here.
  std::size_t first_key(std::size_t b) const;
  // The queries [first, first + queries) of sequence b, at least one, see no
  // key before visible_begin and none from visible_end on. Both are at most
  // Lkv; where begin >= end they see nothing.
  std::size_t visible_begin(std::size_t b, std::size_t first,
                            std::size_t queries) const;
  std::size_t visible_end(std::size_t b, std::size_t first,
                          std::size_t queries) const;
  // May call a tile partial that is full or empty, never the other way round.
  TileKind classify(const Tile& tile) const;
  // allowed[k]: bit n is may_attend(b, h, first_query + n, first_key + k).
  // `allowed` has `keys` words.
  void fill_words(const Tile& tile, std::span<std::uint64_t> allowed) const;

  // For showing: each rule alone and then, where there is more than one,
  // "mask", all of them. A part is 1 along the axes it is broadcast over. A
  // bias is no part.
  struct Part {
    std::string_view name;       // "causal_mask", "padding_mask", ..., "mask"
    std::array<bool, 4> varies;  // over B, H, Lq, Lkv
  };
  std::vector<Part> parts() const;
  // parts()[part] as a tensor, true = attend. Errors: out_of_memory.
  Result<Tensor<bool, 4>> materialize(std::size_t part) const;
  // Those of the next run, of a ragged batch.
  void set_offsets(const Offsets& offsets) { context_.shape.offsets = offsets; }

 private:
  BoundMask(Mask mask, const CallContext& context, BoundBias bias)
      : mask_(std::move(mask)), bias_(std::move(bias)), context_(context) {}

  Mask mask_;
  BoundBias bias_;
  CallContext context_;
};

// Scores in, masked scores out (may be the same tensor): (B, Hq, Lq, Lkv).
// Errors: invalid_argument for an output that shares memory with the scores,
// but is not the same tensor.
Status apply_mask(TensorView<const float, 4> scores, const BoundMask& mask,
                  TensorView<float, 4> masked_scores);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
