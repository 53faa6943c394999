#include "operation_flags.h"

#include <string>

#include "dialect_flags.h"
#include "shell/args.h"
#include "shell/threads.h"

namespace headwise::cli {
namespace {

constexpr const char* kNpy = "F.npy";

void add_mask_options(const Arguments& masks, OperationFlags& flags) {
  masks.add_flag("--causal", flags.causal,
                 "query i attends to keys up to i + query start");
  masks.add_text("--window", flags.window, "LEFT,RIGHT[,KEEP_FIRST]",
                 "query i attends to LEFT keys before i + query start and "
                 "RIGHT after it (inf: no limit), and to the first KEEP_FIRST "
                 "keys (default 0)");
  masks
      .add_text("--query-start", flags.query_start, "N|bottom-right|F.npy",
                "key position of query 0 (default 0); bottom-right: align the "
                "last query with the last key; F.npy: (B), one number per "
                "sequence")
      .advanced();
  masks.add_text("--key-lengths", flags.key_lengths, kNpy,
                 "(B) or (B, Lq): attend to this number of keys, from the "
                 "first");
  masks
      .add_text("--key-starts", flags.key_starts, kNpy,
                "(B): the first key to attend to, for sequences padded on the "
                "left")
      .advanced();
  masks
      .add_text("--key-padding", flags.key_padding, kNpy,
                "(B, Lkv): true or 1 = may attend, 0 = padding")
      .advanced();
  masks
      .add_text("--documents", flags.documents, kNpy,
                "(B, Lkv): non-decreasing document ids; a query attends to its "
                "own document")
      .advanced();
  masks
      .add_text("--query-documents", flags.query_documents, kNpy,
                "(B, Lq): document ids of the queries (default: --documents)")
      .advanced();
  masks.add_text("--mask", flags.mask, kNpy,
                 "dense mask: true or 1 = may attend, 0 = masked");
  masks
      .add_text("--mask-axes", flags.mask_axes, "AXES",
                "axes of --mask, such as B,1,Lkv or Lq,Lkv (default: "
                "B,H,Lq,Lkv)")
      .advanced();
  masks
      .add_choice("--dialect", flags.dialect, dialect_names(),
                  "read masks and give results as this library does (see "
                  "lint-mask --help)")
      .type_name("NAME");
  masks
      .add_choice("--empty-rows", flags.empty_rows, {"zero", "uniform", "nan"},
                  "output of a query without any key (default zero, or that "
                  "of --dialect)")
      .advanced();
}

void add_score_options(const Arguments& scores, OperationFlags& flags) {
  scores
      .add_choice("--scoring", flags.scoring, {"dot", "additive"},
                  "how queries and keys are compared: q.k, or w . tanh(q + k) "
                  "(default: dot, or as the parameters require)")
      .advanced();
  scores.add_option("--scale", flags.scale, "factor on q.k (default 1/sqrt(D))")
      .type_name("X")
      .check(number_between(-2e38, 2e38, "a number from -2e38 to 2e38"));
  scores
      .add_option("--softcap", flags.softcap,
                  "replace scores by X * tanh(score / X), before any bias")
      .type_name("X")
      .check(number_between(1e-37, 2e38, "a number from 1e-37 to 2e38"))
      .advanced();
  scores.add_text("--bias", flags.bias, kNpy,
                  "values added to the scores; -inf masks");
  scores
      .add_text("--bias-axes", flags.bias_axes, "AXES",
                "axes of --bias, such as H,Lq,Lkv or B,1,Lkv (default: "
                "B,H,Lq,Lkv)")
      .advanced();
  scores
      .add_text("--t5-bias", flags.t5_bias, kNpy,
                "(buckets, H): T5's relative-position bias; T5 uses --scale 1")
      .advanced();
  scores
      .add_count("--t5-max-distance", flags.t5_max_distance,
                 "distance from which all keys share a bucket of --t5-bias "
                 "(default 128)")
      .advanced();
  scores
      .add_flag("--t5-bidirectional", flags.t5_bidirectional,
                "half of the buckets of --t5-bias are for later keys, as in "
                "T5's encoder")
      .advanced();
  scores
      .add_text("--alibi", flags.alibi, "F.npy|auto",
                "(H): subtract slope * distance from the scores; auto: the "
                "usual slopes")
      .advanced();
  scores
      .add_text("--sinks", flags.sinks, kNpy,
                "(H): one more score per head, with no value, that joins the "
                "softmax; -inf: none")
      .advanced();
}

void add_dropout_options(const Arguments& dropout, OperationFlags& flags) {
  dropout
      .add_option("--dropout", flags.dropout,
                  "drop attention weights with probability P")
      .type_name("P")
      .check(probability());
  dropout
      .add_number("--dropout-seed", flags.dropout_seed,
                  "seed of the dropout mask (default 0)")
      .advanced();
  dropout
      .add_text("--sequence-ids", flags.sequence_ids, kNpy,
                "(B): dropout follows these sequence ids, not the position in "
                "the batch")
      .advanced();
  dropout
      .add_text("--keep-mask", flags.keep_mask, kNpy,
                "(B, H, Lq, Lkv): attention weights to keep, instead of a "
                "random choice; they are scaled by 1/(1-P)")
      .advanced();
}

}  // namespace

void add_weight_options(const Arguments& command, OperationFlags& flags) {
  add_threads_option(command, flags.threads);
  add_mask_options(command.under("Masks (they can be combined)"), flags);
  add_score_options(command.under("Scores"), flags);
}

void add_operation_options(const Arguments& command, OperationFlags& flags) {
  add_weight_options(command, flags);
  add_dropout_options(command.under("Dropout"), flags);
}

void add_layout_option(const Arguments& arguments, std::string& layout) {
  arguments.add_choice(
      "--layout", layout, {"bhld", "blhd"},
      "axes of the files: bhld (default), or blhd (default with --offsets and "
      "some dialects); B sequences, L tokens, H heads, D features");
}

void add_ragged_options(const Arguments& arguments, OperationFlags& flags) {
  arguments.add_text("--offsets", flags.offsets, kNpy,
                     "(B + 1): a ragged batch, tensors (rows, H, D); sequence "
                     "b has the rows offsets[b] to offsets[b + 1] - 1");
  arguments
      .add_text("--query-offsets", flags.query_offsets, kNpy,
                "(B + 1): offsets of the queries, if they differ from those of "
                "the keys")
      .advanced();
}

void add_score_weight_option(const Arguments& arguments,
                             OperationFlags& flags) {
  arguments
      .add_text(
          "--score-weight", flags.score_weight, kNpy,
          "(H, D): w of --scoring additive; D is the size of the hidden layer")
      .advanced();
}

void add_added_key_options(const Arguments& arguments, OperationFlags& flags) {
  arguments
      .add_text("--bias-k", flags.bias_k, kNpy,
                "(Hkv, D): one more key of every sequence, which every query "
                "sees; weights and scores have a column for it")
      .advanced();
  arguments
      .add_text("--bias-v", flags.bias_v, kNpy,
                "(Hkv, Dv): the value of --bias-k")
      .advanced();
  arguments
      .add_flag("--zero-attn", flags.zero_attn,
                "one more key and value of zeros, which every query sees")
      .advanced();
}

}  // namespace headwise::cli
