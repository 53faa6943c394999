// The whole program: every command of `headwise`.
#pragma once

#include "shell/args.h"
#include "shell/command.h"

namespace headwise::cli {

class HeadwiseProgram : public Program {
 public:
  // Parsing a command sets `chosen`. Help is in the language of the run.
  explicit HeadwiseProgram(Command& chosen);
};

}  // namespace headwise::cli
