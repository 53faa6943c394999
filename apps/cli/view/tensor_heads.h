// Heads of tensors: their queries and keys from files or of a node of an ONNX
// model, or their attention weights.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "headwise/attention/spec.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/base/tensor_view.h"
#include "headwise/inspect/trace.h"
#include "headwise/steps/shape.h"
#include "viewed_heads.h"

namespace headwise::cli {

class TensorHeads : public ViewedHeads {
 public:
  OperationOptions operation_options() const override;

 protected:
  explicit TensorHeads(const ViewedFlags& flags)
      : command_(flags.command), sequence_(flags.sequence.value_or(0)) {}

  // Of the first layer: (B, L, H, D).
  virtual Extents<4> query_extents() const = 0;
  virtual Extents<4> key_extents() const = 0;
  // Without separators and query lengths.
  virtual OperationOptions plain_operation() const { return {}; }

  // `batched`: whether the keys have an axis B.
  Status read_statistics(const ViewedFlags& flags, bool batched);
  // `related`: something places the queries among the keys, as with a key/value
  // cache: the keys are then of the same sequence.
  Status read_labels(const ViewedFlags& flags, const AttentionShape& shape,
                     bool related);

  // Checks the options against the sizes of the first layer: those of the
  // sequence that is shown.
  Result<AttentionShape> check();
  // Then: of the whole batch.
  const AttentionSpec& spec() const { return *spec_; }
  // The steps between the heads and their attention weights, by their shapes.
  std::vector<TracedStep> list(TensorView<const float, 4> query,
                               TensorView<const float, 4> key,
                               bool rotated) const;

 private:
  std::string command_;  // prefix of error messages
  std::size_t sequence_ = 0;
  std::optional<AttentionSpec> spec_;
  std::optional<Tensor<bool, 2>> separators_;
  std::optional<Tensor<std::int64_t, 1>> query_lengths_;
};

}  // namespace headwise::cli
