// Every mask, alone and together with others, against its formula written out:
// what it says of each pair, and its words for the whole of the scores.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "headwise/steps/mask.h"
#include "steps/mask_tile.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

using Formula = std::function<bool(std::size_t b, std::size_t h, std::size_t i,
                                   std::size_t j)>;

// The cells where `mask` or its words differ from `formula`, as text; "" when
// none does. There are at most 64 queries and 128 keys.
std::string differences(const Mask& mask, const AttentionShape& shape,
                        const QueryStart& start, const Formula& formula) {
  const auto bound = BoundMask::bind(mask, {shape, start, "test"});
  if (!bound) {
    return bound.error().message();
  }
  std::string text;
  std::vector<std::uint64_t> words(shape.Lkv);
  for (std::size_t b = 0; b < shape.B; ++b) {
    for (std::size_t h = 0; h < shape.Hq; ++h) {
      if (shape.Lkv != 0) {
        fill_words(*bound, {b, h, 0, shape.Lq, 0, shape.Lkv}, words);
      }
      for (std::size_t i = 0; i < shape.Lq; ++i) {
        for (std::size_t j = 0; j < shape.Lkv; ++j) {
          const bool wanted = formula(b, h, i, j);
          const bool in_words = (words[j] >> i & 1) != 0;
          if ((bound->may_attend(b, h, i, j) != wanted || in_words != wanted) &&
              text.size() < 200) {
            text += " (" + std::to_string(b) + ", " + std::to_string(h) + ", " +
                    std::to_string(i) + ", " + std::to_string(j) + ")";
          }
        }
      }
    }
  }
  return text;
}

// One mask of each kind with the tensors it looks at, all of random content.
struct MaskTable {
  MaskTable(const AttentionShape& sizes, std::uint32_t stream)
      : shape(sizes),
        lengths(lengths_of<1>({shape.B}, stream)),
        row_lengths(lengths_of<2>({shape.B, shape.Lq}, stream + 1)),
        starts(lengths_of<1>({shape.B}, stream + 4)),
        query_ids(ids_of({shape.B, shape.Lq}, stream + 5)),
        key_ids(ids_of({shape.B, shape.Lkv}, stream + 6)),
        padding(coin_tosses<2>({shape.B, shape.Lkv}, stream + 2)),
        dense_mask(coin_tosses<4>({shape.B, shape.Hq, shape.Lq, shape.Lkv},
                                  stream + 3)) {}

  template <std::size_t Rank>
  Tensor<std::int64_t, Rank> lengths_of(const Extents<Rank>& extents,
                                        std::uint32_t stream) const {
    const auto numbers = uniform<Rank>(extents, stream, 0,
                                       static_cast<double>(shape.Lkv) + 0.999);
    auto lengths_ = Tensor<std::int64_t, Rank>::create(extents).value();
    std::transform(numbers.data(), numbers.data() + numbers.size(),
                   lengths_.data(),
                   [](float x) { return static_cast<std::int64_t>(x); });
    return lengths_;
  }

  // Rows of ids from -1 to 2 that do not decrease.
  static Tensor<std::int64_t, 2> ids_of(const Extents<2>& extents,
                                        std::uint32_t stream) {
    const auto numbers = uniform<2>(extents, stream, -1, 3);
    auto ids = Tensor<std::int64_t, 2>::create(extents).value();
    std::transform(
        numbers.data(), numbers.data() + numbers.size(), ids.data(),
        [](float x) { return static_cast<std::int64_t>(std::floor(x)); });
    for (std::size_t b = 0; b < extents[0]; ++b) {
      std::sort(ids.data() + b * extents[1], ids.data() + (b + 1) * extents[1]);
    }
    return ids;
  }

