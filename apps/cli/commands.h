// The whole program: every command of `headwise`.
#pragma once

#include <span>

#include "shell/args.h"
#include "shell/command.h"

namespace headwise::cli {

using AddCommand = void (*)(const Arguments& app, Command& chosen);
// Those of this build, in the order of the help.
std::span<const AddCommand> built_commands();

// A command whose component this build lacks.
struct LeftOutCommand {
  const char* name;
  const char* component;
};
std::span<const LeftOutCommand> left_out_commands();

class HeadwiseProgram : public Program {
 public:
  // Parsing a command sets `chosen`. Help is in the language of the run.
  explicit HeadwiseProgram(Command& chosen);
};

}  // namespace headwise::cli
