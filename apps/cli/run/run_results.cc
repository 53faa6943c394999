#include "run_results.h"

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "headwise/interop/npy.h"
#include "run_gradients.h"

namespace headwise::cli {
namespace {

// Writes without the axes of extent 1 that the input did not have.
template <class T, std::size_t Rank>
Status write(const std::string& path, const Tensor<T, Rank>& tensor,
             bool with_batch, bool with_heads = true) {
  std::vector<std::size_t> extents(tensor.extents().begin(),
                                   tensor.extents().end());
  if (!with_heads) {
    extents.erase(extents.begin() + 1);
  }
  if (!with_batch) {
    extents.erase(extents.begin());
  }
  return write_npy(path, AnyView(tensor.data(), DTypeOf<T>::value, extents));
}

Status write_present(const std::string& folder, const RunResult& result,
                     bool batched) {
  HEADWISE_TRY(make_folder("--present-dir", folder));
  for (const auto& [name, tensor] :
       {std::pair(kPresentKey, &result.present_key),
        {kPresentValue, &result.present_value}}) {
    HEADWISE_TRY(write((std::filesystem::path(folder) / name).string(), *tensor,
                       batched));
  }
  return ok();
}

// (B, 1, Lq, Lkv)
Result<Tensor<float, 4>> mean_over_heads(const Tensor<float, 4>& weights) {
  const auto [B, H, Lq, Lkv] = weights.extents();
  HEADWISE_ASSIGN(auto mean, Tensor<float, 4>::create({B, 1, Lq, Lkv}));
  const std::size_t pairs = Lq * Lkv;
  for (std::size_t n = 0; n < mean.size(); ++n) {
    const float* const first =
        weights.data() + n / pairs * H * pairs + n % pairs;
    float sum = 0;
    for (std::size_t h = 0; h < H; ++h) {
      sum += first[h * pairs];
    }
    mean.data()[n] = sum / static_cast<float>(H);
  }
  return mean;
}

Status write_weights(const RunFlags& flags, const Tensor<float, 4>& weights,
                     bool with_batch) {
  if (!flags.averages_dropped_weights()) {
    return write(flags.attn_weights, weights, with_batch,
                 flags.weights_form() != "mean");
  }
  HEADWISE_ASSIGN(const auto mean, mean_over_heads(weights));
  return write(flags.attn_weights, mean, with_batch, false);
}

}  // namespace

Status write_results(const RunFlags& flags, const RunResult& result,
                     bool batched) {
  HEADWISE_TRY(flags.is_layer()
                   ? write(flags.out, result.output, batched)
                   : write(flags.out, result.output_by_heads, batched));
  if (!flags.attn_weights.empty()) {
    HEADWISE_TRY(
        write_weights(flags, result.attn_weights, batched || flags.ragged()));
  }
  if (!flags.lse.empty()) {
    HEADWISE_TRY(write(flags.lse, result.lse, batched));
  }
  if (!flags.scores_out.empty()) {
    HEADWISE_TRY(
        write(flags.scores_out, result.scores, batched || flags.ragged()));
  }
  if (!flags.keep_mask_out.empty()) {
    HEADWISE_TRY(write(flags.keep_mask_out, result.keep_mask,
                       batched || flags.ragged()));
  }
  if (!flags.present_dir.empty()) {
    HEADWISE_TRY(write_present(flags.present_dir, result, batched));
  }
  return flags.grad_dir.empty()
             ? ok()
             : write_gradients(flags.grad_dir, result.gradients);
}

}  // namespace headwise::cli
