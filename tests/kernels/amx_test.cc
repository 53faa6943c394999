// Projections by AMX have the bits of docs/arithmetic.md. HEADWISE_BF16
// chooses the tiles: `amx_emulated` those that are ordinary code, on every
// instruction set with fused multiply-add; `amx` the processor's.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <string_view>
#include <utility>
#include <vector>

#include "headwise/kernels/targets.h"
#include "headwise/steps/softmax.h"
#include "kernels/amx_contract.h"
#include "kernels/bf16_cases.h"
#include "kernels/pair_gemm.h"
#include "kernels/pair_tile.h"
#include "run/float_environment.h"
#include "steps/project.h"
#include "support/targets.h"
#include "support/tensors.h"

namespace headwise {
namespace {

using testing_support::amx_projection;
using testing_support::contract_projection;
using testing_support::filled;
using testing_support::for_numbers_of_every_size;
using testing_support::kFusedTargets;
using testing_support::same_bits;
using testing_support::target_name;
using testing_support::targets;
using testing_support::TargetTest;
using testing_support::uniform;
using testing_support::with_nans_and_infinities;

bool wants_the_processors() {
  const char* const choice = std::getenv("HEADWISE_BF16");
  return choice != nullptr && std::string_view(choice) == "amx";
}

Linear linear_of(std::size_t in, std::size_t out, bool bias = true) {
  return Linear::create({in, out, bias}, RandomStream(Seed{7}, 1)).value();
}

Tensor<float, 3> projected(const Linear& linear, const Tensor<float, 3>& x,
                           const Executor& executor) {
  return linear.in_bf16().value().forward(x.view(), "x", executor).value();
}

Tensor<float, 3> projected(const Linear& linear, const Tensor<float, 3>& x) {
  return projected(linear, x, Executor::default_executor());
}

class AmxTest : public TargetTest {
 protected:
  void SetUp() override {
    TargetTest::SetUp();
    const std::string products = bf16_projections().value();
    if (!products.starts_with("amx")) {
      ASSERT_TRUE(wants_the_processors()) << products;
      GTEST_SKIP() << "AMX is not available here";
    }
  }
};

TEST_P(AmxTest, HoldsForEverySizeAroundTiles) {
  for (std::size_t in = 1; in <= 40; ++in) {
    for (std::size_t out = 1; out <= 40; ++out) {
      const Linear linear = linear_of(in, out);
      const auto x = uniform<3>({1, 1 + (7 * in + out) % 40, in}, 10);
      ASSERT_TRUE(same_bits(projected(linear, x), amx_projection(x, linear)))
          << x.extent(1) << " x " << in << " x " << out;
    }
  }
  for (std::size_t rows = 1; rows <= 40; ++rows) {
    for (const std::size_t in : {31u, 32u, 33u, 40u}) {
      for (const std::size_t out : {15u, 16u, 17u, 33u}) {
        const Linear linear = linear_of(in, out);
        const auto x = uniform<3>({1, rows, in}, 10);
        ASSERT_TRUE(same_bits(projected(linear, x), amx_projection(x, linear)))
            << rows << " x " << in << " x " << out;
      }
    }
  }
}

TEST_P(AmxTest, HoldsForLargeSizes) {
  for (const std::size_t in : {127u, 129u, 768u, 2201u}) {
    const Linear linear = linear_of(in, 145);
    for (const std::size_t rows : {1u, 131u, 150u}) {
      const auto x = uniform<3>({1, rows, in}, 11);
      EXPECT_TRUE(same_bits(projected(linear, x), amx_projection(x, linear)))
          << rows << " x " << in;
    }
  }
}

TEST_P(AmxTest, HoldsForNumbersOfEverySize) {
  for_numbers_of_every_size(
      19, [](const Linear& linear, const auto& x, double range) {
        EXPECT_TRUE(same_bits(projected(linear, x), amx_projection(x, linear)))
            << "range " << range << ", bias " << linear.has_bias();
      });
}

TEST_P(AmxTest, HoldsWithNaNsAndInfinities) {
  const Linear linear = linear_of(141, 33);
  auto x = with_nans_and_infinities(20);
  x(0, 17, 8) = kNaN;
  const auto y = projected(linear, x);
  EXPECT_TRUE(same_bits(y, amx_projection(x, linear)));
  EXPECT_TRUE(std::isfinite(y(0, 0, 0)) && std::isfinite(y(0, 7, 0)) &&
              std::isfinite(y(0, 16, 0)))
      << "a NaN stays in its row";
}

// The zeros behind the last pair are not multiplied by the next strip's bias.
TEST_P(AmxTest, AFeatureThatIsNaNStaysAlone) {
  for (const std::size_t in : {1u, 31u, 32u, 33u}) {
    auto weight = uniform<2>({34, in}, 21);
    auto bias = filled<float, 1>({34}, -0.0f);
    bias(16) = kMinusInf;
    bias(33) = kNaN;
    weight(17, in - 1) = kNaN;
    const Linear linear =
        Linear::from_params(std::move(weight), std::move(bias)).value();
    const auto x = uniform<3>({1, 18, in}, 22);
    const auto y = projected(linear, x);
    EXPECT_TRUE(same_bits(y, amx_projection(x, linear)));
    for (const std::size_t o : {0u, 15u, 18u, 32u}) {
      EXPECT_TRUE(std::isfinite(y(0, 17, o))) << in << ", feature " << o;
    }
  }
}

TEST_P(AmxTest, ASumThatEndsAsMinusZeroIsPlusZeroBeforeTheBias) {
  // -1e-30 * 1e-30 is flushed to -0.
  const auto x = filled<float, 3>({1, 2, 64}, -1e-30f);
  const Linear linear = Linear::from_params(filled<float, 2>({5, 64}, 1e-30f),
                                            filled<float, 1>({5}, -0.0f))
                            .value();
  EXPECT_TRUE(
      same_bits(projected(linear, x), filled<float, 3>({1, 2, 5}, 0.0f)));
}

TEST_P(AmxTest, ARowHasItsBitsAloneAndOnAnyNumberOfThreads) {
  const Linear linear = linear_of(257, 193);
  const auto x = uniform<3>({1, 300, 257}, 15);
  const auto want = projected(linear, x, Executor::with_threads(1).value());
  for (const std::size_t threads : {2u, 3u, 7u}) {
    EXPECT_TRUE(same_bits(
        projected(linear, x, Executor::with_threads(threads).value()), want))
        << threads << " threads";
  }
  const Linear rounded = linear.in_bf16().value();
  for (const std::size_t row : {0u, 31u, 65u, 131u, 132u, 299u}) {
    const TensorView<const float, 3> alone(&x(0, row, 0), {1, 1, 257});
    EXPECT_TRUE(same_bits(rounded.forward(alone).value().elements(),
                          {&want(0, row, 0), 193}))
        << "row " << row;
  }
}

TEST_P(AmxTest, SideBySideIsTheSameAsOneByOne) {
  const std::array<Linear, 3> linears = {linear_of(200, 70).in_bf16().value(),
                                         linear_of(200, 33, false),
                                         linear_of(200, 40).in_bf16().value()};
  const auto x = uniform<3>({2, 75, 200}, 17);
  const Executor executor = Executor::with_threads(3).value();
  std::vector<Tensor<float, 3>> got;
  std::vector<Projection> projections;
  for (const Linear& linear : linears) {
    got.push_back(filled<float, 3>({2, 75, linear.out_features()}, kNaN));
    projections.push_back({&linear, got.back().view()});
  }
  ASSERT_TRUE(project(x.view(), projections, {}, executor));
  for (std::size_t n = 0; n < linears.size(); ++n) {
    EXPECT_TRUE(same_bits(got[n], linears[n].forward(x.view()).value()))
        << "projection " << n;
  }
}

// The bound of docs/arithmetic.md. No number here is denormal.
TEST_P(AmxTest, StaysWithinItsBound) {
  for (const std::size_t in : {1u, 2u, 129u, 768u}) {
    const Linear linear = linear_of(in, 37);
    const auto x = uniform<3>({1, 19, in}, 14);
    const auto got = projected(linear, x);
    const double u = 0x1p-8;
    const double blocks = std::ceil(static_cast<double>(in) / 32);
    const double factor = (1 + u) * (1 + u) - 1 + (16 + 1 + blocks) * 0x1p-24;
    for (std::size_t l = 0; l < 19; ++l) {
      for (std::size_t o = 0; o < 37; ++o) {
        double sum = linear.bias()(o);
        double magnitudes = 0;
        for (std::size_t i = 0; i < in; ++i) {
          const double product =
              double{x(0, l, i)} * double{linear.weight()(o, i)};
          sum += product;
          magnitudes += std::abs(product);
        }
        const double y = got(0, l, o);
        EXPECT_LE(std::abs(y - sum),
                  factor * magnitudes + 0x1p-24 * std::abs(y));
      }
    }
  }
}

TEST_P(AmxTest, TheGradientOfTheInputIsAProjectionToo) {
  const Linear linear = linear_of(45, 70);
  auto transposed = Tensor<float, 2>::create({45, 70}).value();
  for (std::size_t i = 0; i < 45; ++i) {
    for (std::size_t o = 0; o < 70; ++o) {
      transposed(i, o) = linear.weight()(o, i);
    }
  }
  const auto d_y = uniform<3>({1, 19, 70}, 25);
  EXPECT_TRUE(same_bits(
      linear.in_bf16().value().backward_input(d_y.view()).value(),
      amx_projection(d_y, Linear::from_params(std::move(transposed)).value())));
}

TEST_P(AmxTest, ItsBitsAreItsOwn) {
  const Linear linear = linear_of(300, 33);
  const auto x = uniform<3>({1, 9, 300}, 23);
  EXPECT_FALSE(
      same_bits(projected(linear, x),
                contract_projection(x.view(), linear, Arithmetic::bf16)));
}

// Floats in front of a page that nobody may touch.
class BeforeAWall {
 public:
  explicit BeforeAWall(std::size_t count) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t bytes = count * sizeof(float);
    size_ = (bytes + page - 1) / page * page + page;
    memory_ = mmap(nullptr, size_, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    auto* const wall = static_cast<std::byte*>(memory_) + size_ - page;
    EXPECT_EQ(mprotect(wall, page, PROT_NONE), 0);
    floats_ = reinterpret_cast<float*>(wall - bytes);
  }
  BeforeAWall(const BeforeAWall&) = delete;
  BeforeAWall& operator=(const BeforeAWall&) = delete;
  ~BeforeAWall() { munmap(memory_, size_); }

