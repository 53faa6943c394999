#include "rotary_flags.h"

#include "shell/args.h"

namespace headwise::cli {

void add_rotation_options(const Arguments& command, RotaryFlags& flags) {
  const Arguments rotary = command.under("Rotary positions");
  rotary
      .add_option("--rotary-base", flags.base,
                  "rotate queries and keys by their positions; frequencies are "
                  "powers of this base (default 10000)")
      .type_name("X")
      .check(number_between(1, 1e300, "a number, 1 or greater"));
  rotary
      .add_count("--rotary-dim", flags.dim,
                 "features of a head that rotate, an even number (default: "
                 "all)")
      .advanced();
  rotary
      .add_choice("--rotary-layout", flags.layout, {"halves", "interleaved"},
                  "which features are a pair: p and p + N/2 (default), or 2p "
                  "and 2p + 1")
      .advanced();
  rotary
      .add_text("--rotary-scaling", flags.scaling, "RULE",
                "for longer sequences: linear:F, ntk:F, yarn:F,ORIGINAL (then "
                "BETA_FAST,BETA_SLOW,TRUNCATE,FACTOR if given) or "
                "llama3:F,LOW,HIGH,ORIGINAL")
      .advanced();
  rotary
      .add_text("--rotary-tables", flags.tables, "COS.npy,SIN.npy",
                "(positions, N/2) each: your own cosines and sines")
      .advanced();
}

void add_rotary_options(const Arguments& command, RotaryFlags& flags) {
  add_rotation_options(command, flags);
  const Arguments rotary = command.under("Rotary positions");
  rotary
      .add_text("--query-positions", flags.query_positions, "F.npy",
                "(B, Lq): positions of the queries (default: row numbers from "
                "--query-start)")
      .advanced();
  rotary
      .add_text("--key-positions", flags.key_positions, "F.npy",
                "(B, Lkv): positions of the keys (default: row numbers)")
      .advanced();
}

}  // namespace headwise::cli
