#include "kernels/statistics_tile.h"

#include <bit>
#include <cstring>
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/statistics_tile.cc"  // this file, from src/
#include <hwy/foreach_target.h>                          // IWYU pragma: keep
// Only after foreach_target.h:
#include <hwy/highway.h>

#include "kernels/fold-inl.h"
#include "kernels/softmax-inl.h"
#include "kernels/transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headwise::inline HEADWISE_ABI::kernels {
namespace HWY_NAMESPACE {
namespace {

template <class D>
HWY_INLINE std::uint64_t bits_of(D d, hn::Mask<D> mask) {
  std::uint8_t bytes[8] = {};
  hn::StoreMaskBits(d, mask, bytes);
  std::uint64_t bits = 0;
  std::memcpy(&bits, bytes, sizeof(bits));
  return bits;
}

// Scores of one key that beat the lowest top key at the start of the block.
struct Candidates {
  Vector scores;
  std::uint32_t lanes;  // one bit each
  std::uint16_t first;  // of the lanes
  std::uint16_t key;    // of the block
};

// Inserts one key in the lanes where its score is higher; those after it move
// down by one.
HWY_INLINE void insert_vector(const TopKeys& top, const Candidates& one,
                              std::int32_t key) {
  const Lane d;
  const hn::RebindToSigned<Lane> di;
  Vector score = one.scores;
  auto number = hn::Set(di, key);
  auto taken = hn::Gt(hn::Zero(d), hn::Zero(d));  // none yet
  for (std::size_t r = 0; r < top.count; ++r) {
    float* const scores = top.scores + r * kMaxQueryLanes + one.first;
    std::int32_t* const keys = top.keys + r * kMaxQueryLanes + one.first;
    const Vector here = hn::Load(d, scores);
    const auto key_here = hn::Load(di, keys);
    taken = hn::Or(taken, hn::Gt(score, here));
    const auto taken_keys = hn::RebindMask(di, taken);
    hn::Store(hn::IfThenElse(taken, score, here), d, scores);
    hn::Store(hn::IfThenElse(taken_keys, number, key_here), di, keys);
    score = hn::IfThenElse(taken, here, score);
    number = hn::IfThenElse(taken_keys, key_here, number);
  }
}

// The same for one lane.
HWY_INLINE void insert_lane(const TopKeys& top, std::size_t lane, float score,
                            std::int32_t key) {
  std::size_t r = top.count - 1;
  float* scores = top.scores + r * kMaxQueryLanes + lane;
  std::int32_t* keys = top.keys + r * kMaxQueryLanes + lane;
  if (!(score > *scores)) {
    return;
  }
  for (; r > 0 && score > *(scores - kMaxQueryLanes); --r) {
    *scores = *(scores - kMaxQueryLanes);
    *keys = *(keys - kMaxQueryLanes);
    scores -= kMaxQueryLanes;
    keys -= kMaxQueryLanes;
  }
  *scores = score;
  *keys = key;
}

HWY_NOINLINE void take(const TopKeys& top, const Candidates* candidates,
                       std::size_t count, std::size_t first_key) {
  // From this many lanes on, a whole vector is as fast.
  constexpr int kManyLanes = 3;
  alignas(64) float scores[kLanes];
  for (const Candidates* one = candidates; one != candidates + count; ++one) {
    const auto key = static_cast<std::int32_t>(first_key + one->key);
    if (std::popcount(one->lanes) >= kManyLanes) {
      insert_vector(top, *one, key);
      continue;
    }
    hn::Store(one->scores, Lane(), scores);
    for (std::uint32_t bits = one->lanes; bits != 0; bits &= bits - 1) {
      const auto n = static_cast<std::size_t>(std::countr_zero(bits));
      insert_lane(top, one->first + n, scores[n], key);
    }
  }
}

// Turns what softmax_vectors passes to it into a block's sums.
template <std::size_t kVectorsHere, bool kRows, bool kTop>
class WatchBlock {
 public:
  HWY_INLINE WatchBlock(const float* position, std::size_t first_key,
                        const TopKeys& top)
      : first_key_(first_key) {
    const Lane d;
    for (std::size_t v = 0; v < kVectorsHere; ++v) {
      entropy_[v] = hn::Zero(d);
      distance_[v] = hn::Zero(d);
      position_[v] = hn::Load(d, position + v * kLanes);
      if constexpr (kTop) {
        least_[v] = hn::Load(d, top.least() + v * kLanes);
      }
    }
  }

