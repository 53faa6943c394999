#include "operation_flags.h"

#include <type_traits>

#include "args.h"

namespace headwise::cli {

void add_operation_options(CLI::App& command, OperationFlags& flags) {
  const auto add = [&](const std::string& name, auto& value,
                       const std::string& text) {
    CLI::Option* option =
        command.add_option(name, value, text)->group("Attention");
    if constexpr (std::is_same_v<decltype(value), std::string&>) {
      option->check(not_empty());
    }
    return option;
  };
  add("--threads", flags.threads, "threads to use (default: all)")
      ->type_name("N")
      ->transform(at_least_one());
  command
      .add_flag("--causal", flags.causal,
                "query i sees the keys up to i + query start")
      ->disable_flag_override()
      ->group("Attention");
  add("--window", flags.window,
      "query i sees LEFT keys before i + query start, RIGHT after it; inf: all")
      ->type_name("LEFT,RIGHT");
  add("--query-start", flags.query_start,
      "where query 0 stands among the keys (default 0)")
      ->type_name("N|bottom-right|F.npy");
  add("--key-lengths", flags.key_lengths,
      "valid keys, (B) or (B, Lq), integers")
      ->type_name("F.npy");
  add("--key-starts", flags.key_starts,
      "(B): the first valid key of a sequence padded on the left")
      ->type_name("F.npy");
  add("--key-padding", flags.key_padding,
      "(B, Lkv), true or 1 = attend, 0 = padding")
      ->type_name("F.npy");
  add("--documents", flags.documents,
      "(B, Lkv), ids that do not decrease: attend within a document")
      ->type_name("F.npy");
  add("--query-documents", flags.query_documents,
      "(B, Lq), the queries' ids (default: those of --documents)")
      ->type_name("F.npy");
  add("--mask", flags.mask, "dense mask, true or 1 = attend, 0 = masked")
      ->type_name("F.npy");
  add("--mask-axes", flags.mask_axes,
      "the axes of --mask, such as B,1,Lkv or Lq,Lkv")
      ->type_name("AXES");
  add("--scale", flags.scale, "factor on q.k (default 1/sqrt(D))")
      ->type_name("X")
      ->check(finite_number());
  add("--softcap", flags.softcap,
      "scores become X * tanh(score / X), before any bias")
      ->type_name("X")
      ->check(finite_number());
  add("--bias", flags.bias, "added to the scores, float; -inf masks")
      ->type_name("F.npy");
  add("--bias-axes", flags.bias_axes,
      "the axes of --bias, such as H,Lq,Lkv or B,1,Lkv")
      ->type_name("AXES");
  add("--alibi", flags.alibi,
      "(H): scores lose slope * distance; auto: the usual slopes")
      ->type_name("F.npy|auto");
  add("--empty-rows", flags.empty_rows,
      "what a query without any key gives (default zero)")
      ->type_name("zero|uniform|nan")
      ->check(one_of({"zero", "uniform", "nan"}));
  add("--dropout", flags.dropout, "drop attention weights with probability P")
      ->type_name("P")
      ->check(probability());
  add("--dropout-seed", flags.dropout_seed, "which are dropped (default 0)")
      ->type_name("N")
      ->transform(natural_number());
  add("--sequence-ids", flags.sequence_ids,
      "(B): dropout follows a sequence's id, not its place")
      ->type_name("F.npy");
  add("--keep-mask", flags.keep_mask,
      "(B, H, Lq, Lkv): the weights to keep; --dropout P then gives 1/(1-P)")
      ->type_name("F.npy");
}

}  // namespace headwise::cli
