#include "base/memory_overlap.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <vector>

#include "headwise/base/random.h"

namespace headwise {
namespace {

std::vector<float> memory_of(std::size_t size) {
  return std::vector<float>(size);
}

using View = TensorView<float, 3>;

bool overlap(const View& a, const View& b) {
  return Footprint(a).overlaps(Footprint(b));
}

std::multiset<const float*> elements_of(const View& view) {
  std::multiset<const float*> elements;
  for (std::size_t n = 0; n < view.size(); ++n) {
    const auto [A, B, C] = view.extents();
    elements.insert(&view(n / C / B, n / C % B, n % C));
  }
  return elements;
}

bool share_an_element(const View& a, const View& b) {
  const auto of_b = elements_of(b);
  for (const float* element : elements_of(a)) {
    if (of_b.contains(element)) {
      return true;
    }
  }
  return false;
}

TEST(FootprintTest, TensorsSideBySideDoNotOverlap) {
  auto memory = memory_of(100);
  const View a(memory.data(), {2, 3, 4});
  EXPECT_FALSE(overlap(a, View(memory.data() + 24, {2, 3, 4})));
  EXPECT_TRUE(overlap(a, View(memory.data() + 23, {2, 3, 4})));
  EXPECT_TRUE(overlap(a, a));
}

// The gradients of query, key and value in one tensor (L, 3, D).
TEST(FootprintTest, InterleavedTensorsDoNotOverlap) {
  auto memory = memory_of(2 * 5 * 3 * 4);
  const auto part = [&](std::ptrdiff_t n) {
    return View(memory.data() + n * 4, {2, 5, 4}, {60, 12, 1});
  };
  for (std::ptrdiff_t a = 0; a < 3; ++a) {
    for (std::ptrdiff_t b = 0; b < 3; ++b) {
      EXPECT_EQ(overlap(part(a), part(b)), a == b);
    }
  }
}

TEST(FootprintTest, WithoutElementsNothingOverlaps) {
  auto memory = memory_of(10);
  const View all(memory.data(), {1, 1, 10});
  EXPECT_FALSE(overlap(View(), all));
  EXPECT_FALSE(overlap(View(memory.data(), {std::size_t{1} << 60, 0, 1}), all));
}

TEST(FootprintTest, AnAxisMayRunBackwards) {
  auto memory = memory_of(10);
  const View back(memory.data() + 9, {1, 1, 4}, {0, 0, -1});
  EXPECT_TRUE(overlap(back, View(memory.data() + 6, {1, 1, 1})));
  EXPECT_FALSE(overlap(back, View(memory.data(), {1, 1, 6})));
}

// A view of random strides in a small memory.
View random_view(std::vector<float>& memory, std::uint32_t stream) {
  std::vector<float> random(8);
  RandomStream(Seed{5}, stream).fill_uniform(random, 0, 1);
  const auto below = [&](std::size_t n, int limit) {
    return static_cast<int>(random[n] * static_cast<float>(limit));
  };
  Extents<3> extents{};
  Strides<3> strides{};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    extents[axis] = static_cast<std::size_t>(below(axis, 3) + 1);
    strides[axis] = below(3 + axis, 25) - 10;
  }
  return {memory.data() + memory.size() / 2 + below(6, 40), extents, strides};
}

// Those with strides that nest are also never taken for overlapping: see above.
TEST(FootprintTest, NoSharedElementIsOverlooked) {
  auto memory = memory_of(400);
  int shared = 0;
  int apart = 0;
  for (std::uint32_t n = 0; n < 4000; n += 2) {
    const View a = random_view(memory, n);
    const View b = random_view(memory, n + 1);
    const bool share = share_an_element(a, b);
    const bool found = overlap(a, b);
    EXPECT_EQ(found, overlap(b, a));
    ASSERT_TRUE(found || !share) << n;
    shared += share ? 1 : 0;
    apart += found ? 0 : 1;
    const auto elements = elements_of(a);
    const std::set<const float*> distinct(elements.begin(), elements.end());
    ASSERT_TRUE(!Footprint(a).overlaps_itself() ||
                distinct.size() < elements.size())
        << n;
  }
  EXPECT_GT(shared, 100);
  EXPECT_GT(apart, 100);
}

TEST(FootprintTest, ARepeatedAxisOverlapsItself) {
  auto memory = memory_of(100);
  EXPECT_TRUE(
      Footprint(View(memory.data(), {2, 3, 4}, {0, 4, 1})).overlaps_itself());
  EXPECT_TRUE(
      Footprint(View(memory.data(), {2, 3, 4}, {12, 2, 1})).overlaps_itself());
  EXPECT_FALSE(
      Footprint(View(memory.data(), {1, 3, 4}, {0, 4, 1})).overlaps_itself());
}

TEST(CheckOverlapTest, NamesTheOutputAndWhatItLiesIn) {
  auto memory = memory_of(100);
  const View all(memory.data(), {1, 1, 50});
  const View half(memory.data() + 25, {1, 1, 50});
  const View apart(memory.data() + 80, {1, 1, 20});
  const View repeated(memory.data() + 80, {2, 1, 10}, {0, 0, 1});
  EXPECT_TRUE(check_overlap("step", {{"y", Footprint(all)}},
                            {{"x", Footprint(apart)}}));
  const auto message = [](const Status& s) {
    return s ? "" : s.error().message();
  };
  EXPECT_EQ(message(check_overlap("step", {{"y", Footprint(all)}},
                                  {{"x", Footprint(half)}})),
            "step: y is in the memory of x, expected memory of its own");
  EXPECT_EQ(message(check_overlap(
                "step", {{"y", Footprint(all)}, {"z", Footprint(half)}}, {})),
            "step: z is in the memory of y, expected memory of its own");
  EXPECT_EQ(message(check_overlap("step", {{"y", Footprint(repeated)}}, {})),
            "step: y is a view whose elements share memory, expected an "
            "element of memory for each");
}

}  // namespace
}  // namespace headwise
