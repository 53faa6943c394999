// What a layer's heads attend to, for pictures and tables: each head's numbers
// and a map of at most kLargestMap cells a side, or one head whole. A page
// holds the same numbers (view_page.h).
//
// Example:
//   auto layer = LayerHeads::create(query, key, options).value();
//   for (std::size_t h = 0; h < layer.num_heads(); ++h) {
//     HeadMap head = layer.map(h).value();
//     head.mean[index_of(Statistic::entropy)];
//   }
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <optional>

#include "headwise/attention/spec.h"
#include "headwise/attention/statistics_options.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/base/tensor_view.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

struct HeadMap {
  // Of each statistic, over the queries that have a key; nothing if none has.
  std::array<std::optional<double>, kStatistics> mean{};
  std::size_t empty_rows = 0;  // queries without a key
  // The largest attention weight of each cell, (map_size(Lq), map_size(Lkv));
  // NaN: no pair of the cell may attend.
  Tensor<float, 2> cells{};
};

// All attention weights of one head.
struct WholeHead {
  Tensor<float, 3> attn_weights;  // (1, Lq, Lkv)
  Tensor<bool, 3> allowed;        // (1, Lq, Lkv): whether the pair may attend
};

// One sequence of a layer.
class LayerHeads {
 public:
  // Query (B, Lq, Hq, D), key (B, Lkv, Hkv, D). The views and those of the
  // options must outlive the object. Errors: as ViewPage's.
  static Result<LayerHeads> create(TensorView<const float, 4> query,
                                   TensorView<const float, 4> key,
                                   const AttentionOptions& options,
                                   std::size_t sequence = 0);
  LayerHeads(LayerHeads&& other) noexcept;
  LayerHeads& operator=(LayerHeads&& other) noexcept;
  ~LayerHeads();

  std::size_t num_heads() const;  // Hq
  // The key and value head that head h of the tensors reads, if h has this
  // number in its layer: its own number if every head has its own.
  std::size_t kv_head(std::size_t h, std::size_t number) const;
  // Errors: out_of_memory.
  Result<HeadMap> map(std::size_t h) const;
  // Errors: unsupported for more than kMostMapLength queries or keys;
  // out_of_memory.
  Result<WholeHead> whole(std::size_t h) const;

 private:
  struct Parts;
  explicit LayerHeads(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
