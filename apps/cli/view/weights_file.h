// Attention weights of several layers from one file that another program wrote.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/base/tensor_view.h"

namespace headwise::cli {

struct LayerOfWeights {
  std::size_t number = 0;
  TensorView<const float, 4> attn_weights;  // (B, H, Lq, Lkv)
};

struct WeightsFile {
  std::vector<Tensor<float, 5>> arrays;  // that the layers look into
  std::vector<LayerOfWeights> layers;    // by number, at least one
  // Rows that are NaN throughout, as a softmax over masked keys alone gives:
  // they are read as 0, a query without a key.
  std::size_t nan_rows = 0;
  std::array<std::size_t, 4> first_nan{};  // layer, sequence, head, query
  bool batched = true;                     // whether the file has an axis B
};

// A .npy, or the only array of a .npz or .safetensors: (B, H, Lq, Lkv), (H, Lq,
// Lkv) or (N, B, H, Lq, Lkv). Or one entry per layer, (B, H, Lq, Lkv) or (H,
// Lq, Lkv), whose names differ only in the layer's number. Errors, about
// --attn-weights: those of the readers; bad_data for names without such a
// number; shape_mismatch for other axes, for layers of different batches or
// lengths, and for an empty file.
Result<WeightsFile> read_weights_file(const std::string& path);

}  // namespace headwise::cli
