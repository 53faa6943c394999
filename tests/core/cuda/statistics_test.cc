// The GPU's statistics against those of whole matrices in binary64, for every
// mask.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "attention/attention_call.h"
#include "attention/naive_statistics.h"
#include "cuda/device_tensors.h"

namespace headwise::testing_support {
namespace {

struct DeviceStatistics {
  Tensor<float, 4> rows;
  Tensor<std::int64_t, 4> top_keys;
  Tensor<float, 4> top_weights;
  Tensor<float, 3> columns;
  Tensor<float, 4> map_mean;
  Tensor<float, 4> map_largest;
};

template <class T, std::size_t Rank>
struct OnDevice {
  explicit OnDevice(const Extents<Rank>& extents)
      : host(filled<T, Rank>(extents, T{42})),
        array(host.data(), host.size()) {}

  TensorView<T, Rank> view() const { return {array.data(), host.extents()}; }
  Tensor<T, Rank> copy() {
    std::ranges::copy(array.copy(), host.data());
    return std::move(host);
  }

  Tensor<T, Rank> host;
  DeviceArray<T> array;
};

DeviceStatistics statistics_on_device(const Inputs<float>& in,
                                      const AttentionOptions& options,
                                      const StatisticsOptions& statistics) {
  const DeviceHalf<BFloat16> q(in.query);
  const DeviceHalf<BFloat16> k(in.key);
  const DeviceHalf<BFloat16> v(in.value);
  const auto [B, Lq, Hq, D] = in.query.extents();
  const std::size_t Lkv = in.key.extent(1);
  const DeviceHalf<BFloat16> output(Extents<4>{B, Lq, Hq, in.value.extent(3)});
  const std::size_t top = statistics.top_keys;
  OnDevice<float, 4> rows({B, Hq, Lq, kStatistics});
  OnDevice<std::int64_t, 4> top_keys({B, Hq, Lq, top});
  OnDevice<float, 4> top_weights({B, Hq, Lq, top});
  OnDevice<float, 3> columns({B, Hq, Lkv});
  OnDevice<float, 4> mean({B, Hq, map_size(Lq), map_size(Lkv)});
  OnDevice<float, 4> largest({B, Hq, map_size(Lq), map_size(Lkv)});
  const DeviceOptions on_device(tensors_of(in), options,
                                {.statistics = statistics});
  attention(q.view(), k.view(), v.view(),
            AttentionOutputsOf<BFloat16>{
                .output = output.view(),
                .statistics = {rows.view(), top_keys.view(), top_weights.view(),
                               columns.view(), mean.view(), largest.view()}},
            on_device.get(), on_device.operation_options())
      .value();
  expect_cuda(cudaDeviceSynchronize());
  return {rows.copy(),    top_keys.copy(), top_weights.copy(),
          columns.copy(), mean.copy(),     largest.copy()};
}

template <class Got, class Want>
void expect_near(const Got& got, const Want& want, double relative,
                 const std::string& name) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t n = 0; n < want.size(); ++n) {
    const double expected = want.data()[n];
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(got.data()[n])) << name << " " << n;
    } else {
      ASSERT_NEAR(got.data()[n], expected, relative * (1 + std::abs(expected)))
          << name << " " << n;
    }
  }
}

// Every key stands where its weight does, none twice, in order.
void expect_top_keys(const DeviceStatistics& got,
                     const Tensor<double, 4>& weights) {
  const auto [B, Hq, Lq, top] = got.top_keys.extents();
  for (std::size_t row = 0; row < B * Hq * Lq; ++row) {
    const double* of_row = weights.data() + row * weights.extent(3);
    std::vector<double> sorted(of_row, of_row + weights.extent(3));
    std::ranges::sort(sorted, std::greater<>());
    for (std::size_t rank = 0; rank < top; ++rank) {
      const std::int64_t key = got.top_keys.data()[row * top + rank];
      const float weight = got.top_weights.data()[row * top + rank];
      const double expected = rank < sorted.size() ? sorted[rank] : 0;
      if (key < 0) {
        ASSERT_EQ(weight, 0);
        ASSERT_LT(expected, 1e-30);
      } else {
        ASSERT_NEAR(weight, expected, 1e-5);
        ASSERT_NEAR(of_row[key], weight, 1e-5);
      }
    }
  }
}

