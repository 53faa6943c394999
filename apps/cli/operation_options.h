// The options of the operation, the same in every command: how they are typed,
// and the files behind them.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "headwise/attention/spec.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/interop/array.h"

namespace headwise::cli {

// As typed; an empty string is an option that was not given.
struct OperationFlags {
  std::size_t threads = 0;  // 0: all
  bool causal = false;
  std::string window;
  std::string query_start;
  std::string key_lengths;
  std::string key_starts;
  std::string key_padding;
  std::string documents;
  std::string query_documents;
  std::string mask;
  std::string mask_axes;
  std::optional<double> scale;
  std::optional<double> softcap;
  std::string bias;
  std::string bias_axes;
  std::string alibi;
  std::string empty_rows = "zero";
  std::string keep_mask;
  std::optional<double> dropout;
  std::uint64_t dropout_seed = 0;
  std::string sequence_ids;
};

void add_operation_options(CLI::App& command, OperationFlags& flags);

// The flags with their files read. options() looks into this object.
class OperationInputs {
 public:
  // `batched`: whether the tensors of the call have an axis B; `num_heads`:
  // its query heads. Errors: those of the files, and invalid_argument with the
  // name of the option.
  static Result<OperationInputs> read(const OperationFlags& flags, bool batched,
                                      std::size_t num_heads);

  AttentionOptions options() const;

 private:
  Status read_query_start(const OperationFlags& flags);
  Status read_key_lengths(const OperationFlags& flags, bool batched);
  Status read_documents(const OperationFlags& flags, bool batched);
  Status read_masks(const OperationFlags& flags, bool batched);
  Status read_bias(const OperationFlags& flags);
  Status read_alibi(const OperationFlags& flags, std::size_t num_heads);
  Status read_dropout(const OperationFlags& flags, bool batched);

  OperationFlags flags_;
  std::optional<Executor> executor_;
  QueryStart query_start_;
  Tensor<std::int64_t, 1> query_starts_;
  std::optional<Tensor<std::int64_t, 1>> key_lengths_;
  std::optional<Tensor<std::int64_t, 2>> key_lengths_of_queries_;
  std::optional<Mask> window_;
  std::optional<Tensor<std::int64_t, 1>> key_starts_;
  std::optional<Tensor<std::int64_t, 2>> documents_;
  std::optional<Tensor<std::int64_t, 2>> query_documents_;
  std::optional<Tensor<bool, 2>> key_padding_;
  std::optional<Tensor<bool, 1>> mask_;
  NamedAxes mask_axes_;
  std::optional<Tensor<float, 1>> bias_;
  NamedAxes bias_axes_;
  std::optional<Tensor<float, 1>> alibi_;
  std::optional<Tensor<bool, 4>> keep_mask_;
  std::optional<Tensor<std::int64_t, 1>> sequence_ids_;
};

}  // namespace headwise::cli