  struct Entry {
    std::string name;
    Mask mask;
    Formula formula;
  };
  // `start`: where query 0 of each sequence stands.
  std::vector<Entry> entries(
      const std::function<std::int64_t(std::size_t b)>& start) const {
    const auto n = [](std::size_t x) { return static_cast<std::int64_t>(x); };
    // Exact for any numbers that a window or a query start may hold.
    using Wide = long double;
    const auto windowed = [=](std::optional<std::int64_t> left,
                              std::optional<std::int64_t> right,
                              std::int64_t first = 0) {
      const auto text = [](std::optional<std::int64_t> keys) {
        return keys ? std::to_string(*keys) : "none";
      };
      return Entry{
          "window " + text(left) + ", " + text(right) + ", " + text(first),
          window(left, right, first),
          [=](std::size_t b, std::size_t, std::size_t i, std::size_t j) {
            const Wide p =
                static_cast<Wide>(n(i)) + static_cast<Wide>(start(b));
            return (!left || n(j) < first ||
                    p - static_cast<Wide>(*left) <= static_cast<Wide>(j)) &&
                   (!right ||
                    static_cast<Wide>(j) <= p + static_cast<Wide>(*right));
          }};
    };
    const std::int64_t far = std::int64_t{1} << 62;
    const std::int64_t farthest = std::numeric_limits<std::int64_t>::max();
    return {
        windowed(0, 0),
        windowed(2, 1),
        windowed(1, std::nullopt),
        windowed(std::nullopt, 2),
        windowed(std::nullopt, std::nullopt),
        windowed(far, far),
        windowed(far - 2, 0),
        windowed(0, far - 1),
        windowed(farthest, farthest),
        windowed(0, 0, 1),
        windowed(2, 1, 3),
        windowed(1, std::nullopt, 2),
        windowed(3, 0, farthest),
        {"key_starts", key_starts(starts),
         [=, this](std::size_t b, std::size_t, std::size_t, std::size_t j) {
           return n(j) >= starts(b);
         }},
        {"documents", documents(query_ids, key_ids),
         [=, this](std::size_t b, std::size_t, std::size_t i, std::size_t j) {
           return query_ids(b, i) == key_ids(b, j);
         }},
        {"causal", causal(),
         [=](std::size_t b, std::size_t, std::size_t i, std::size_t j) {
           return n(j) <= n(i) + start(b);
         }},
        {"key_lengths (B)", key_lengths(lengths),
         [=, this](std::size_t b, std::size_t, std::size_t, std::size_t j) {
           return n(j) < lengths(b);
         }},
        {"key_lengths (B, Lq)", key_lengths(row_lengths),
         [=, this](std::size_t b, std::size_t, std::size_t i, std::size_t j) {
           return n(j) < row_lengths(b, i);
         }},
        {"key_padding", key_padding(padding),
         [=, this](std::size_t b, std::size_t, std::size_t, std::size_t j) {
           return padding(b, j);
         }},
        {"dense",
         dense(view_of(dense_mask), {Axis::B, Axis::H, Axis::Lq, Axis::Lkv}),
         [=, this](std::size_t b, std::size_t h, std::size_t i, std::size_t j) {
           return dense_mask(b, h, i, j);
         }},
    };
  }

  AttentionShape shape;
  Tensor<std::int64_t, 1> lengths;
  Tensor<std::int64_t, 2> row_lengths;
  Tensor<std::int64_t, 1> starts;
  Tensor<std::int64_t, 2> query_ids;
  Tensor<std::int64_t, 2> key_ids;
  Tensor<bool, 2> padding;
  Tensor<bool, 4> dense_mask;
};

struct Start {
  std::string name;
  QueryStart start;
  std::function<std::int64_t(std::size_t b)> formula;
};

std::vector<Start> starts_of(const AttentionShape& shape,
                             const Tensor<std::int64_t, 1>& per_sequence) {
  const auto corner = static_cast<std::int64_t>(shape.Lkv) -
                      static_cast<std::int64_t>(shape.Lq);
  return {{"0", 0, [](std::size_t) { return 0; }},
          {"3", 3, [](std::size_t) { return 3; }},
          {"-2", -2, [](std::size_t) { return -2; }},
          {"2^40", std::int64_t{1} << 40,
           [](std::size_t) { return std::int64_t{1} << 40; }},
          {"2^62", std::int64_t{1} << 62,
           [](std::size_t) { return std::int64_t{1} << 62; }},
          {"-2^62", -(std::int64_t{1} << 62),
           [](std::size_t) { return -(std::int64_t{1} << 62); }},
          {"per sequence", per_sequence,
           [&](std::size_t b) { return per_sequence(b); }},
          {"bottom right", QueryStart::bottom_right(),
           [=](std::size_t) { return corner; }}};
}

const std::vector<AttentionShape> kShapes = {
    {.B = 2, .Hq = 2, .Hkv = 2, .Lq = 5, .Lkv = 5},
    {.B = 3, .Hq = 2, .Hkv = 1, .Lq = 3, .Lkv = 8},
    {.B = 2, .Hq = 3, .Hkv = 1, .Lq = 7, .Lkv = 4},
    {.B = 1, .Hq = 1, .Hkv = 1, .Lq = 1, .Lkv = 9},
    {.B = 2, .Hq = 1, .Hkv = 1, .Lq = 6, .Lkv = 1},
    {.B = 2, .Hq = 1, .Hkv = 1, .Lq = 2, .Lkv = 0},
    {.B = 0, .Hq = 1, .Hkv = 1, .Lq = 2, .Lkv = 3}};

