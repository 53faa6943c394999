#include "commands.h"

#include <string>
#include <string_view>

#include "headwise/version.h"

namespace headwise::cli {
namespace {

constexpr std::string_view kExamples =
    R"(  headwise explain                  watch a batch go through attention
  headwise explain --model all-MiniLM-L6-v2 "Heads matter."
  headwise view --model all-MiniLM-L6-v2 "The cat sat on the mat." --open
  headwise encode --model all-MiniLM-L6-v2 sentences.txt --out embeddings.npy
  headwise train --model all-MiniLM-L6-v2 --data train.tsv --out topics
  headwise classify --model topics sentences.txt
  headwise prune --model topics --scores scores.json --remove 40% --out smaller
  headwise run --query q.npy --key k.npy --value v.npy --out out.npy)";

}  // namespace

HeadwiseProgram::HeadwiseProgram(Command& chosen)
    : Program("headwise",
              "Multi-head attention, every step and every head visible.",
              std::string(kExamples), std::string("headwise ") + version()) {
  for (const auto add :
       {add_explain, add_view,  add_stats,     add_heads,      add_run,
        add_encode,  add_train, add_classify,  add_importance, add_prune,
        add_ablate,  add_patch, add_inspect,   add_convert,    add_onnx_run,
        add_check,   add_diff,  add_lint_mask, add_plan,       add_bench,
        add_info}) {
    add(arguments(), chosen);
  }
  add_help_command();
}

}  // namespace headwise::cli
