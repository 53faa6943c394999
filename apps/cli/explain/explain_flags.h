// The options of `headwise explain`, as typed; an empty string is an option
// that was not given.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "operation/layer_choice.h"
#include "operation/operation_flags.h"
#include "operation/qk_norm_flags.h"
#include "operation/rotary_flags.h"
#include "shell/command_line.h"

namespace headwise::cli {

struct ExplainFlags {
  CommandLine line;
  std::string model;
  std::optional<std::string> sentence;
  std::string example;
  std::string tokens;
  std::string target_tokens;
  std::string query;  // vectors in place of tokens
  std::string key;
  std::string value;
  std::int64_t pad_id = 0;
  std::string padding_by = "length";
  std::optional<std::size_t> vocab_size;
  std::optional<std::size_t> embed_dim;
  std::optional<std::size_t> num_heads;
  std::optional<std::size_t> num_kv_heads;
  std::string mask_kind;
  OperationFlags operation;
  QkNormFlags qk_norm;
  RotaryFlags rotary;
  std::uint64_t seed = 0;
  std::string params;
  LayerFlags layer;
  bool decode = false;
  bool shapes_only = false;
  std::string step;
  bool json = false;
  std::string out;
  std::string picture;
  std::size_t sequence = 0;
};

}  // namespace headwise::cli
