// The results of the operation for a layer, and the part that a page shows: one
// sequence, head by head.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "headwise/attention/spec.h"
#include "headwise/attention/statistics.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/base/tensor_view.h"
#include "headwise/inspect/view_page.h"
#include "inspect/page/view_head.h"

namespace headwise::inline HEADWISE_ABI {

// The memory of attention weights, which the next layer may take.
struct WeightsMemory {
  Tensor<float, 4> weights{};
  Tensor<float, 4> rounded{};
};

class ShownLayer {
 public:
  // Of either kind; the views of the layer must outlive this object, too.
  // Errors: those of ViewPage.
  static Result<ShownLayer> of(const ViewedLayer& layer,
                               const AttentionOptions& options,
                               const OperationOptions& operation_options,
                               std::size_t sequence,
                               std::optional<bool> elements,
                               WeightsMemory memory = {});
  // Query (B, Lq, Hq, D), key (B, Lkv, Hkv, D). `elements` is that of the
  // page's settings; the options must outlive the layer. Errors: those of
  // ViewPage.
  static Result<ShownLayer> create(TensorView<const float, 4> query,
                                   TensorView<const float, 4> key,
                                   const AttentionOptions& options,
                                   const OperationOptions& operation_options,
                                   std::size_t sequence,
                                   std::optional<bool> elements,
                                   WeightsMemory memory = {});
  // Leaves the layer without its attention weights. Those of a large batch are
  // not kept.
  WeightsMemory take_memory();

  const AttentionSpec& spec() const { return spec_; }
  std::size_t sequence() const { return sequence_; }
  // The number of queries of the sequence, without padding.
  std::size_t queries() const { return query_.extent(1); }
  std::size_t keys() const { return key_.extent(1); }
  std::size_t head_dim() const { return query_.extent(3); }
  // Whether the page holds query and key, from which it computes the attention
  // weights; otherwise it holds these.
  bool elements() const { return elements_; }
  // Whether it has the attention weights of all pairs of a head at once.
  bool maps() const { return maps_; }
  // Whether the page holds every number exactly because it cannot compute them:
  // it has no scores, or not all that they are made of. The attention weights
  // that it shows are rounded.
  bool all_numbers() const { return !maps_ || !can_compute_; }
  // Whether only the attention weights are known.
  bool weights_only() const { return weights_only_; }
  // Whether the page can show what its keys add to the output.
  bool has_norms() const {
    return key_norms_.data() != nullptr &&
           (maps_ || norm_map_.data() != nullptr);
  }
  bool has_gradient() const { return gradient_.given(); }
  bool has_integrated() const { return !integrated_.empty(); }
  bool has_integrated_by_layer() const { return !integrated_by_layer_.empty(); }

  // The keys that are separators, ascending.
  std::vector<std::size_t> separators() const;

  ViewedHead head(std::size_t h) const;
  // (queries, keys). Only with maps().
  TensorView<const float, 2> weights(std::size_t h) const;
  TensorView<const float, 2> key(std::size_t kv_head) const;

 private:
  explicit ShownLayer(AttentionSpec spec) : spec_(std::move(spec)) {}
  static Result<ShownLayer> of_weights(TensorView<const float, 4> attn_weights,
                                       AttentionOptions options,
                                       OperationOptions operation_options,
                                       std::size_t sequence);
  Status take_norms(const ViewedLayer& layer);
  Status take_gradient(const ViewedGradient& gradient);
  Status take_integrated(const ViewedLayer& layer);
  Status compute(TensorView<const float, 4> query,
                 TensorView<const float, 4> key, AttentionOptions options,
                 OperationOptions operation_options);
  // What the page computes from rounded queries and keys.
  Status compute_rounded(AttentionOptions options,
                         OperationOptions operation_options);

  AttentionSpec spec_;
  std::size_t sequence_ = 0;
  bool elements_ = true;
  bool maps_ = true;
  bool can_compute_ = true;           // from query, key and log-sum-exp
  bool weights_only_ = false;         // without query and key
  TensorView<const float, 4> query_;  // (1, queries, Hq, D)
  TensorView<const float, 4> key_;    // (1, keys, Hkv, D)
  // For the whole batch.
  AttentionStatistics statistics_;
  Tensor<float, 3> lse_;  // (B, Hq, Lq)
  Tensor<float, 4> computed_weights_;
  TensorView<const float, 4> attn_weights_;  // (B, Hq, Lq, Lkv), with maps
  // The same of rounded queries and keys, for the sequence alone; with maps and
  // elements.
  Tensor<float, 3> rounded_lse_;
  Tensor<float, 4> rounded_weights_;
  TensorView<const float, 3> key_norms_;  // (B, Hq, Lkv)
  TensorView<const float, 4> norm_map_;   // (B, Hq, rows, columns)
  ViewedGradient gradient_;
  std::span<const double> integrated_;  // (Hq), or empty
  std::span<const double> integrated_by_layer_;
  Tensor<bool, 2> has_weight_;  // weights_only: the mask
};

}  // namespace headwise::inline HEADWISE_ABI
