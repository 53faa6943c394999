// The loops of few queries have the bits of docs/arithmetic.md for every type
// that keys and values are stored in, on every instruction set with fused
// multiply-add that this machine has.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "headwise/base/half.h"
#include "kernels/row_tile.h"
#include "kernels/stored_tile.h"
#include "run/float_environment.h"
#include "support/targets.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

using kernels::KeyPanel;
using kernels::KeyWords;
using kernels::kKeyBlock;
using kernels::kRowsAtOnce;
using kernels::Rows;
using kernels::StoredType;
using kernels::ValueRows;
using kernels::whole_lines;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNotANumber = std::numeric_limits<float>::quiet_NaN();
constexpr StoredType kTypes[] = {StoredType::float32, StoredType::bfloat16,
                                 StoredType::float16, StoredType::int8};

// What a type keeps of the numbers of one key, by docs/arithmetic.md.
std::vector<float> kept(StoredType type, const float* x, std::size_t size) {
  std::vector<float> kept(x, x + size);
  float largest = 0;
  bool finite = true;
  for (const float v : kept) {
    largest = std::max(largest, std::fabs(v));
    finite = finite && std::isfinite(v);
  }
  const float scale = largest / 127 < 0x1p-126f ? 1 : largest / 127;
  for (float& v : kept) {
    switch (type) {
      case StoredType::float32:
        break;
      case StoredType::bfloat16:
        v = std::fabs(v) < 0x1p-126f ? std::copysign(0.0f, v)
                                     : widened(narrowed<BFloat16>(v));
        break;
      case StoredType::float16:
        v = widened(narrowed<Float16>(v));
        break;
      case StoredType::int8:
        v = finite ? std::nearbyint(v / scale) * scale : kNotANumber;
        break;
    }
  }
  return kept;
}

// One block of keys and values as it is stored.
struct StoredBlock {
  StoredBlock(StoredType stored_as, std::size_t head_size,
              std::size_t value_size, std::size_t count, std::size_t width,
              float range)
      : type(stored_as),
        D(head_size),
        Dv(value_size),
        keys(uniform<2>({count, D}, 41, -range, range)),
        values(uniform<2>({count, Dv}, 42, -range, range)),
        // Floats have the alignment that panels need.
        panels(Tensor<float, 1>::create({kKeyBlock * D}).value()),
        rows(Tensor<float, 1>::create({kKeyBlock * Dv}).value()),
        scales(Tensor<float, 2>::create({2, kKeyBlock}).value()) {
    for (std::size_t first = 0; first < count; first += width) {
      const std::size_t some = std::min(width, count - first);
      auto* panel = reinterpret_cast<std::byte*>(panels.data()) +
                    first * D * size_of(type);
      const Rows<const float> all = {&keys(first, 0), some,
                                     static_cast<std::ptrdiff_t>(D), 1};
      // In two parts, as a cache does.
      store_keys(Rows<const float>{all.data, some / 2, all.row_stride, 1}, D,
                 type, width, 0, panel, &scales(0, first));
      store_keys(Rows<const float>{all.row(some / 2), some - some / 2,
                                   all.row_stride, 1},
                 D, type, width, some / 2, panel, &scales(0, first));
      key_panels.push_back({panel, &scales(0, first), width});
    }
    const Rows<const float> all = {values.data(), count,
                                   static_cast<std::ptrdiff_t>(Dv), 1};
    finite = store_values(all, Dv, type, rows.data(), &scales(1, 0));
    // As if a page ended there.
    const std::size_t half = count / 2;
    const auto* second = reinterpret_cast<const std::byte*>(rows.data()) +
                         half * Dv * size_of(type);
    const auto stride = static_cast<std::ptrdiff_t>(Dv);
    parts = {{rows.data(), &scales(1, 0), half, stride},
             {second, &scales(1, half), count - half, stride}};
  }

  StoredType type;
  std::size_t D;
  std::size_t Dv;
  Tensor<float, 2> keys;
  Tensor<float, 2> values;
  Tensor<float, 1> panels;
  Tensor<float, 1> rows;
  Tensor<float, 2> scales;
  std::vector<KeyPanel> key_panels;
  std::vector<ValueRows> parts;
  bool finite = false;
};

class RowTileTest : public TargetTest {
 protected:
  const FloatEnvironment environment_;
};

TEST_P(RowTileTest, ScoresAreChainsOverTheHeadSize) {
  for (const StoredType type : kTypes) {
    for (const std::size_t width : {16u, 32u, 64u}) {
      for (std::size_t rows = 1; rows <= kRowsAtOnce; ++rows) {
        const std::size_t count = 101;
        const std::size_t D = 37;
        const StoredBlock block(type, D, 3, count, width, 3);
        const auto q = uniform<2>({rows, whole_lines(D)}, 43);
        auto scores = Tensor<float, 2>::create({rows, kKeyBlock}).value();
        for (std::size_t n = 0; n < block.key_panels.size(); ++n) {
          kernels::stored_tile(type).score(q.data(), rows, block.key_panels[n],
                                           D, 1, &scores(0, n * width));
        }
        for (std::size_t k = 0; k < count; ++k) {
          const auto key = kept(type, &block.keys(k, 0), D);
          for (std::size_t r = 0; r < rows; ++r) {
            float chain = 0;
            for (std::size_t i = 0; i < D; ++i) {
              chain = std::fma(q(r, i), key[i], chain);
            }
            ASSERT_EQ(bits(scores(r, k)), bits(chain + 0.0f))
                << static_cast<int>(type) << ", width " << width << ", key "
                << k;
          }
        }
      }
    }
  }
}

