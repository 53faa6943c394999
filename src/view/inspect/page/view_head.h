// One head of one sequence as a page holds it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "headwise/attention/spec.h"
#include "headwise/attention/statistics_options.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor_view.h"
#include "headwise/inspect/layer_heads.h"
#include "headwise/inspect/weights_statistics.h"
#include "inspect/page/view_gradient.h"

namespace headwise::inline HEADWISE_ABI {

// Number of top keys per query that a page holds.
inline constexpr std::size_t kPageTopKeys = 8;

// The statistics per query that a page holds if it has the attention weights of
// all pairs at once, from which it computes the others.
inline constexpr std::array<Statistic, 2> kRowsBesideMap = {
    Statistic::entropy, Statistic::distance};

// One head.
struct ViewedHead {
  TensorView<const float, 2> query;        // (Lq, D)
  TensorView<const float, 2> key;          // (Lkv, D)
  TensorView<const float, 2> rows;         // (Lq, kStatistics)
  TensorView<const float, 2> map_largest;  // (map_size(Lq), map_size(Lkv))
  TensorView<const float, 2> map_mean;     // the same
  TensorView<const float, 1> columns;      // (Lkv): sums
  TensorView<const float, 1> lse{};        // (Lq), with elements
  // With few enough queries and keys:
  TensorView<const float, 2> attn_weights{};  // (Lq, Lkv)
  // ... and elements: what the page computes from these in binary16.
  TensorView<const float, 2> rounded_weights{};
  TensorView<const float, 1> rounded_lse{};
  // With all_numbers:
  TensorView<const std::int64_t, 2> top_keys{};  // (Lq, n), n >= kPageTopKeys
  TensorView<const float, 2> top_weights{};      // (Lq, n)
  TensorView<const float, 1> key_norms{};        // (Lkv), if there are any
  TensorView<const float, 2> norm_map{};         // with many pairs
  std::optional<HeadGradient> gradient{};
  std::optional<double> integrated{};
  std::optional<double> integrated_by_layer{};
  const AttentionSpec& spec;
  std::size_t h;  // its number in the tensors
  std::int64_t query_start = 0;
  bool elements = true;       // the page holds query and key
  bool all_numbers = false;   // the page cannot compute them
  bool weights_only = false;  // only the attention weights are known
  bool separators = true;     // there are any
  bool next = true;           // a query may attend to the key after it
};

// The number of the key and value head that head h of the tensors reads, where
// h has this `number` in its layer. It is the same number if each head has its
// own keys.
std::size_t kv_head_number(const AttentionShape& shape, std::size_t h,
                           std::size_t number);

// Empty, too, where no query may attend to the keys that a statistic adds up: 0
// would say something of the head.
PooledRows pool_rows(const ViewedHead& head);

// A head's encoded blocks and its numbers. The page computes the missing
// blocks.
struct EncodedHead {
  std::string rows;
  std::optional<std::string> columns{};
  std::optional<std::string> top{};
  std::optional<std::string> small{};
  std::optional<std::string> map{};
  std::optional<std::string> query{};
  std::optional<std::string> lse{};
  std::optional<std::string> norms{};
  PooledRows pooled{};
  std::optional<UnevenRows> uneven{};        // with weights_only
  std::optional<std::string> uneven_sums{};  // where there are such rows
  std::optional<std::string> norm_small{};   // with many pairs
  std::optional<EncodedGradient> gradient{};
  std::optional<double> integrated{};
  std::optional<double> integrated_by_layer{};
  // With norms: the mean over the queries that have a key of the sum of weight
  // times norm; empty without such a query.
  std::optional<double> mean_norm{};
  // The largest difference between an attention weight that the page shows and
  // the true one.
  double error = 0;
  // The largest difference between the log-sum-exp that it holds and the true
  // one.
  double lse_error = 0;
};

// Throws std::bad_alloc.
EncodedHead encode_head(const ViewedHead& head);

std::string encode_row(TensorView<const float, 1> row);
std::string encode_rows_of(TensorView<const float, 2> rows);

// The rows in binary16. Throws std::bad_alloc.
std::string encode_halves(TensorView<const float, 2> rows);

// x: a sequence (1, L, H, D) of the tensor `name`, whose first row is `first` =
// {batch, row} there. Errors: bad_data, with the element's index in that
// tensor, for an element that is not finite or above `largest`.
Status check_elements(std::string_view name, TensorView<const float, 4> x,
                      const Extents<2>& first, float largest);

}  // namespace headwise::inline HEADWISE_ABI
