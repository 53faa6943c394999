// The options of `headwise run`, as typed; an empty string is an option that
// was not given.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "cache_flags.h"
#include "operation/dialect_flags.h"
#include "operation/layer_choice.h"
#include "operation/operation_flags.h"
#include "operation/qk_norm_flags.h"
#include "operation/rotary_flags.h"
#include "parallel_flags.h"
#include "shell/command_line.h"

namespace headwise::cli {

struct RunFlags {
  CommandLine line;
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
  std::string form;
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
  // Whether the axis of heads comes before that of rows in the files.
  bool heads_first() const { return cli::heads_first(operation, layout); }
  // The form of the attention weights: as asked for, or as the dialect returns
  // them.
  std::string weights_form() const {
    const Dialect* const dialect = dialect_of(operation);
    if (!form.empty() || dialect == nullptr) {
      return form.empty() ? "per-head" : form;
    }
    return dialect->weights_after_dropout && operation.dropout ? "after-dropout"
           : dialect->averages_heads                           ? "mean"
                                                               : "per-head";
  }
  // Whether the weights that are written are the mean of those after dropout.
  bool averages_dropped_weights() const {
    const Dialect* const dialect = dialect_of(operation);
    return form.empty() && dialect != nullptr && dialect->averages_heads &&
           weights_form() == "after-dropout";
  }
};

// Errors: usage, for options that do not go together.
Status check_flags(const RunFlags& flags);

}  // namespace headwise::cli