Tensor<std::int64_t, 1> mixed_starts(std::size_t B) {
  auto starts = Tensor<std::int64_t, 1>::create({B}).value();
  for (std::size_t b = 0; b < B; ++b) {
    starts(b) = 3 - 4 * static_cast<std::int64_t>(b);
  }
  return starts;
}

TEST(MaskTableTest, EveryMaskIsItsFormulaForEveryShapeAndQueryStart) {
  for (const AttentionShape& shape : kShapes) {
    const MaskTable table(shape, 40);
    const auto per_sequence = mixed_starts(shape.B);
    for (const Start& start : starts_of(shape, per_sequence)) {
      for (const auto& entry : table.entries(start.formula)) {
        EXPECT_EQ(differences(entry.mask, shape, start.start, entry.formula),
                  "")
            << entry.name << ", query_start " << start.name << ", Lq "
            << shape.Lq << ", Lkv " << shape.Lkv;
      }
    }
  }
}

RC_GTEST_PROP(MaskTableTest, AConjunctionAllowsWhatEveryOneOfItsMasksAllows,
              ()) {
  const AttentionShape shape = *rc::gen::elementOf(kShapes);
  const MaskTable table(shape, *rc::gen::inRange<std::uint32_t>(0, 1000));
  const auto per_sequence = mixed_starts(shape.B);
  const auto starts = starts_of(shape, per_sequence);
  const auto which = *rc::gen::inRange<std::size_t>(0, starts.size());
  const auto entries = table.entries(starts[which].formula);
  // Any of them, in any order, also twice or none.
  const auto count = *rc::gen::inRange<std::size_t>(0, kMostMaskRules + 1);
  const auto chosen = *rc::gen::container<std::vector<std::size_t>>(
      count, rc::gen::inRange<std::size_t>(0, entries.size()));
  Mask mask;
  for (const std::size_t c : chosen) {
    mask = mask & entries[c].mask;
  }
  const Formula all = [&](std::size_t b, std::size_t h, std::size_t i,
                          std::size_t j) {
    return std::ranges::all_of(
        chosen, [&](std::size_t c) { return entries[c].formula(b, h, i, j); });
  };
  RC_ASSERT(differences(mask, shape, starts[which].start, all) == "");
}

// ---- Dense masks: every set of axes, in every order, in any memory. ----

std::vector<std::vector<Axis>> every_list_of_axes() {
  std::vector<std::vector<Axis>> lists;
  for (unsigned subset = 0; subset < 16; ++subset) {
    std::vector<Axis> axes;
    for (const Axis axis : {Axis::B, Axis::H, Axis::Lq, Axis::Lkv}) {
      if ((subset >> static_cast<unsigned>(axis) & 1U) != 0) {
        axes.push_back(axis);
      }
    }
    do {
      lists.push_back(axes);
      // The same with an axis of extent 1 at each place.
      for (std::size_t at = 0; at <= axes.size(); ++at) {
        lists.push_back(axes);
        lists.back().insert(
            lists.back().begin() + static_cast<std::ptrdiff_t>(at), Axis::one);
      }
    } while (std::ranges::next_permutation(axes).found);
  }
  return lists;
}

std::size_t size_of_axis(Axis axis, const AttentionShape& shape) {
  switch (axis) {
    case Axis::B:
      return shape.B;
    case Axis::H:
      return shape.Hq;
    case Axis::Lq:
      return shape.Lq;
    case Axis::Lkv:
      return shape.Lkv;
    case Axis::one:
      return 1;
  }
  return 0;
}

// A dense mask over `axes`: C order with `gap` elements a step, each axis that
// `backwards` names walked from its end. The formula finds the element by
// counting through the axes.
struct DenseMask {
  DenseMask(const std::vector<Axis>& names, const AttentionShape& shape,
            std::size_t gap, Axis backwards)
      : axes(names) {
    std::size_t count = gap;
    for (const Axis axis : axes) {
      extents.push_back(size_of_axis(axis, shape));
      count *= extents.back();
    }
    memory = coin_tosses<1>({count}, 77);
    std::ptrdiff_t step = static_cast<std::ptrdiff_t>(gap);
    strides.assign(axes.size(), 0);
    for (std::size_t a = axes.size(); a-- > 0;) {
      strides[a] = step;
      step *= static_cast<std::ptrdiff_t>(extents[a]);
    }
    for (std::size_t a = 0; a < axes.size(); ++a) {
      if (axes[a] == backwards) {
        first += static_cast<std::ptrdiff_t>(extents[a] - 1) * strides[a];
        strides[a] = -strides[a];
      }
    }
  }