TEST_P(RowTileTest, ContextsAreChainsOverTheKeys) {
  for (const StoredType type : kTypes) {
    for (const std::size_t Dv : {5u, 16u, 72u, 112u, 128u, 300u}) {
      for (std::size_t rows = 1; rows <= kRowsAtOnce; ++rows) {
        const std::size_t count = 101;
        const StoredBlock block(type, 1, Dv, count, 64, 3);
        const auto p = uniform<2>({rows, kKeyBlock}, 44, 0, 1);
        std::vector<float> want(rows * Dv);
        float want_sum[kRowsAtOnce] = {};
        for (std::size_t k = 0; k < count; ++k) {
          const auto value = kept(type, &block.values(k, 0), Dv);
          for (std::size_t r = 0; r < rows; ++r) {
            want_sum[r] += p(r, k);
            for (std::size_t c = 0; c < Dv; ++c) {
              want[r * Dv + c] = std::fma(p(r, k), value[c], want[r * Dv + c]);
            }
          }
        }
        for (const bool near : {false, true}) {
          auto context =
              Tensor<float, 2>::create({rows, whole_lines(Dv)}).value();
          float sum[kRowsAtOnce];
          kernels::stored_tile(type).weigh(p.data(), rows, block.parts.data(),
                                           block.parts.size(), Dv, near, sum,
                                           context.data());
          for (std::size_t r = 0; r < rows; ++r) {
            ASSERT_EQ(bits(sum[r]), bits(want_sum[r]));
            for (std::size_t c = 0; c < Dv; ++c) {
              ASSERT_EQ(bits(context(r, c)), bits(want[r * Dv + c] + 0.0f))
                  << static_cast<int>(type) << ", Dv " << Dv << ", rows "
                  << rows << ", near " << near;
            }
          }
        }
      }
    }
  }
}

TEST_P(RowTileTest, AMaskedValueIsNotRead) {
  for (const StoredType type : kTypes) {
    for (const std::size_t Dv : {5u, 72u}) {
      const std::size_t count = 101;
      StoredBlock clean(type, 1, Dv, count, 64, 3);
      const auto p = uniform<1>({kKeyBlock}, 45, 0, 1);
      KeyWords allowed = {0x9249249249249249u, 0x4924924924924924u};
      const auto weighed = [&](const StoredBlock& block) {
        auto context = Tensor<float, 1>::create({whole_lines(Dv)}).value();
        float sum = 0;
        kernels::stored_tile(type).weigh_allowed(
            p.data(), allowed, block.parts.data(), block.parts.size(), Dv, &sum,
            context.data());
        std::vector<float> all(context.data(), context.data() + Dv);
        all.push_back(sum);
        return all;
      };
      StoredBlock poisoned(type, 1, Dv, count, 64, 3);
      auto values = clone(poisoned.values);
      for (std::size_t k = 0; k < count; ++k) {
        if ((allowed[k / 64] >> (k % 64) & 1) == 0) {
          values(k, Dv - 1) = k % 2 == 0 ? kNotANumber : -kInfinity;
        }
      }
      EXPECT_FALSE(
          store_values(Rows<const float>{values.data(), count,
                                         static_cast<std::ptrdiff_t>(Dv), 1},
                       Dv, type, poisoned.rows.data(), &poisoned.scales(1, 0)));
      EXPECT_TRUE(clean.finite);
      EXPECT_FALSE(
          kernels::stored_tile(type).all_finite(poisoned.parts.front(), Dv));
      EXPECT_TRUE(
          kernels::stored_tile(type).all_finite(clean.parts.front(), Dv));
      EXPECT_TRUE(same_bits(weighed(poisoned), weighed(clean)));
    }
  }
}

// What is read back, the same numbers as rows.
TEST(StoredRowsTest, AreReadBackAsWhatTheTypeKeeps) {
  for (const StoredType type : kTypes) {
    for (const float range : {3.0f, 1e-39f, 1e-41f, 7e4f, 3e38f}) {
      const std::size_t D = 19;
      const std::size_t count = 33;
      const StoredBlock block(type, D, D, count, 64, range);
      std::vector<float> keys(count * D);
      std::vector<float> values(count * D);
      load_keys(block.key_panels.front(), D, type, 0, count, keys.data());
      load_values({block.rows.data(), &block.scales(1, 0), count,
                   static_cast<std::ptrdiff_t>(D)},
                  D, type, values.data());
      for (std::size_t k = 0; k < count; ++k) {
        const auto key = kept(type, &block.keys(k, 0), D);
        const auto value = kept(type, &block.values(k, 0), D);
        for (std::size_t i = 0; i < D; ++i) {
          ASSERT_EQ(keys[k * D + i], key[i]) << range;
          ASSERT_EQ(values[k * D + i], value[i]) << range;
        }
      }
    }
  }
}

TEST(StoredRowsTest, OfInt8WithANumberThatIsNotFiniteAreNaN) {
  for (const float poison : {kNotANumber, kInfinity, -kInfinity}) {
    const float row[] = {1, poison, -2};
    std::int8_t q[3];
    float scale = 0;
    EXPECT_FALSE(store_values(Rows<const float>{row, 1, 3, 1}, 3,
                              StoredType::int8, q, &scale));
    EXPECT_TRUE(std::isnan(scale));
    float read[3];
    load_values({q, &scale, 1, 3}, 3, StoredType::int8, read);
    EXPECT_TRUE(std::isnan(read[0]) && std::isnan(read[1]) &&
                std::isnan(read[2]));
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, RowTileTest,
                         testing::ValuesIn(targets(kFusedTargets)),
                         target_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(RowTileTest);

}  // namespace
}  // namespace headwise::testing_support
