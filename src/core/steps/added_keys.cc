#include "headwise/steps/added_keys.h"

#include "base/check.h"
#include "base/out_of_memory.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

// (Hkv, size): a missing pair of one that is given, or one that does not fit.
Status check_pair(const AddedKeys& added, const CallContext& context) {
  const AttentionShape& shape = context.shape;
  const bool keys = added.bias_k.data() != nullptr;
  const bool values = added.bias_v.data() != nullptr;
  if (!keys && values) {
    return value_error(context.operation, "added_keys.bias_k", "not given",
                       "a key for each value of bias_v");
  }
  if (!keys) {
    return ok();
  }
  HEADWISE_TRY(check_shape(context.operation, "added_keys.bias_k",
                           added.bias_k.extents(), "(Hkv, D)",
                           {{shape.Hkv, shape.D}}));
  if (shape.Dv == 0) {
    return ok();
  }
  if (!values) {
    return value_error(context.operation, "added_keys.bias_v", "not given",
                       "a value for each key of bias_k");
  }
  return check_shape(context.operation, "added_keys.bias_v",
                     added.bias_v.extents(), "(Hkv, Dv)",
                     {{shape.Hkv, shape.Dv}});
}

// element(n, g, c) for every added key.
template <class Element>
Result<Tensor<float, 3>> tensor_of(const Extents<3>& extents,
                                   const Element& element) {
  HEADWISE_ASSIGN(auto tensor, Tensor<float, 3>::create_unset(extents));
  for (std::size_t n = 0; n < extents[0]; ++n) {
    for (std::size_t g = 0; g < extents[1]; ++g) {
      for (std::size_t c = 0; c < extents[2]; ++c) {
        tensor(n, g, c) = element(n, g, c);
      }
    }
  }
  return tensor;
}

}  // namespace

Result<BoundAddedKeys> BoundAddedKeys::bind(const AddedKeys& added,
                                            const CallContext& context) try {
  HEADWISE_TRY(check_pair(added, context));
  BoundAddedKeys bound;
  bound.bias_k_ = added.bias_k;
  if (context.shape.Dv != 0) {
    bound.bias_v_ = added.bias_v;
  }
  bound.zero_attn_ = added.zero_attn;
  return bound;
} catch (...) {
  return caught_out_of_memory();
}

Result<Tensor<float, 3>> BoundAddedKeys::keys(const AttentionShape& shape) const
    try {
  return tensor_of({count(), shape.Hkv, shape.D},
                   [&](std::size_t n, std::size_t g, std::size_t d) {
                     return key(n, g, d);
                   });
} catch (...) {
  return caught_out_of_memory();
}

Result<Tensor<float, 3>> BoundAddedKeys::values(
    const AttentionShape& shape) const try {
  return tensor_of({count(), shape.Hkv, shape.Dv},
                   [&](std::size_t n, std::size_t g, std::size_t c) {
                     return value(n, g, c);
                   });
} catch (...) {
  return caught_out_of_memory();
}

}  // namespace headwise::inline HEADWISE_ABI