  Mask mask() const {
    return dense(memory.data() + first, {extents, strides, axes});
  }
  bool allows(const std::array<std::size_t, 4>& index) const {
    std::ptrdiff_t at = first;
    for (std::size_t a = 0; a < axes.size(); ++a) {
      if (axes[a] != Axis::one) {
        at += static_cast<std::ptrdiff_t>(
                  index[static_cast<std::size_t>(axes[a])]) *
              strides[a];
      }
    }
    return memory.data()[at];
  }

  std::vector<Axis> axes;
  std::vector<std::size_t> extents;
  std::vector<std::ptrdiff_t> strides;
  Tensor<bool, 1> memory;
  std::ptrdiff_t first = 0;
};

TEST(DenseMaskTest, ItsAxesMayBeAnyOfTheScoresInAnyOrderAndAnyMemory) {
  const AttentionShape shape{.B = 2, .Hq = 3, .Hkv = 3, .Lq = 4, .Lkv = 5};
  const auto lists = every_list_of_axes();
  EXPECT_EQ(lists.size(), 65u + 1 * 1 + 4 * 2 + 12 * 3 + 24 * 4 + 24 * 5);
  for (const auto& axes : lists) {
    for (const std::size_t gap : {1u, 3u}) {
      for (const Axis backwards : {Axis::one, Axis::Lq, Axis::Lkv}) {
        const DenseMask mask(axes, shape, gap, backwards);
        ASSERT_EQ(differences(mask.mask(), shape, {},
                              [&](std::size_t b, std::size_t h, std::size_t i,
                                  std::size_t j) {
                                return mask.allows({b, h, i, j});
                              }),
                  "");
      }
    }
  }
}

TEST(DenseMaskTest, AStrideOfZeroRepeatsAnElement) {
  const AttentionShape shape{.B = 2, .Hq = 3, .Hkv = 3, .Lq = 4, .Lkv = 5};
  const auto row = coin_tosses<1>({5}, 78);
  const Mask mask = dense(
      row.data(),
      {{2, 3, 4, 5}, {0, 0, 0, 1}, {Axis::B, Axis::H, Axis::Lq, Axis::Lkv}});
  EXPECT_EQ(differences(mask, shape, {},
                        [&](std::size_t, std::size_t, std::size_t,
                            std::size_t j) { return row(j); }),
            "");
}

TEST(LengthsMaskTest, LengthsMayBeAStridedView) {
  const AttentionShape shape{.B = 2, .Hq = 1, .Hkv = 1, .Lq = 3, .Lkv = 5};
  auto by_query = filled<std::int64_t, 2>({3, 2}, 0);  // (Lq, B)
  for (std::size_t i = 0; i < 3; ++i) {
    by_query(i, 0) = static_cast<std::int64_t>(i);
    by_query(i, 1) = static_cast<std::int64_t>(5 - i);
  }
  EXPECT_EQ(
      differences(key_lengths(view_of(by_query).permuted({1, 0})), shape, {},
                  [](std::size_t b, std::size_t, std::size_t i, std::size_t j) {
                    return b == 0 ? j < i : j < 5 - i;
                  }),
      "");
  const TensorView<const std::int64_t, 1> last_column(&by_query(0, 1), {2},
                                                      {2});
  EXPECT_EQ(differences(key_lengths(last_column), shape, {},
                        [](std::size_t b, std::size_t, std::size_t,
                           std::size_t j) { return j < 5 - b; }),
            "");
}

TEST(DocumentsMaskTest, OneRowOfIdsServesEverySequence) {
  const AttentionShape shape{.B = 3, .Hq = 1, .Hkv = 1, .Lq = 3, .Lkv = 5};
  const auto query_ids = tensor_of<std::int64_t, 1>({3}, {-7, 4, 6});
  const auto key_ids = tensor_of<std::int64_t, 1>({5}, {-7, -7, 4, 5, 6});
  EXPECT_EQ(
      differences(documents(query_ids, key_ids), shape, {},
                  [&](std::size_t, std::size_t, std::size_t i, std::size_t j) {
                    return query_ids(i) == key_ids(j);
                  }),
      "");
}

TEST(DocumentsMaskTest, IdsMayBeStridedViews) {
  const AttentionShape shape{.B = 2, .Hq = 1, .Hkv = 1, .Lq = 3, .Lkv = 3};
  const auto by_token =
      tensor_of<std::int64_t, 2>({3, 2}, {1, 0, 1, 2, 3, 2});  // (L, B)
  const auto ids = view_of(by_token).permuted({1, 0});
  EXPECT_EQ(differences(
                documents(ids, ids), shape, {},
                [&](std::size_t b, std::size_t, std::size_t i, std::size_t j) {
                  return by_token(i, b) == by_token(j, b);
                }),
            "");
}

}  // namespace
}  // namespace headwise::testing_support
