// serve_workloads: a harness loads workloads, has them run and reads the
// outputs, by lines on standard input and output:
//
//   line in             answer
//   load NAME FOLDER    ok | unsupported WHY | error WHY     (served_case.h)
//   run NAME n          ok SECONDS PROCESSOR_SECONDS, of all n runs
//   out NAME FOLDER     ok OUTPUT...; each is written as FOLDER/OUTPUT.bin
//   drop NAME           ok
//   peak                ok FMA_GFLOPS READ_GB_S BF16_GFLOPS, what the machine
//   can
//                       do now
//   quit                ends the program, and so does the end of the input
#pragma once

#include <istream>
#include <ostream>

#include "headwise/run/executor.h"
#include "shell/outcome.h"

namespace headwise::cli {

// Fails if the output cannot be written.
Outcome serve(std::istream& in, std::ostream& out, const Executor& executor);

}  // namespace headwise::cli
