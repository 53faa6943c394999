// The parameters of a transformer, read by the names of its description.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "headwise/base/any_view.h"
#include "headwise/base/arithmetic.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/interop/safetensors.h"
#include "headwise/module/multi_head_attention.h"
#include "headwise/run/executor.h"
#include "headwise/steps/norm_heads.h"
#include "headwise/steps/projection.h"
#include "headwise/version.h"
#include "transformer/description.h"

namespace headwise::inline HEADWISE_ABI::transformer {

// Of rows: of one head with all features.
struct RowNorm {
  QkNorm norm{};
  HeadNormParams params{};

  // y = norm(x), (1, rows, E); y may be x. Errors: out_of_memory.
  Status apply(TensorView<const float, 3> x, TensorView<float, 3> y,
               const Executor& executor) const;
};

// The norms around attention, or around a feed-forward network.
struct PartNorms {
  std::optional<RowNorm> before{};
  std::optional<RowNorm> after{};
  std::optional<RowNorm> behind{};
};

struct FeedForward {
  Linear up;  // with a gate its rows, and then those of up
  Linear down;
  bool gated = false;
};

struct Block {
  PartNorms around_attention{};
  MultiHeadAttention attention;
  Tensor<float, 1> sinks{};  // (heads), or none
  PartNorms around_feed_forward{};
  FeedForward feed_forward;
};

// A table that is looked up in the bytes of its file.
struct TokenTable {
  AnyView view;  // (rows, features)
  std::shared_ptr<const void> owner;

  std::size_t rows() const { return view.extents()[0]; }
  std::size_t features() const { return view.extents()[1]; }
  void copy_row(std::size_t row, float* to) const;
};

struct Params {
  TokenTable tokens;
  Tensor<float, 2> positions{};    // (positions, size), or none
  Tensor<float, 2> token_types{};  // (types, size), or none
  std::optional<Linear> token_projection{};
  std::optional<RowNorm> embedding_norm{};
  std::optional<Linear> embedding_projection{};
  Tensor<float, 2> relative{};  // (buckets, heads), or none
  // Of each layer; layers that share their parameters have one block.
  std::vector<std::shared_ptr<const Block>> layers{};
  std::optional<RowNorm> final_norm{};
  std::optional<Linear> unembedding_projection{};
  std::optional<Linear> unembedding{};
};

// Errors: io_error; bad_data for tensors that are missing, not finite or of
// other shapes, and for some that no part has; out_of_memory.
Result<Params> read_params(const std::string& folder,
                           const Description& description, FileAccess access,
                           Arithmetic arithmetic);

}  // namespace headwise::inline HEADWISE_ABI::transformer
