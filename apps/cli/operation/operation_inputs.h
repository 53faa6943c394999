// The options of the operation with the files they name, and what they make of
// a call.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "call_part.h"
#include "headwise/attention/spec.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/distribute/shard_plan.h"
#include "headwise/interop/dialects.h"
#include "operation_flags.h"
#include "window_sides.h"

namespace headwise::cli {

// The flags with their files read. The options look into this object.
class OperationInputs {
 public:
  // `batched`: whether the tensors of the call have an axis B (a ragged batch
  // has sequences all the same); `num_heads`: its query heads. Errors: those of
  // the files, and invalid_argument with the name of the option.
  static Result<OperationInputs> read(const OperationFlags& flags, bool batched,
                                      std::size_t num_heads);

  // Reads --mask and --key-padding by the rules of --dialect, and sets what it
  // says about the call; without --dialect does nothing. Call it before
  // options(). Errors: those of read_mask(), and for options that the dialect
  // lacks.
  Status use_dialect(const MaskSizes& sizes, const DialectCall& call);
  // Whether query_start is the dialect's.
  bool places_queries() const { return places_queries_; }

  AttentionOptions options() const;
  // Those of a part, without its query_start and offsets. They look into `part`
  // too.
  AttentionOptions options(CallPart& part) const;
  OperationOptions operation_options() const;

  // The keys of --causal and --window, for a plan of the work.
  KeyBand key_band() const;
  // Whether a query may attend to keys after its own position.
  bool looks_ahead() const {
    return !flags_.causal && !(window_ && window_->right == 0);
  }

 private:
  Status read_query_start();
  Status read_key_lengths(bool batched);
  Status read_alibi(std::size_t num_heads);
  Status read_files(bool batched, std::size_t num_heads);
  Status read_masks(bool batched);
  Status check_dialect() const;
  Status place_queries(const MaskSizes& sizes, const DialectCall& call);
  Status take(std::string_view option, DialectMask mask, const MaskSizes& sizes,
              std::optional<Tensor<bool, 1>>& place, NamedAxes& axes);
  EmptyRow empty_rows() const;
  Mask mask(CallPart& part) const;
  T5Bias t5_bias() const;
  Dropout dropout(const CallPart& part) const;

  OperationFlags flags_;
  const Dialect* dialect_ = nullptr;
  DialectCall dialect_call_;
  bool places_queries_ = false;
  std::optional<Executor> executor_;
  std::optional<Tensor<std::int64_t, 1>> offsets_;
  std::optional<Tensor<std::int64_t, 1>> query_offsets_;
  QueryStart query_start_;
  std::optional<Tensor<std::int64_t, 1>> query_starts_;
  std::optional<Tensor<std::int64_t, 1>> key_lengths_;
  std::optional<Tensor<std::int64_t, 2>> key_lengths_of_queries_;
  std::optional<WindowSides> window_;
  std::optional<Tensor<std::int64_t, 1>> key_starts_;
  std::optional<Tensor<std::int64_t, 2>> documents_;
  std::optional<Tensor<std::int64_t, 2>> query_documents_;
  std::optional<Tensor<bool, 2>> key_padding_;
  std::optional<Tensor<bool, 1>> dialect_padding_;
  NamedAxes dialect_padding_axes_;
  std::optional<Tensor<bool, 1>> mask_;
  NamedAxes mask_axes_;
  std::optional<Tensor<float, 2>> score_weight_;
  std::optional<Tensor<float, 1>> bias_;
  NamedAxes bias_axes_;
  std::optional<Tensor<float, 2>> t5_bias_;
  std::optional<Tensor<float, 1>> alibi_;
  std::optional<Tensor<float, 1>> sinks_;
  std::optional<Tensor<float, 2>> bias_k_;
  std::optional<Tensor<float, 2>> bias_v_;
  std::optional<Tensor<bool, 4>> keep_mask_;
  std::optional<Tensor<std::int64_t, 1>> sequence_ids_;
};

}  // namespace headwise::cli
