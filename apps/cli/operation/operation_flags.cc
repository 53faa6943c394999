#include "operation_flags.h"

#include <type_traits>

#include "shell/args.h"

namespace headwise::cli {
namespace {

// Adds options to one group of the help.
auto adder(const Arguments& command, const char* group) {
  return [&command, group](const std::string& name, auto& value,
                           const std::string& text) {
    const Option option = command.add_option(name, value, text).group(group);
    if constexpr (std::is_same_v<decltype(value), std::string&>) {
      option.check(not_empty());
    }
    return option;
  };
}

void add_mask_options(const Arguments& command, OperationFlags& flags) {
  const auto add = adder(command, "Masks (they can be combined)");
  command
      .add_flag("--causal", flags.causal,
                "query i attends to keys up to i + query start")
      .group("Masks (they can be combined)");
  add("--window", flags.window,
      "query i attends to LEFT keys before i + query start and RIGHT after it; "
      "inf: no limit")
      .type_name("LEFT,RIGHT");
  add("--query-start", flags.query_start,
      "key position of query 0 (default 0); bottom-right: align the last query "
      "with the last key; F.npy: (B), one number per sequence")
      .type_name("N|bottom-right|F.npy")
      .advanced();
  add("--key-lengths", flags.key_lengths,
      "(B) or (B, Lq): attend to this number of keys, from the first")
      .type_name("F.npy");
  add("--key-starts", flags.key_starts,
      "(B): the first key to attend to, for sequences padded on the left")
      .type_name("F.npy")
      .advanced();
  add("--key-padding", flags.key_padding,
      "(B, Lkv): true or 1 = may attend, 0 = padding")
      .type_name("F.npy")
      .advanced();
  add("--documents", flags.documents,
      "(B, Lkv): non-decreasing document ids; a query attends to its own "
      "document")
      .type_name("F.npy")
      .advanced();
  add("--query-documents", flags.query_documents,
      "(B, Lq): document ids of the queries (default: --documents)")
      .type_name("F.npy")
      .advanced();
  add("--mask", flags.mask, "dense: true or 1 = may attend, 0 = masked")
      .type_name("F.npy");
  add("--mask-axes", flags.mask_axes,
      "axes of --mask, such as B,1,Lkv or Lq,Lkv (default: B,H,Lq,Lkv)")
      .type_name("AXES")
      .advanced();
  add("--empty-rows", flags.empty_rows,
      "output of a query without any key (default zero)")
      .type_name("zero|uniform|nan")
      .check(one_of({"zero", "uniform", "nan"}))
      .advanced();
}

void add_score_options(const Arguments& command, OperationFlags& flags) {
  const auto add = adder(command, "Scores");
  add("--scoring", flags.scoring,
      "how queries and keys are compared: q.k, or w . tanh(q + k) (default: "
      "dot, or as the parameters require)")
      .type_name("dot|additive")
      .check(one_of({"dot", "additive"}))
      .advanced();
  add("--scale", flags.scale, "factor on q.k (default 1/sqrt(D))")
      .type_name("X")
      .check(number_between(-2e38, 2e38, "a number from -2e38 to 2e38"));
  add("--softcap", flags.softcap,
      "replace scores by X * tanh(score / X), before any bias")
      .type_name("X")
      .check(number_between(1e-37, 2e38, "a number from 1e-37 to 2e38"))
      .advanced();
  add("--bias", flags.bias, "values added to the scores; -inf masks")
      .type_name("F.npy");
  add("--bias-axes", flags.bias_axes,
      "axes of --bias, such as H,Lq,Lkv or B,1,Lkv (default: B,H,Lq,Lkv)")
      .type_name("AXES")
      .advanced();
  add("--alibi", flags.alibi,
      "(H): subtract slope * distance from the scores; auto: the usual slopes")
      .type_name("F.npy|auto")
      .advanced();
}

void add_dropout_options(const Arguments& command, OperationFlags& flags) {
  const auto add = adder(command, "Dropout");
  add("--dropout", flags.dropout, "drop attention weights with probability P")
      .type_name("P")
      .check(probability());
  add("--dropout-seed", flags.dropout_seed,
      "seed of the dropout mask (default 0)")
      .type_name("N")
      .transform(natural_number())
      .advanced();
  add("--sequence-ids", flags.sequence_ids,
      "(B): dropout follows these sequence ids, not the position in the batch")
      .type_name("F.npy")
      .advanced();
  add("--keep-mask", flags.keep_mask,
      "(B, H, Lq, Lkv): attention weights to keep, instead of a random choice; "
      "they are scaled by 1/(1-P)")
      .type_name("F.npy")
      .advanced();
}

}  // namespace

void add_weight_options(const Arguments& command, OperationFlags& flags) {
  command.add_count("--threads", flags.threads,
                    "number of threads (default: all)");
  add_mask_options(command, flags);
  add_score_options(command, flags);
}

void add_operation_options(const Arguments& command, OperationFlags& flags) {
  add_weight_options(command, flags);
  add_dropout_options(command, flags);
}

void add_layout_option(const Arguments& command, std::string& layout) {
  command
      .add_option(
          "--layout", layout,
          "axes of the files: bhld (default), or blhd (default with --offsets)")
      .type_name("bhld|blhd")
      .check(one_of({"bhld", "blhd"}))
      .group("Tensors")
      .advanced();
}

void add_ragged_options(const Arguments& command, OperationFlags& flags) {
  const auto add = adder(command, "Tensors");
  add("--offsets", flags.offsets,
      "(B + 1): a ragged batch, tensors (rows, H, D); sequence b has the rows "
      "offsets[b] to offsets[b + 1] - 1")
      .type_name("F.npy");
  add("--query-offsets", flags.query_offsets,
      "(B + 1): offsets of the queries, if they differ from those of the keys")
      .type_name("F.npy")
      .advanced();
}

}  // namespace headwise::cli
