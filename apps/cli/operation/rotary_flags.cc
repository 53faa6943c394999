#include "rotary_flags.h"

#include "shell/args.h"

namespace headwise::cli {

std::string RotaryFlags::asked_for() const {
  RotaryFlags own = *this;
  return first_given(rotation_options(own));
}

std::vector<OptionRow> rotation_options(RotaryFlags& flags) {
  return {
      {"--rotary-base", &flags.base,
       real("X", number_between(1, 1e300, "a number, 1 or greater")),
       "rotate queries and keys by their positions; frequencies are powers of "
       "this base (default 10000)",
       sets("base")},
      {"--rotary-dim", &flags.dim, count(),
       "features of a head that rotate, an even number (default: all)",
       advanced().sets("rotary_dim")},
      {"--rotary-layout", &flags.layout, choice({"halves", "interleaved"}),
       "which features are a pair: p and p + N/2 (default), or 2p and 2p + 1",
       advanced()},
      {"--rotary-scaling", &flags.scaling, text("RULE"),
       "for longer sequences: linear:F, ntk:F, yarn:F,ORIGINAL (then "
       "BETA_FAST,BETA_SLOW,TRUNCATE,FACTOR if given) or "
       "llama3:F,LOW,HIGH,ORIGINAL",
       advanced().sets("scaling")},
      {"--rotary-tables", &flags.tables,
       file(FileUse::inputs_by_comma, "COS.npy,SIN.npy"),
       "(positions, N/2) each: your own cosines and sines",
       advanced().sets("cos|sin")}};
}

std::vector<OptionRow> position_options(RotaryFlags& flags) {
  constexpr const char* kRotation =
      "--rotary-base|--rotary-dim|--rotary-layout|--rotary-scaling|--rotary-"
      "tables";
  return {{"--query-positions", &flags.query_positions, npy(),
           "(B, Lq): positions of the queries (default: row numbers from "
           "--query-start)",
           advanced().sets("query_positions").needs(kRotation)},
          {"--key-positions", &flags.key_positions, npy(),
           "(B, Lkv): positions of the keys (default: row numbers)",
           advanced().sets("key_positions").needs(kRotation)}};
}

void add_rotation_options(const Arguments& command, RotaryFlags& flags) {
  command.under("Rotary positions").add(rotation_options(flags));
}

void add_rotary_options(const Arguments& command, RotaryFlags& flags) {
  add_rotation_options(command, flags);
  command.under("Rotary positions").add(position_options(flags));
}

}  // namespace headwise::cli
