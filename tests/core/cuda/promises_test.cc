// What must hold on the GPU bit by bit: a row's output is a function of its own
// keys, and of no masked one.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "attention/attention_call.h"
#include "cuda/device_tensors.h"

namespace headwise::testing_support {
namespace {

constexpr std::size_t kSizes[] = {64, 96, 128, 192, 256};

Inputs<float> inputs_of(const AttentionShape& shape, std::uint32_t stream) {
  auto in = random_inputs(shape, stream);
  for (auto* tensor : {&in.query, &in.key, &in.value}) {
    for (float& x : tensor->elements()) {
      x = widened(narrowed<BFloat16>(x));
    }
  }
  return in;
}

DeviceResult on_gpu(const Inputs<float>& in, const AttentionOptions& options) {
  return attend_on_device<BFloat16>(in, options).value();
}

// Rows [first, first + count) of batch element b.
Tensor<float, 4> rows_of(const Tensor<float, 4>& x, std::size_t b,
                         std::size_t first, std::size_t count) {
  auto rows = filled<float, 4>({1, count, x.extent(2), x.extent(3)}, 0);
  const std::size_t row = x.extent(2) * x.extent(3);
  std::copy_n(x.data() + (b * x.extent(1) + first) * row, count * row,
              rows.data());
  return rows;
}

// Blocks of keys are those of the sequence, wherever a tile of queries begins
// and however many of them a mask hides.
TEST(GpuPromisesTest, ARowsBitsDependNeitherOnBatchNorPaddingNorChunks) {
  HEADWISE_NEEDS_GPU();
  for (const std::size_t D : kSizes) {
    const AttentionShape shape = {
        .B = 3, .Hq = 4, .Hkv = 2, .Lq = 700, .Lkv = 700, .D = D, .Dv = D};
    const auto in = inputs_of(shape, 7);
    const auto lengths = tensor_of<std::int64_t, 1>({3}, {700, 413, 129});
    for (const Mask& mask : {causal(), window(150, 0), window(70, 30)}) {
      const DeviceResult whole =
          on_gpu(in, {.mask = mask & key_lengths(lengths.view())});
      for (std::size_t b = 0; b < 3; ++b) {
        const auto length = static_cast<std::size_t>(lengths(b));
        for (const std::size_t first : {std::size_t{0}, std::size_t{37}}) {
          const DeviceResult alone = on_gpu(
              {rows_of(in.query, b, first, length - first),
               rows_of(in.key, b, 0, length), rows_of(in.value, b, 0, length)},
              {.mask = mask, .query_start = static_cast<std::int64_t>(first)});
          EXPECT_TRUE(same_bits(
              alone.output, rows_of(whole.output, b, first, length - first)))
              << "D " << D << ", b " << b << ", first query " << first;
        }
      }
    }
  }
}

// Padding on the left, as key_starts() says it, is no padding.
TEST(GpuPromisesTest, LeftPaddingHasTheBitsOfNone) {
  HEADWISE_NEEDS_GPU();
  for (const std::size_t D : kSizes) {
    const AttentionShape shape = {
        .B = 1, .Hq = 2, .Hkv = 1, .Lq = 90, .Lkv = 400, .D = D, .Dv = D};
    const auto in = inputs_of(shape, 37);
    constexpr std::size_t kPadding = 77;
    const auto starts = tensor_of<std::int64_t, 1>({1}, {kPadding});
    const DeviceResult padded = on_gpu(in, {.mask = key_starts(starts.view())});
    const DeviceResult alone =
        on_gpu({rows_of(in.query, 0, 0, 90),
                rows_of(in.key, 0, kPadding, 400 - kPadding),
                rows_of(in.value, 0, kPadding, 400 - kPadding)},
               {});
    EXPECT_TRUE(same_bits(alone.output, padded.output)) << D;
  }
}

TEST(GpuPromisesTest, ARaggedBatchHasTheBitsOfThePaddedOne) {
  HEADWISE_NEEDS_GPU();
  for (const std::size_t D : kSizes) {
    const AttentionShape shape = {
        .B = 2, .Hq = 2, .Hkv = 1, .Lq = 300, .Lkv = 300, .D = D, .Dv = D};
    const auto in = inputs_of(shape, 11);
    const auto lengths = tensor_of<std::int64_t, 1>({2}, {211, 300});
    const DeviceResult padded =
        on_gpu(in, {.mask = key_lengths(lengths.view())});
    const auto join = [&](const Tensor<float, 4>& x) {
      auto joined = filled<float, 4>({1, 511, x.extent(2), x.extent(3)}, 0);
      const auto first = rows_of(x, 0, 0, 211);
      const auto second = rows_of(x, 1, 0, 300);
      std::copy_n(first.data(), first.size(), joined.data());
      std::copy_n(second.data(), second.size(), joined.data() + first.size());
      return joined;
    };
    const auto offsets = tensor_of<std::int64_t, 1>({3}, {0, 211, 511});
    const DeviceResult ragged =
        on_gpu({join(in.query), join(in.key), join(in.value)},
               {.offsets = offsets.view()});
    EXPECT_TRUE(same_bits(ragged.output, join(padded.output))) << "D " << D;
  }
}

TEST(GpuPromisesTest, WhatAMaskHidesIsNeverRead) {
  HEADWISE_NEEDS_GPU();
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const AttentionShape shape = {
      .B = 2, .Hq = 2, .Hkv = 2, .Lq = 200, .Lkv = 300, .D = 64, .Dv = 64};
  const auto in = inputs_of(shape, 13);
  const EveryMask every(shape);
  for (const auto& [name, mask] : every.masks()) {
    const AttentionOptions options = {.mask = mask, .query_start = 20};
    const auto bound =
        BoundMask::bind(mask, {shape, options.query_start, "test"}).value();
    auto clean = clone(in);
    auto poisoned = clone(in);
    for (std::size_t b = 0; b < shape.B; ++b) {
      for (std::size_t h = 0; h < shape.Hkv; ++h) {
        for (std::size_t j = 0; j < shape.Lkv; ++j) {
          bool seen = false;
          for (std::size_t i = 0; i < shape.Lq; ++i) {
            seen = seen || bound.may_attend(b, h, i, j);
          }
          for (std::size_t d = 0; d < shape.D && !seen; ++d) {
            poisoned.key(b, j, h, d) = d % 2 == 0 ? kNaN : kInfinity;
            poisoned.value(b, j, h, d) = d % 2 == 0 ? kInfinity : kNaN;
          }
        }
      }
    }
    EXPECT_TRUE(same_bits(on_gpu(poisoned, options).output,
                          on_gpu(clean, options).output))
        << name;
  }
}

// The gradients of one sequence in a batch, and alone.
TEST(GpuPromisesTest, AGradientsBitsDependNeitherOnBatchNorPadding) {
  HEADWISE_NEEDS_GPU();
  for (const std::size_t D : kSizes) {
    const AttentionShape shape = {
        .B = 2, .Hq = 4, .Hkv = 2, .Lq = 333, .Lkv = 333, .D = D, .Dv = D};
    const auto in = inputs_of(shape, 19);
    auto d_output = uniform<4>({2, 333, 4, D}, 23, -1, 1);
    const std::size_t length = 210;
    const std::size_t row = 4 * D;
    std::fill_n(d_output.data() + length * row, (333 - length) * row, 0.0F);
    const auto lengths = tensor_of<std::int64_t, 1>(
        {2}, {static_cast<std::int64_t>(length), 333});
    const auto whole =
        differentiate_on_device<BFloat16>(
            in, d_output, {.mask = causal() & key_lengths(lengths.view())})
            .value();
    const auto alone =
        differentiate_on_device<BFloat16>(
            {rows_of(in.query, 0, 0, length), rows_of(in.key, 0, 0, length),
             rows_of(in.value, 0, 0, length)},
            rows_of(d_output, 0, 0, length), {.mask = causal()})
            .value();
    EXPECT_TRUE(same_bits(alone.query, rows_of(whole.query, 0, 0, length)))
        << D;
    EXPECT_TRUE(same_bits(alone.key, rows_of(whole.key, 0, 0, length))) << D;
    EXPECT_TRUE(same_bits(alone.value, rows_of(whole.value, 0, 0, length)))
        << D;
  }
}

// Queries that see nothing and keys that nobody sees may hold anything.
TEST(GpuPromisesTest, WhatAMaskHidesReachesNoGradient) {
  HEADWISE_NEEDS_GPU();
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  const AttentionShape shape = {
      .B = 2, .Hq = 2, .Hkv = 1, .Lq = 200, .Lkv = 300, .D = 64, .Dv = 64};
  const auto in = inputs_of(shape, 29);
  const auto d_output = uniform<4>({2, 200, 2, 64}, 31, -1, 1);
  const EveryMask every(shape, true);
  for (const auto& [name, mask] : every.masks()) {
    const AttentionOptions options = {.mask = mask, .query_start = 20};
    const auto bound =
        BoundMask::bind(mask, {shape, options.query_start, "test"}).value();
    auto poisoned = clone(in);
    auto poisoned_d_output = clone(d_output);
    auto clean_d_output = clone(d_output);
    const auto seen = [&](std::size_t b, std::size_t j) {
      for (std::size_t i = 0; i < shape.Lq; ++i) {
        if (bound.may_attend(b, 0, i, j) || bound.may_attend(b, 1, i, j)) {
          return true;
        }
      }
      return false;
    };
    const auto sees = [&](std::size_t b, std::size_t h, std::size_t i) {
      for (std::size_t j = 0; j < shape.Lkv; ++j) {
        if (bound.may_attend(b, h, i, j)) {
          return true;
        }
      }
      return false;
    };
    for (std::size_t b = 0; b < shape.B; ++b) {
      for (std::size_t j = 0; j < shape.Lkv; ++j) {
        for (std::size_t d = 0; d < 64 && !seen(b, j); ++d) {
          poisoned.key(b, j, 0, d) = kNaN;
          poisoned.value(b, j, 0, d) = kNaN;
        }
      }
      for (std::size_t i = 0; i < shape.Lq; ++i) {
        for (std::size_t h = 0; h < shape.Hq; ++h) {
          for (std::size_t d = 0; d < 64 && !sees(b, h, i); ++d) {
            poisoned.query(b, i, h, d) = kNaN;
            poisoned_d_output(b, i, h, d) = kNaN;
          }
        }
      }
    }
    const auto differentiate = [&](const Inputs<float>& inputs,
                                   const Tensor<float, 4>& upstream) {
      return differentiate_on_device<BFloat16>(inputs, upstream, options)
          .value();
    };
    const auto want = differentiate(in, clean_d_output);
    const auto got = differentiate(poisoned, poisoned_d_output);
    EXPECT_TRUE(same_bits(got.query, want.query)) << name;
    EXPECT_TRUE(same_bits(got.key, want.key)) << name;
    EXPECT_TRUE(same_bits(got.value, want.value)) << name;
  }
}

// A key that some rows see and others don't poisons the former only.
TEST(GpuPromisesTest, ANaNReachesTheRowsThatAttendToItAndNoOther) {
  HEADWISE_NEEDS_GPU();
  for (const std::size_t D : kSizes) {
    const AttentionShape shape = {
        .B = 1, .Hq = 1, .Hkv = 1, .Lq = 320, .Lkv = 320, .D = D, .Dv = D};
    const auto in = inputs_of(shape, 17);
    auto poisoned = clone(in);
    constexpr std::size_t kKey = 150;
    constexpr std::size_t kFeature = 5;
    poisoned.value(0, kKey, 0, kFeature) =
        std::numeric_limits<float>::quiet_NaN();
    const AttentionOptions options = {.mask = causal()};
    const DeviceResult want = on_gpu(in, options);
    const DeviceResult got = on_gpu(poisoned, options);
    for (std::size_t i = 0; i < shape.Lq; ++i) {
      for (std::size_t d = 0; d < D; ++d) {
        if (i >= kKey && d == kFeature) {
          ASSERT_TRUE(std::isnan(got.output(0, i, 0, d))) << i;
        } else {
          ASSERT_EQ(got.output(0, i, 0, d), want.output(0, i, 0, d))
              << "D " << D << ", row " << i << ", feature " << d;
        }
      }
    }
  }
}

}  // namespace
}  // namespace headwise::testing_support
