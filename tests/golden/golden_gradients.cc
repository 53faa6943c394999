#include "golden/golden_gradients.h"

#include "headwise/attention/backward.h"
#include "headwise/attention/forward.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

// Sums over axis 0 and over axis 1.
Got sums_of(const Tensor<float, 2>& tensor, std::size_t axis) {
  std::vector<float> sums(tensor.extent(1 - axis));
  for (std::size_t n = 0; n < sums.size(); ++n) {
    double sum = 0;
    for (std::size_t m = 0; m < tensor.extent(axis); ++m) {
      sum += static_cast<double>(axis == 0 ? tensor(m, n) : tensor(n, m));
    }
    sums[n] = static_cast<float>(sum);
  }
  return {{sums.size()}, sums};
}

void add_params(const std::string& name, const LinearGradients& gradients,
                Computed& to) {
  const std::string weight = "grad_" + name + ".weight";
  to.tensors[weight] = got_of(gradients.weight);
  to.tensors[weight + "_sum0"] = sums_of(gradients.weight, 0);
  to.tensors[weight + "_sum1"] = sums_of(gradients.weight, 1);
  to.tensors["grad_" + name + ".bias"] = got_of(gradients.bias);
}

}  // namespace

MultiHeadAttentionGradients add_layer_gradients(
    const GoldenCase& golden, const MultiHeadAttention& layer,
    TensorView<const float, 3> query, TensorView<const float, 3> key,
    TensorView<const float, 3> value, const AttentionOptions& options,
    const LayerNames& names, Computed& to) {
  auto saved = layer.forward_for_backward(query, key, value, options).value();
  const auto& extents = saved.result().output.extents();
  Tensor<float, 3> d_output;
  if (golden.rank("grad_output") == 3) {
    d_output = golden.floats<3>("grad_output");
  } else {
    d_output = golden.floats<2>("grad_output").with_extents(extents);
  }
  auto gradients = layer.backward(saved, d_output.view()).value();
  to.tensors["grad_" + names.query] = got_of(gradients.query);
  to.tensors["grad_" + names.key] = got_of(gradients.key);
  to.tensors["grad_" + names.value] = got_of(gradients.value);
  add_params(names.prefix + "q", gradients.w_q, to);
  add_params(names.prefix + "k", gradients.w_k, to);
  add_params(names.prefix + "v", gradients.w_v, to);
  if (gradients.w_o) {
    add_params(names.prefix + names.out, *gradients.w_o, to);
  }
  return gradients;
}

void add_operation_gradients(const GoldenCase& golden,
                             TensorView<const float, 4> query,
                             TensorView<const float, 4> key,
                             TensorView<const float, 4> value,
                             const AttentionOptions& options, bool heads_first,
                             Computed& to) {
  const auto [B, Lq, Hq, D] = query.extents();
  auto output = Tensor<float, 4>::create({B, Lq, Hq, value.extent(3)}).value();
  auto rows = Tensor<float, 4>::create({B, Hq, Lq, 2}).value();
  attention(
      query, key, value,
      AttentionOutputs{.output = output.view(), .softmax_rows = rows.view()},
      options)
      .value();
  const auto d_output = golden.floats<4>("grad_output");
  auto d_query = Tensor<float, 4>::create(query.extents()).value();
  auto d_key = Tensor<float, 4>::create(key.extents()).value();
  auto d_value = Tensor<float, 4>::create(value.extents()).value();
  attention_backward(
      {query, key, value, view_of(output), view_of(rows),
       heads_first ? as_blhd(view_of(d_output)) : view_of(d_output)},
      {d_query.view(), d_key.view(), d_value.view()}, options)
      .value();
  const auto laid_out = [&](const Tensor<float, 4>& blhd) {
    return got_of(
        copy_of(heads_first ? as_bhld(view_of(blhd)) : view_of(blhd)));
  };
  to.tensors["grad_q"] = laid_out(d_query);
  to.tensors["grad_k"] = laid_out(d_key);
  to.tensors["grad_v"] = laid_out(d_value);
}

}  // namespace headwise::testing_support
