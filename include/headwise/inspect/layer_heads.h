// The heads of one layer in numbers: what pictures and lists of heads show.
//
// Example:
//   LayerHeads heads = LayerHeads::create({.query = q, .key = k}, {}).value();
//   for (std::size_t h = 0; h < heads.size(); ++h) {
//     std::optional<double> entropy =
//         heads.head(h).value().pooled.mean[index_of(Statistic::entropy)];
//   }
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <utility>

#include "headwise/attention/spec.h"
#include "headwise/attention/statistics_options.h"
#include "headwise/base/hidden.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/inspect/view_page.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// Means over the queries that have a key; empty if no query has one.
struct PooledRows {
  std::array<std::optional<double>, kStatistics> mean{};  // by Statistic
  std::size_t empty_rows = 0;  // queries that have no key
};

struct LayerHead {
  std::size_t number = 0;   // in the layer before heads were pruned
  std::size_t kv_head = 0;  // number of the key and value head that it reads
  PooledRows pooled{};
  // (map_size(Lq), map_size(Lkv)): the largest attention weight of each cell.
  // NaN: every pair of the cell is masked.
  Tensor<float, 2> map{};
};

// Every pair of one head.
struct WholeHead {
  Tensor<float, 3> attn_weights{};  // (1, Lq, Lkv)
  Tensor<bool, 3> allowed{};        // (1, Lq, Lkv), true = may attend
};

class LayerHeads {
 public:
  // Computes the heads of one sequence of the batch. The views of the layer and
  // of the options must outlive the LayerHeads. Errors: those of
  // ViewPage::add().
  static Result<LayerHeads> create(
      const ViewedLayer& layer, const AttentionOptions& options,
      const OperationOptions& operation_options = {}, std::size_t sequence = 0);

  std::size_t size() const;  // Hq
  // Those of the sequence.
  std::size_t queries() const;
  std::size_t keys() const;

  // Head h < size() of the tensors. Errors: out_of_memory.
  Result<LayerHead> head(std::size_t h) const;
  // Errors: unsupported for more than kMostMapLength queries or keys;
  // out_of_memory.
  Result<WholeHead> whole(std::size_t h) const;

 private:
  friend class ViewPage;
  struct HEADWISE_HIDDEN Parts;
  explicit LayerHeads(Hidden<Parts> parts) : parts_(std::move(parts)) {}
  Hidden<Parts> parts_;
};

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
