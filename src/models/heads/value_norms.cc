#include <cmath>
#include <string_view>

#include "base/out_of_memory.h"
#include "heads/head_values.h"
#include "headwise/heads/norm_statistics.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kValueNorms = "value_norms";

float norm_of(const float* f, std::size_t features) {
  // Independent sums: one would wait for each addition.
  constexpr std::size_t kSums = 4;
  double sums[kSums] = {};
  for (std::size_t e = 0; e < features; ++e) {
    const auto number = static_cast<double>(f[e]);
    sums[e % kSums] += number * number;
  }
  return static_cast<float>(
      std::sqrt((sums[0] + sums[1]) + (sums[2] + sums[3])));
}

}  // namespace

Result<Tensor<float, 3>> value_norms(const MultiHeadAttention& layer,
                                     TensorView<const float, 4> value,
                                     const Executor& executor) {
  return catching_out_of_memory([&]() -> Result<Tensor<float, 3>> {
    HEADWISE_ASSIGN(auto values,
                    HeadValues::create(kValueNorms, layer, value.extents()));
    HEADWISE_TRY(values.keep_norms_only());
    const std::size_t B = value.extent(0);
    const std::size_t Lkv = value.extent(1);
    HEADWISE_ASSIGN(auto norms,
                    Tensor<float, 3>::create({B, values.num_heads(), Lkv}));
    for (std::size_t h = 0; h < values.num_heads(); ++h) {
      HEADWISE_ASSIGN(const auto f, values.of(h, value, 0, Lkv, executor));
      constexpr std::size_t kKeysAtLeast = 64;
      executor.parallel_for(
          B * Lkv, kKeysAtLeast, [&](std::size_t begin, std::size_t end) {
            const std::size_t features = f.extent(2);
            for (std::size_t row = begin; row < end; ++row) {
              norms(row / Lkv, h, row % Lkv) =
                  norm_of(f.data() + row * features, features);
            }
          });
    }
    return norms;
  });
}

}  // namespace headwise::inline HEADWISE_ABI