class GpuStatisticsTest : public testing::TestWithParam<AttentionShape> {};

TEST_P(GpuStatisticsTest, AreThoseOfTheWholeMatrixForEveryMask) {
  HEADWISE_NEEDS_GPU();
  const AttentionShape shape = GetParam();
  auto in = random_inputs(shape, 41);
  in = {rounded<BFloat16>(in.query), rounded<BFloat16>(in.key),
        rounded<BFloat16>(in.value)};
  const auto separators = coin_tosses<2>({shape.B, shape.Lkv}, 43, 0.1);
  auto lengths = filled<std::int64_t, 1>({shape.B}, 0);
  for (std::size_t b = 0; b < shape.B; ++b) {
    lengths(b) = static_cast<std::int64_t>(shape.Lq - b * shape.Lq / 3);
  }
  const EveryMask every(shape, true);
  for (const auto& [name, mask] : every.masks()) {
    const AttentionOptions options = {
        .mask = mask, .query_start = 3, .attn_weights = AttnWeights::per_head};
    const StatisticsOptions statistics = {.rows = true,
                                          .top_keys = 40,
                                          .columns = true,
                                          .map = true,
                                          .separators = separators.view(),
                                          .query_lengths = lengths.view()};
    const auto wide = widened(in);
    const auto whole = reference(wide, options);
    const auto spec =
        AttentionSpec::create(shape, options, {.statistics = statistics})
            .value();
    const auto want = NaiveStatisticsOf(whole, spec).run();
    AttentionOptions without_weights = options;
    without_weights.attn_weights = AttnWeights::none;
    const auto got = statistics_on_device(in, without_weights, statistics);
    expect_near(got.rows, want.rows, 3e-5, name + ": rows");
    expect_near(got.columns, want.columns, 3e-5, name + ": columns");
    expect_near(got.map_mean, want.map_mean, 1e-5, name + ": map_mean");
    expect_near(got.map_largest, want.map_largest, 1e-5,
                name + ": map_largest");
    expect_top_keys(got, whole.attn_weights);
  }
}

// 16384 x 16384 weights would be 1 GiB.
TEST(GpuStatisticsMemoryTest, ALongSequenceMakesNoMatrix) {
  HEADWISE_NEEDS_GPU();
  const AttentionShape shape = {
      .B = 1, .Hq = 1, .Hkv = 1, .Lq = 16384, .Lkv = 16384, .D = 64, .Dv = 64};
  const auto in = random_inputs(shape, 47);
  cudaMemPool_t pool = nullptr;
  expect_cuda(cudaDeviceGetDefaultMemPool(&pool, 0));
  std::uint64_t bytes = 0;
  expect_cuda(
      cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &bytes));
  const auto got = statistics_on_device(
      in, {.mask = causal()},
      {.rows = true, .top_keys = 8, .columns = true, .map = true});
  expect_cuda(
      cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &bytes));
  EXPECT_LT(bytes, 16U << 20);
  // The weights of a row add up to 1, in whichever way they are added.
  double columns = 0;
  for (const float x : got.columns.elements()) {
    columns += x;
  }
  EXPECT_NEAR(columns / 16384, 1, 1e-5);
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, GpuStatisticsTest,
    testing::Values(
        AttentionShape{
            .B = 3, .Hq = 4, .Hkv = 2, .Lq = 9, .Lkv = 6, .D = 8, .Dv = 8},
        AttentionShape{.B = 2,
                       .Hq = 2,
                       .Hkv = 1,
                       .Lq = 150,
                       .Lkv = 270,
                       .D = 64,
                       .Dv = 64},
        AttentionShape{
            .B = 1, .Hq = 1, .Hkv = 1, .Lq = 70, .Lkv = 33, .D = 20, .Dv = 4}));

}  // namespace
}  // namespace headwise::testing_support
