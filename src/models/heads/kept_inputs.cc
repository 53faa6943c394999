#include "heads/kept_inputs.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "base/copy_of.h"
#include "heads/key_heads.h"

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

}  // namespace

double KeptInputs::scale_of(const HookedHeads& heads) {
  return heads.options.scale.value_or(
      1 / std::sqrt(static_cast<double>(heads.query.extent(3))));
}

Result<std::shared_ptr<const KeptInputs>> KeptInputs::of(
    const HookedHeads& heads, bool with_values, std::optional<double> scale) {
  auto made = std::make_shared<KeptInputs>();
  const auto of_queries = [&](TensorView<const float, 4> x) {
    return heads.kv_groups.even() ? copy_of(x)
                                  : key_head_of_each(x, heads.kv_groups);
  };
  HEADWISE_ASSIGN(made->query_, copy_of(heads.query));
  HEADWISE_ASSIGN(made->key_, of_queries(heads.key));
  if (with_values) {
    HEADWISE_ASSIGN(made->value_, of_queries(heads.value));
  }
  made->options_ = heads.options;
  if (const double own = scale_of(heads); scale && *scale != own) {
    for (float& number : made->query_.elements()) {
      number *= static_cast<float>(own / *scale);
    }
    made->options_.scale = scale;
  }
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
