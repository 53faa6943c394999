#include "heads/kept_inputs.h"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "base/copy_of.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

// The elements that a bias looks at, from its first to its last.
std::span<const float> elements_of(const Bias& bias) {
  std::size_t last = 0;
  const auto extents = bias.axes().extents();
  for (std::size_t axis = 0; axis < extents.size(); ++axis) {
    if (extents[axis] == 0) {
      return {};
    }
    last += (extents[axis] - 1) *
            static_cast<std::size_t>(bias.axes().strides()[axis]);
  }
  return {bias.data(), last + 1};
}

// The head of the group of each query head.
Result<Tensor<float, 4>> head_of_each(TensorView<const float, 4> x,
                                      const std::vector<std::size_t>& groups,
                                      std::size_t heads) {
  const auto [B, L, Hkv, D] = x.extents();
  HEADWISE_ASSIGN(auto all, Tensor<float, 4>::create_unset({B, L, heads, D}));
  std::size_t h = 0;
  for (std::size_t g = 0; g < Hkv; ++g) {
    for (std::size_t n = 0; n < groups[g]; ++n, ++h) {
      for (std::size_t l = 0; l < L; ++l) {
        std::copy_n(&x(0, l, g, 0), D, &all(0, l, h, 0));
      }
    }
  }
  return all;
}

}  // namespace

Result<std::shared_ptr<const KeptInputs>> KeptInputs::of(
    const HookedHeads& heads, const MultiHeadAttention& attention,
    bool with_values) {
  auto made = std::make_shared<KeptInputs>();
  const MultiHeadAttentionConfig& config = attention.config();
  const auto of_queries = [&](TensorView<const float, 4> x) {
    return config.kv_group_sizes.empty()
               ? copy_of(x)
               : head_of_each(x, config.kv_group_sizes, config.num_heads);
  };
  HEADWISE_ASSIGN(made->query_, copy_of(heads.query));
  HEADWISE_ASSIGN(made->key_, of_queries(heads.key));
  if (with_values) {
    HEADWISE_ASSIGN(made->value_, of_queries(heads.value));
  }
  made->options_ = heads.options;
  made->options_.offsets = {};
  made->options_.arithmetic = Arithmetic::exact;
  if (const Bias& bias = heads.options.bias; bias.given()) {
    const auto elements = elements_of(bias);
    HEADWISE_ASSIGN(made->bias_,
                    Tensor<float, 1>::create_unset({elements.size()}));
    std::ranges::copy(elements, made->bias_.data());
    made->options_.bias = dense(made->bias_.data(), bias.axes());
  }
  return std::shared_ptr<const KeptInputs>(std::move(made));
}

}  // namespace headwise::inline HEADWISE_ABI
