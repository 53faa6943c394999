// The options of `headwise run`, as typed; an empty string is an option that
// was not given.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "cache_flags.h"
#include "operation/layer_choice.h"
#include "operation/operation_flags.h"
#include "operation/qk_norm_flags.h"
#include "operation/rotary_flags.h"
#include "parallel_flags.h"
#include "shell/outcome.h"

namespace headwise::cli {

struct RunFlags {
  std::string query;
  std::string key;
  std::string value;
  std::string params;
  LayerFlags layer;
  std::optional<std::size_t> num_heads;
  std::optional<std::size_t> num_kv_heads;
  std::string layout;
  std::string dtype;
  OperationFlags operation;
  QkNormFlags qk_norm;
  RotaryFlags rotary;
  std::string form = "per-head";
  std::string out;
  std::string attn_weights;
  std::string lse;
  std::string scores_out;
  std::string scores_stage;
  std::string keep_mask_out;
  std::string past_key;
  std::string past_value;
  std::string present_dir;
  CacheFlags cache;
  ParallelFlags parallel;
  std::string d_output;
  std::string d_attn_weights;
  std::string grad_dir;

  bool is_layer() const { return !params.empty(); }
  bool ragged() const { return !operation.offsets.empty(); }
  // Whether heads stand before rows in the files: rows first is how ragged
  // batches are kept.
  bool heads_first() const {
    return layout.empty() ? !ragged() : layout == "bhld";
  }
};

// Errors: usage, for options that do not go together.
Outcome check_flags(const RunFlags& flags);

}  // namespace headwise::cli
