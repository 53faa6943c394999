#include "commands.h"

#include <string>
#include <string_view>

#include "headwise/version.h"

namespace headwise::cli {
namespace {

constexpr std::string_view kExamples =
    R"(  headwise explain                     watch a batch go through attention
  headwise explain --example masked    the same with padding and causal masks
  headwise run --query q.npy --key k.npy --value v.npy --out out.npy
  headwise train --out run             train a small model, see what it learns)";

}  // namespace

HeadwiseProgram::HeadwiseProgram(Command& chosen)
    : Program("headwise",
              "Multi-head attention, every step and every head visible.",
              std::string(kExamples), std::string("headwise ") + version()) {
  for (const auto add : {add_explain, add_run, add_encode, add_view, add_stats,
                         add_train, add_importance, add_prune, add_bench,
                         add_inspect, add_convert, add_info}) {
    add(arguments(), chosen);
  }
}

}  // namespace headwise::cli