  HWY_INLINE void operator()(std::size_t k, std::size_t v, Vector s,
                             Vector shifted, Vector p) {
    const Lane d;
    if constexpr (kRows) {
      // Below -126 p is 0: its factor must be finite.
      entropy_[v] =
          hn::MulAdd(p, hn::Max(shifted, hn::Set(d, -127.0f)), entropy_[v]);
      const Vector key = hn::Set(d, static_cast<float>(first_key_ + k));
      distance_[v] =
          hn::MulAdd(p, hn::Abs(hn::Sub(position_[v], key)), distance_[v]);
    }
    if constexpr (kTop) {
      const auto better = hn::Gt(s, least_[v]);
      if (HWY_UNLIKELY(!hn::AllFalse(d, better))) {
        candidates_[count_++] = {s,
                                 static_cast<std::uint32_t>(bits_of(d, better)),
                                 static_cast<std::uint16_t>(v * kLanes),
                                 static_cast<std::uint16_t>(k)};
      }
    }
  }

  HWY_INLINE void store(const RowSums& block) const {
    const Lane d;
    for (std::size_t v = 0; v < kVectorsHere; ++v) {
      hn::Store(entropy_[v], d, block.entropy + v * kLanes);
      hn::Store(distance_[v], d, block.distance + v * kLanes);
    }
  }
  const Candidates* candidates() const { return candidates_; }
  std::size_t count() const { return count_; }

