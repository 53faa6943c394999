#include "operation_flags.h"

#include <algorithm>
#include <iterator>

#include "arithmetic_option.h"
#include "dialect_flags.h"
#include "shell/args.h"
#include "shell/threads.h"

namespace headwise::cli {
namespace {

std::vector<OptionRow> mask_options(OperationFlags& flags) {
  return {
      {"--causal", &flags.causal, flag(),
       "query i attends to keys up to i + query start"},
      {"--window", &flags.window, text("LEFT,RIGHT[,KEEP_FIRST]"),
       "query i attends to LEFT keys before i + query start and RIGHT after "
       "it (inf: no limit), and to the first KEEP_FIRST keys (default 0)",
       sets("mask.window")},
      {"--query-start", &flags.query_start,
       file(FileUse::input_if_npy, "N|bottom-right|F.npy"),
       "key position of query 0 (default 0); bottom-right: align the last "
       "query with the last key; F.npy: (B), one number per sequence",
       advanced().sets("query_start")},
      {"--key-lengths", &flags.key_lengths, npy(),
       "(B) or (B, Lq): attend to this number of keys, from the first",
       sets("mask.key_lengths")},
      {"--key-starts", &flags.key_starts, npy(),
       "(B): the first key to attend to, for sequences padded on the left",
       advanced().sets("mask.key_starts")},
      {"--key-padding", &flags.key_padding, npy(),
       "(B, Lkv): true or 1 = may attend, 0 = padding",
       advanced().sets("mask.key_padding")},
      {"--documents", &flags.documents, npy(),
       "(B, Lkv): non-decreasing document ids; a query attends to its own "
       "document",
       advanced().sets("mask.documents.key_ids")},
      {"--query-documents", &flags.query_documents, npy(),
       "(B, Lq): document ids of the queries (default: --documents)",
       advanced().sets("mask.documents.query_ids").needs("--documents")},
      {"--mask", &flags.mask, npy(),
       "dense mask: true or 1 = may attend, 0 = masked", sets("mask")},
      {"--mask-axes", &flags.mask_axes, text("AXES"),
       "axes of --mask, such as B,1,Lkv or Lq,Lkv (default: B,H,Lq,Lkv)",
       advanced()},
      {"--dialect", &flags.dialect, choice(dialect_names(), "NAME"),
       "read masks and give results as this library does (see lint-mask "
       "--help)"},
      {"--empty-rows", &flags.empty_rows, choice({"zero", "uniform", "nan"}),
       "output of a query without any key (default zero, or that of "
       "--dialect)",
       advanced().sets("empty_rows")}};
}

std::vector<OptionRow> score_options(OperationFlags& flags) {
  return {
      {"--scoring", &flags.scoring, choice({"dot", "additive"}),
       "how queries and keys are compared: q.k, or w . tanh(q + k) (default: "
       "dot, or as the parameters require)",
       advanced()},
      {"--scale", &flags.scale,
       real("X", number_between(-2e38, 2e38, "a number from -2e38 to 2e38")),
       "factor on q.k (default 1/sqrt(D))", sets("scale")},
      {"--softcap", &flags.softcap,
       real("X", number_between(1e-37, 2e38, "a number from 1e-37 to 2e38")),
       "replace scores by X * tanh(score / X), before any bias",
       advanced().sets("softcap")},
      {"--bias", &flags.bias, npy(), "values added to the scores; -inf masks",
       sets("bias")},
      {"--bias-axes", &flags.bias_axes, text("AXES"),
       "axes of --bias, such as H,Lq,Lkv or B,1,Lkv (default: B,H,Lq,Lkv)",
       advanced()},
      {"--t5-bias", &flags.t5_bias, npy(),
       "(buckets, H): T5's relative-position bias; T5 uses --scale 1",
       advanced().sets("t5_bias.table")},
      {"--t5-max-distance", &flags.t5_max_distance, count(),
       "distance from which all keys share a bucket of --t5-bias (default "
       "128)",
       advanced().sets("t5_bias.max_distance").needs("--t5-bias")},
      {"--t5-bidirectional", &flags.t5_bidirectional, flag(),
       "half of the buckets of --t5-bias are for later keys, as in T5's "
       "encoder",
       advanced().needs("--t5-bias")},
      {"--alibi", &flags.alibi, file(FileUse::input_if_npy, "F.npy|auto"),
       "(H): subtract slope * distance from the scores; auto: the usual "
       "slopes",
       advanced().sets("alibi")},
      {"--sinks", &flags.sinks, npy(),
       "(H): one more score per head, with no value, that joins the softmax; "
       "-inf: none",
       advanced().sets("sinks")}};
}

std::vector<OptionRow> dropout_options(OperationFlags& flags) {
  return {
      {"--dropout", &flags.dropout, real("P", probability()),
       "drop attention weights with probability P", sets("dropout.p")},
      {"--dropout-seed", &flags.dropout_seed, number(),
       "seed of the dropout mask (default 0)", advanced()},
      {"--sequence-ids", &flags.sequence_ids, npy(),
       "(B): dropout follows these sequence ids, not the position in the batch",
       advanced().sets("dropout.sequence_ids")},
      {"--keep-mask", &flags.keep_mask, npy(),
       "(B, H, Lq, Lkv): attention weights to keep, instead of a random "
       "choice; they are scaled by 1/(1-P)",
       advanced().sets("dropout.keep_mask")}};
}

}  // namespace

void add_weight_options(const Arguments& command, OperationFlags& flags) {
  command.add({threads_option(flags.threads)});
  command.under("Masks (they can be combined)").add(mask_options(flags));
  command.under("Scores").add(score_options(flags));
}

void add_operation_options(const Arguments& command, OperationFlags& flags) {
  add_weight_options(command, flags);
  command.under("Dropout").add(dropout_options(flags));
}

OptionRow layout_option(std::string& layout) {
  return {"--layout", &layout, choice({"bhld", "blhd"}),
          "axes of the files: bhld (default), or blhd (default with --offsets "
          "and some dialects); B sequences, L tokens, H heads, D features"};
}

std::vector<OptionRow> ragged_options(OperationFlags& flags) {
  return {{"--offsets", &flags.offsets, npy(),
           "(B + 1): a ragged batch, tensors (rows, H, D); sequence b "
           "has the rows offsets[b] to offsets[b + 1] - 1",
           sets("offsets|offsets.key")},
          {"--query-offsets", &flags.query_offsets, npy(),
           "(B + 1): offsets of the queries, if they differ from those "
           "of the keys",
           advanced().sets("offsets.query").needs("--offsets")}};
}

OptionRow score_weight_option(OperationFlags& flags) {
  return {"--score-weight", &flags.score_weight, npy(),
          "(H, D): w of --scoring additive; D is the size of the hidden layer",
          advanced().sets("score_weight")};
}

std::vector<OptionRow> added_key_options(OperationFlags& flags) {
  return {
      {"--bias-k", &flags.bias_k, npy(),
       "(Hkv, D): one more key of every sequence, which every query sees; "
       "weights and scores have a column for it",
       advanced().sets("added_keys.bias_k").needs("--bias-v")},
      {"--bias-v", &flags.bias_v, npy(), "(Hkv, Dv): the value of --bias-k",
       advanced().sets("added_keys.bias_v").needs("--bias-k")},
      {"--zero-attn", &flags.zero_attn, flag(),
       "one more key and value of zeros, which every query sees", advanced()}};
}

std::vector<OptionRow> all_operation_options(OperationFlags& flags) {
  std::vector<OptionRow> all = {arithmetic_option(flags.arithmetic),
                                score_weight_option(flags)};
  for (const auto options : {ragged_options, mask_options, score_options,
                             added_key_options, dropout_options}) {
    std::ranges::move(options(flags), std::back_inserter(all));
  }
  return all;
}

}  // namespace headwise::cli
