// A node test of ONNX's Attention as a call of ours: its tensors, with the past
// in front of the present, and its options.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "golden/golden_case.h"
#include "headwise/attention/spec.h"
#include "headwise/base/tensor.h"

namespace headwise::testing_support {

class OnnxCall {
 public:
  explicit OnnxCall(const GoldenCase& golden);

  const Tensor<float, 4>& query() const { return query_; }  // (B, Lq, Hq, D)
  const Tensor<float, 4>& key() const { return key_; }
  const Tensor<float, 4>& value() const { return value_; }
  // The views of options look into this object.
  AttentionOptions options() const;

  // Whether a cache gives the same: the queries are the last tokens of each
  // sequence, or no option asks where they stand.
  bool fits_cache() const;
  // Of the plan on that cache.
  AttentionOptions cached_options() const;
  // The keys of sequence b that are no padding.
  std::size_t length(std::size_t b) const {
    return static_cast<std::size_t>(lengths_(b));
  }

 private:
  void read_mask(const GoldenCase& golden);
  // With the first `keys` columns of the mask.
  AttentionOptions options(std::size_t keys) const;

  Tensor<float, 4> query_;
  Tensor<float, 4> key_;
  Tensor<float, 4> value_;
  Tensor<std::int64_t, 1> lengths_;
  Tensor<std::int64_t, 1> starts_;  // of the queries
  Tensor<bool, 4> allowed_;         // empty: none
  Tensor<float, 4> bias_;           // likewise
  AttentionOptions given_;          // by attributes
  bool looks_at_positions_ = false;
};

}  // namespace headwise::testing_support