 private:
  std::size_t first_key_;
  Vector entropy_[kVectorsHere];
  Vector distance_[kVectorsHere];
  Vector position_[kVectorsHere];
  Vector least_[kTop ? kVectorsHere : 1];
  std::size_t count_ = 0;
  Candidates candidates_[kTop ? kKeyBlock * kVectorsHere : 1];
};

template <bool kRows, bool kTop>
HWY_INLINE void softmax_any(std::size_t count, std::size_t lanes,
                            const float* position, std::size_t first_key,
                            float* scores, float* max, float* sum,
                            const RowSums& block, const TopKeys& top) {
  with_whole_vectors(lanes, [&](auto vectors) HWY_ATTR {
    constexpr std::size_t kVectorsHere = decltype(vectors)::value;
    WatchBlock<kVectorsHere, kRows, kTop> watch(position, first_key, top);
    softmax_vectors<kVectorsHere>(count, scores, max, sum, watch);
    if (kRows) {
      watch.store(block);
    }
    if (watch.count() != 0) {
      take(top, watch.candidates(), watch.count(), first_key);
    }
  });
}

void softmax(std::size_t count, std::size_t lanes, const float* position,
             std::size_t first_key, float* scores, float* max, float* sum,
             const RowSums& block, const TopKeys& top) {
  const auto run = [&](auto rows, auto tops) HWY_ATTR {
    softmax_any<decltype(rows)::value, decltype(tops)::value>(
        count, lanes, position, first_key, scores, max, sum, block, top);
  };
  if (block.entropy == nullptr) {
    return top.count == 0 ? run(std::false_type(), std::false_type())
                          : run(std::false_type(), std::true_type());
  }
  return top.count == 0 ? run(std::true_type(), std::false_type())
                        : run(std::true_type(), std::true_type());
}

void sum_keys(const std::uint8_t* keys, std::size_t count, std::size_t lanes,
              const float* p, float* sum) {
  const Lane d;
  for (std::size_t n = 0; n < lanes; n += kLanes) {
    Vector chain = hn::Zero(d);
    for (std::size_t k = 0; k < count; ++k) {
      chain = hn::Add(chain, hn::Load(d, p + keys[k] * lanes + n));
    }
    hn::Store(chain, d, sum + n);
  }
}

// The sum of p (s - max) becomes that of p (s - top). A p that becomes 0 adds
// nothing, however far apart the maxima are.
HWY_INLINE Vector moved(Vector entropy, Vector from, Vector top, Vector sum,
                        Vector factor) {
  const Vector there = hn::MulAdd(hn::Sub(from, top), sum, entropy);
  return hn::IfThenZeroElse(hn::Eq(factor, hn::Zero(Lane())), there);
}

void fold(std::size_t lanes, const Fold& fold, const RowSums& block,
          const RowSums& state) {
  const Lane d;
  for (std::size_t n = 0; n < lanes; n += kLanes) {
    const FoldOf<Lane> by = fold_of(d, fold, n);
    for (const auto member : {&RowSums::distance, &RowSums::separator}) {
      float* const sum = state.*member + n;
      hn::Store(folded(by, hn::Load(d, sum), hn::Load(d, block.*member + n)), d,
                sum);
    }
    const Vector m = hn::Load(d, fold.block_max + n);
    const Vector M = hn::Load(d, fold.state.max + n);
    const Vector top = hn::Max(M, m);
    const Vector mine = hn::Load(d, state.entropy + n);
    const Vector added = hn::Load(d, block.entropy + n);
    const Vector both = hn::MulAdd(
        moved(added, m, top, hn::Load(d, fold.block_sum + n), by.block_factor),
        by.block_factor,
        hn::Mul(moved(mine, M, top, hn::Load(d, fold.state.sum + n),
                      by.state_factor),
                by.state_factor));
    hn::Store(hn::IfThenElse(by.block_empty, mine,
                             hn::IfThenElse(by.state_empty, added, both)),
              d, state.entropy + n);
  }
}

void cell(std::size_t first, std::size_t end, std::size_t lanes, const float* p,
          const Cell& cell) {
  const Lane d;
  for (std::size_t n = 0; n < lanes; n += kLanes) {
    Vector sum = hn::Zero(d);
    Vector largest = hn::Zero(d);
    for (std::size_t k = first; k < end; ++k) {
      const Vector x = hn::Load(d, p + k * lanes + n);
      sum = hn::Add(sum, x);
      largest = hn::Max(largest, x);
    }
    hn::Store(sum, d, cell.sum + n);
    hn::Store(largest, d, cell.largest + n);
  }
}

void join_cell(std::size_t lanes, const Fold& fold, const float* block,
               float* largest) {
  const Lane d;
  for (std::size_t n = 0; n < lanes; n += kLanes) {
    const FoldOf<Lane> by = fold_of(d, fold, n);
    const Vector mine = hn::Load(d, largest + n);
    const Vector added = hn::Load(d, block + n);
    const Vector both = hn::Max(hn::Mul(mine, by.state_factor),
                                hn::Mul(added, by.block_factor));
    hn::Store(hn::IfThenElse(by.block_empty, mine,
                             hn::IfThenElse(by.state_empty, added, both)),
              d, largest + n);
    const Vector top = folded_max(d, by, fold, n);
    hn::Store(folded(by, hn::Load(d, fold.state.sum + n),
                     hn::Load(d, fold.block_sum + n)),
              d, fold.state.sum + n);
    hn::Store(top, d, fold.state.max + n);
  }
}

HWY_INLINE Vector factor_of(const float* max, const RowState& state,
                            std::size_t n) {
  const Lane d;
  return exp2(d, hn::Sub(hn::Load(d, max + n), hn::Load(d, state.max + n)));
}

void weights(std::size_t lanes, const float* p, const float* max,
             const RowState& state, float* weight) {
  const Lane d;
  for (std::size_t n = 0; n < lanes; n += kLanes) {
    const Vector scaled = hn::Mul(hn::Load(d, p + n), factor_of(max, state, n));
    hn::Store(hn::Div(scaled, hn::Load(d, state.sum + n)), d, weight + n);
  }
}

// One vector of rows from `n` on: `factor` has one number per row, 0 for a row
// that does not count.
template <bool kAll>
HWY_INLINE void add_rows(const float* p, std::size_t keys, std::size_t lanes,
                         std::uint64_t rows, const float* factor,
                         float* columns) {
#if HWY_TARGET == HWY_SCALAR
  for (std::size_t k = 0; kAll || (rows & 1) != 0 ? k < keys : false; ++k) {
    float& sum = columns[k / kColumnKeys * kColumnKeys * kColumnChains +
                         k % kColumnKeys];
    sum =
        hn::GetLane(hn::MulAdd(hn::Set(Lane(), p[k * lanes]),
                               hn::Set(Lane(), *factor), hn::Set(Lane(), sum)));
  }
#else
  const Lane d;
  // After the transposition, row r + 4 b of the vector is in block b of vector
  // r.
  Vector by[kSquare];
  hn::Mask<Lane> counts[kSquare];
  for (std::size_t r = 0; r < kSquare; ++r) {
    alignas(64) float spread[kLanes];
    std::uint64_t bits = 0;
    for (std::size_t n = 0; n < kLanes; ++n) {
      const std::size_t row = n / kSquare * kSquare + r;
      spread[n] = factor[row];
      bits |= (rows >> row & 1) << n;
    }
    by[r] = hn::Load(d, spread);
    counts[r] = mask_of(d, bits, 0);
  }
  for (std::size_t k = 0; k < keys; k += kSquare) {
    Vector v[kSquare];
    for (std::size_t c = 0; c < kSquare; ++c) {
      v[c] = k + c < keys ? hn::Load(d, p + (k + c) * lanes) : hn::Zero(d);
    }
    transpose_squares(d, v);
    float* const place = columns + k * kColumnChains;
    Vector sum = hn::LoadU(d, place);
    for (std::size_t r = 0; r < kSquare; ++r) {
      const Vector next = hn::MulAdd(v[r], by[r], sum);
      sum = kAll ? next : hn::IfThenElse(counts[r], next, sum);
    }
    hn::StoreU(sum, d, place);
  }
#endif
}

void add_columns(const float* p, const float* max, const RowState& state,
                 std::size_t keys, std::size_t lanes, std::size_t first_row,
                 std::uint64_t rows, float* columns) {
  const Lane d;
  alignas(64) float factor[kLanes];
  for (std::size_t n = 0; n < lanes; n += kLanes) {
    constexpr std::uint64_t kAll = (std::uint64_t{1} << kLanes) - 1;
    const std::uint64_t here = rows >> n & kAll;
    if (here == 0) {
      continue;
    }
    hn::Store(hn::Div(factor_of(max, state, n), hn::Load(d, state.sum + n)), d,
              factor);
    const std::size_t chain = (first_row + n) / kColumnRows % kColumnChains;
    float* const to = columns + chain * kColumnKeys;
    if (here == kAll) {
      add_rows<true>(p + n, keys, lanes, here, factor, to);
    } else {
      add_rows<false>(p + n, keys, lanes, here, factor, to);
    }
  }
}

const StatisticsTile* tile() {
  static constexpr StatisticsTile kTile = {
      softmax, sum_keys, fold, cell, join_cell, weights, add_columns};
  return &kTile;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace headwise::inline HEADWISE_ABI::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headwise::inline HEADWISE_ABI::kernels {
HWY_EXPORT(tile);
const StatisticsTile& statistics_tile() {
  return *HWY_DYNAMIC_DISPATCH(tile)();
}
}  // namespace headwise::inline HEADWISE_ABI::kernels
#endif  // HWY_ONCE
