#include "planned_inputs.h"

namespace headwise::cli {

void plan_inputs(FilePlan& plan, const OperationFlags& flags) {
  plan.input("--offsets", flags.offsets);
  plan.input("--query-offsets", flags.query_offsets);
  plan.input("--key-lengths", flags.key_lengths);
  plan.input("--key-starts", flags.key_starts);
  plan.input("--key-padding", flags.key_padding);
  plan.input("--documents", flags.documents);
  plan.input("--query-documents", flags.query_documents);
  plan.input("--mask", flags.mask);
  plan.input("--score-weight", flags.score_weight);
  plan.input("--bias", flags.bias);
  plan.input("--t5-bias", flags.t5_bias);
  plan.input("--sinks", flags.sinks);
  plan.input("--bias-k", flags.bias_k);
  plan.input("--bias-v", flags.bias_v);
  plan.input("--keep-mask", flags.keep_mask);
  plan.input("--sequence-ids", flags.sequence_ids);
  // These take words, too.
  if (flags.query_start.ends_with(".npy")) {
    plan.input("--query-start", flags.query_start);
  }
  if (flags.alibi != "auto") {
    plan.input("--alibi", flags.alibi);
  }
}

void plan_inputs(FilePlan& plan, const RotaryFlags& flags) {
  const std::size_t comma = flags.tables.find(',');
  plan.input("--rotary-tables", flags.tables.substr(0, comma));
  if (comma != std::string::npos) {
    plan.input("--rotary-tables", flags.tables.substr(comma + 1));
  }
  plan.input("--query-positions", flags.query_positions);
  plan.input("--key-positions", flags.key_positions);
}

}  // namespace headwise::cli
