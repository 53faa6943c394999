// The options of the operation, the same in every command, as they are typed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "shell/option_row.h"

namespace headwise::cli {

class Arguments;

// As typed; an empty string is an option that was not given.
struct OperationFlags {
  std::size_t threads = 0;  // 0: all
  std::string arithmetic;
  bool causal = false;
  std::string window;
  std::string query_start;
  std::string offsets;
  std::string query_offsets;
  std::string key_lengths;
  std::string key_starts;
  std::string key_padding;
  std::string documents;
  std::string query_documents;
  std::string mask;
  std::string mask_axes;
  std::string dialect;
  std::string scoring;
  std::string score_weight;
  std::optional<double> scale;
  std::optional<double> softcap;
  std::string bias;
  std::string bias_axes;
  std::string t5_bias;
  std::optional<std::uint64_t> t5_max_distance;
  bool t5_bidirectional = false;
  std::string alibi;
  std::string sinks;
  std::string bias_k;  // with --bias-v, a key of every sequence
  std::string bias_v;
  bool zero_attn = false;
  std::string empty_rows;
  std::string keep_mask;
  std::optional<double> dropout;
  std::uint64_t dropout_seed = 0;
  std::string sequence_ids;

  bool additive() const { return scoring == "additive"; }
};

// Threads, masks and scores; add_operation_options() adds dropout.
void add_weight_options(const Arguments& command, OperationFlags& flags);
void add_operation_options(const Arguments& command, OperationFlags& flags);

// Those that only some commands have, for a heading of their own.
OptionRow layout_option(std::string& layout);  // axes of files of heads
OptionRow score_weight_option(OperationFlags& flags);
std::vector<OptionRow> ragged_options(OperationFlags& flags);
std::vector<OptionRow> added_key_options(OperationFlags& flags);

// The row of every option of the operation, wherever a command lists it.
std::vector<OptionRow> all_operation_options(OperationFlags& flags);

}  // namespace headwise::cli
