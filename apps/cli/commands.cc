#include "commands.h"

#include <fmt/format.h>

#include <map>
#include <string>
#include <string_view>

#include "headwise/version.h"
#include "shell/say.h"

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

// A line per component: "  headwise::ranks: run, plan".
std::string left_out_text() {
  std::map<std::string_view, std::string> names;
  for (const LeftOutCommand& command : left_out_commands()) {
    std::string& list = names[command.component];
    list += (list.empty() ? "" : ", ") + std::string(command.name);
  }
  std::string text;
  for (const auto& [component, list] : names) {
    text += fmt::format("  headwise::{}: {}\n", component, list);
  }
  return text;
}

}  // namespace

HeadwiseProgram::HeadwiseProgram(Command& chosen)
    : Program("headwise",
              "Multi-head attention, every step and every head visible.",
              std::string(kExamples), std::string("headwise ") + version()) {
  for (const AddCommand add : built_commands()) {
    add(arguments(), chosen);
  }
  add_help_command();
  for (const LeftOutCommand& command : left_out_commands()) {
    add_left_out(command.name, command.component);
  }
  if (const std::string left_out = left_out_text(); !left_out.empty()) {
    arguments().footer(
        say("Not in this build, by the component that they need:\n{}"
            "script/demo builds them, too.",
            left_out));
  }
}

}  // namespace headwise::cli