  float* floats() const { return floats_; }

 private:
  std::size_t size_;
  void* memory_;
  float* floats_;
};

void expect_nothing_behind_is_touched(std::size_t rows, std::size_t in,
                                      std::size_t out) {
  const std::size_t pairs = kernels::count_pairs(in);
  const Linear linear = linear_of(in, out);
  const auto x = uniform<3>({1, rows, in}, 24);
  const BeforeAWall x_pairs(rows * pairs);
  const BeforeAWall y(rows * out);
  const std::size_t strips_size =
      kernels::count_strips(out) * kernels::pair_strip_size(in);
  const BeforeAWall strips(strips_size);
  const Linear rounded = linear.in_bf16().value();
  ASSERT_EQ(rounded.packed().size(), strips_size);
  std::copy_n(rounded.packed().data(), strips_size, strips.floats());
  std::vector<const float*> x_rows;
  std::vector<float*> y_rows;
  const FloatEnvironment environment;
  for (std::size_t r = 0; r < rows; ++r) {
    float* const row = x_pairs.floats() + r * pairs;
    kernels::pair_tile().pack_keys(
        kernels::Rows<const float>{&x(0, r, 0), 1, 0, 1}, in, row);
    x_rows.push_back(row);
    y_rows.push_back(y.floats() + r * out);
  }
  kernels::pair_gemm().multiply({x_rows.data(), 1, y_rows.data(), rows},
                                strips.floats(), pairs, out);
  EXPECT_TRUE(
      same_bits({y.floats(), rows * out}, amx_projection(x, linear).elements()))
      << rows << " x " << in << " x " << out;
}

TEST_P(AmxTest, NothingBehindXTheStripsAndYIsTouched) {
  for (const std::size_t rows : {1u, 15u, 16u, 17u, 33u, 40u}) {
    for (const std::size_t in : {1u, 31u, 32u, 33u, 64u, 66u}) {
      for (const std::size_t out : {1u, 16u, 17u, 33u, 48u}) {
        expect_nothing_behind_is_touched(rows, in, out);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, AmxTest,
                         testing::ValuesIn(targets(kFusedTargets)),
                         target_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(AmxTest);

// Asked for or not, the bits are those of what is said to multiply.
class Bf16ProjectionsTest : public TargetTest {};

TEST_P(Bf16ProjectionsTest, NamesWhatMultiplies) {
  const Linear linear = linear_of(300, 33);
  const auto x = uniform<3>({1, 9, 300}, 23);
  const bool by_amx = bf16_projections().value().starts_with("amx");
  EXPECT_TRUE(same_bits(
      projected(linear, x),
      by_amx ? amx_projection(x, linear)
             : contract_projection(x.view(), linear, Arithmetic::bf16)));
}

INSTANTIATE_TEST_SUITE_P(Targets, Bf16ProjectionsTest,
                         testing::ValuesIn(targets(kFusedTargets)),
                         target_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Bf16ProjectionsTest);

}  // namespace
}  // namespace headwise
