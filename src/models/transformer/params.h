// The parameters of a transformer, read by the names of its description.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/module/multi_head_attention.h"
#include "headwise/run/executor.h"
#include "headwise/steps/embedding.h"
#include "headwise/steps/layer_norm.h"
#include "headwise/steps/projection.h"
#include "headwise/transformer/transformer.h"
#include "headwise/version.h"
#include "interop/param_file.h"
#include "interop/param_rows.h"
#include "transformer/description.h"

namespace headwise::inline HEADWISE_ABI::transformer {

using Rows = Tensor<float, 3>;  // (1, rows, features)

struct RowNorm : LayerNormParams {
  // Where the factor is 1 + weight, for training: what the file has.
  Tensor<float, 1> less_one{};

  void write_weight();  // of less_one
};

// The norms around attention, or around a feed-forward network.
struct PartNorms {
  std::optional<RowNorm> before{};
  std::optional<RowNorm> after{};
  std::optional<RowNorm> behind{};
};

struct Network {
  Linear up;  // with a gate its rows, and then those of up
  Linear down;
};

struct FeedForward {
  std::vector<Network> networks;  // one, the experts, or none
  bool gated = false;
  std::optional<Linear> router{};
};

// Projected distances: of each head a product with (2 * span, head_dim).
struct DistanceParams {
  std::vector<Linear> keys{};
  std::vector<Linear> queries{};
};

struct CrossAttention {
  PartNorms around{};
  MultiHeadAttention attention;
};

struct Block {
  PartNorms around_attention{};
  MultiHeadAttention attention;
  Tensor<float, 1> sinks{};  // (heads), or none
  DistanceParams distances{};
  // Of a pruned layer: its heads' columns of StackParams::relative.
  Tensor<float, 2> relative{};
  std::optional<CrossAttention> cross{};
  PartNorms around_feed_forward{};
  FeedForward feed_forward;
};

// The products of the rows around a row, one after another, with all of them.
struct Convolution {
  Linear linear;  // (hidden_size, width * hidden_size)
  RowNorm norm{};
};

// For training: the tables as the file has them.
struct TrainedTables {
  Embedding tokens;
  std::optional<Embedding> positions{};
  std::optional<Embedding> token_types{};
};

struct StackParams {
  std::optional<TrainedTables> tables{};
  ParamRows tokens{};  // without tables
  // What is added to a token, (positions, size): of each of the first token
  // types, or of all; none without positions.
  std::vector<Tensor<float, 2>> places{};
  Tensor<float, 2> token_types{};  // (types, size), of a model without places
  std::optional<Linear> token_projection{};
  std::optional<Linear> placed_projection{};
  std::optional<RowNorm> embedding_norm{};
  std::optional<Linear> embedding_projection{};
  Tensor<float, 2> relative{};  // (buckets, heads), or none
  // Of each layer; layers that share their parameters have one block.
  std::vector<std::shared_ptr<Block>> layers{};
  std::optional<Convolution> convolution{};  // behind the first layer
  std::optional<RowNorm> final_norm{};

  // The vector of a token. `to` has embedding_size numbers.
  void copy_token(std::size_t id, float* to) const;
  // After tables changed: what is added up from positions and token types, and
  // the parts of `relative`.
  void write_places();
  void write_relative(const StackSpec& stack);
};

struct Params {
  StackParams stack{};
  std::optional<StackParams> encoder{};
  std::optional<Linear> unembedding_projection{};
  std::optional<Linear> unembedding{};
  bool ties_unembedding = false;  // it is the table of tokens

  // For training: after that table changed.
  void tie_unembedding();
};

// For training, matrices and tables are kept as the file has them, too. Errors:
// io_error; bad_data for tensors that are missing, not finite or of
// other shapes, and for some that no part has; out_of_memory.
Result<Params> read_params(const ParamFile& file,
                           const Description& description,
                           const ModelAccess& access);

}  // namespace headwise::inline HEADWISE_ABI::transformer
