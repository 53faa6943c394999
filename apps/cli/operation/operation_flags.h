// The options of the operation, the same in every command, as they are typed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

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

// Under the heading of the arguments. --layout, the axes of files of heads:
void add_layout_option(const Arguments& arguments, std::string& layout);
// --offsets and --query-offsets:
void add_ragged_options(const Arguments& arguments, OperationFlags& flags);
void add_score_weight_option(const Arguments& arguments, OperationFlags& flags);
// --bias-k, --bias-v and --zero-attn:
void add_added_key_options(const Arguments& arguments, OperationFlags& flags);

}  // namespace headwise::cli
