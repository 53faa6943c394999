// The upstream gradients of `headwise run` and the gradients by name.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headwise/attention/backward.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/module/multi_head_attention.h"
#include "operation/tensor_file.h"
#include "run_call.h"

namespace headwise::cli {

// The gradients of the loss that the files hold.
struct UpstreamFiles {
  Array d_output;
  Tensor<float, 4> d_attn_weights{};  // empty: none was given

  TensorView<const float, 4> d_attn_weights_view() const {
    return d_attn_weights.size() == 0 ? TensorView<const float, 4>()
                                      : d_attn_weights.view();
  }
};

// `output` and `attn_weights` are the extents of what the forward pass gave.
// Errors: those of the files; shape_mismatch in the words of the options.
Result<UpstreamFiles> read_upstream(const RunFlags& flags, bool batched,
                                    std::vector<std::size_t> output,
                                    const Extents<4>& attn_weights);

// One file each. open_d_output() lets the caller read parts. Without
// --d-attn-weights the tensor is empty.
Result<TensorFile> open_d_output(const RunFlags& flags, bool batched,
                                 std::vector<std::size_t> output);
Result<Tensor<float, 4>> read_d_attn_weights(const RunFlags& flags,
                                             bool batched,
                                             const Extents<4>& attn_weights);

// The tensor under its name, without the axis B where `batched` is false.
template <std::size_t Rank>
NamedGradient named(std::string name, Tensor<float, Rank>&& gradient,
                    bool batched) {
  std::vector<std::size_t> shape(gradient.extents().begin() + (batched ? 0 : 1),
                                 gradient.extents().end());
  const Extents<1> flat = {gradient.size()};
  return {std::move(name), std::move(shape),
          std::move(gradient).with_extents(flat)};
}

// The gradient of a bias by the axes that its file has.
struct BiasGradient {
  std::vector<std::size_t> shape;
  Tensor<float, 1> elements;
  TensorView<float, 4> by_scores{};  // no view: there is no bias
};
Result<BiasGradient> make_bias_gradient(const Bias& bias);

// The layer's, all of them. Errors: out_of_memory.
Result<std::vector<NamedGradient>> named_gradients(
    MultiHeadAttentionGradients gradients, const Bias& bias, bool batched);

// The names of all files that write_gradients() may write.
std::vector<std::string> gradient_files();

// Makes the folder that the option names, where it is missing. Errors:
// io_error.
Status make_folder(std::string_view option, const std::string& folder);

// Makes the folder where it is missing, then writes NAME.npy for each. Errors:
// io_error.
Status write_gradients(const std::string& folder,
                       const std::vector<NamedGradient>& gradients);

}  // namespace headwise::cli
