#include "commands.h"

#include <fmt/format.h>

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

// "view, stats (headwise::models), run (headwise::ranks)"
std::string left_out_text() {
  std::string text;
  const std::span<const LeftOutCommand> all = left_out_commands();
  for (std::size_t n = 0; n < all.size(); ++n) {
    text += (n == 0 ? "" : ", ") + std::string(all[n].name);
    if (n + 1 == all.size() ||
        std::string_view(all[n + 1].component) != all[n].component) {
      text += fmt::format(" (headwise::{})", all[n].component);
    }
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
        say({"Not in this build: {}.\nTo build them: cmake --preset release "
             "-DHEADWISE_COMPONENTS=\"models;onnx\"",
             "이 빌드에 없는 명령: {}.\n빌드하려면: cmake --preset release "
             "-DHEADWISE_COMPONENTS=\"models;onnx\""},
            left_out));
  }
}

}  // namespace headwise::cli
