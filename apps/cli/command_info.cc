// headwise info
// Which build this is and what it can use here.
#include <fmt/format.h>

#include "args.h"
#include "command.h"
#include "headwise/kernels/targets.h"
#include "headwise/run/executor.h"
#include "headwise/version.h"
#include "output.h"

namespace headwise::cli {
namespace {

Outcome run_info(const Streams& streams) {
  const auto in_use = current_target();
  if (!in_use) {
    return failure_of(in_use.error());
  }
  std::string targets;
  for (const std::string& target : available_targets()) {
    targets += (targets.empty() ? "" : " ") + target;
  }
  return print(streams.out,
               fmt::format("version: {}\n"
                           "compiler: {}\n"
                           "instruction sets: {}\n"
                           "in use: {}, {}\n"
                           "threads: {}\n",
                           version(), HEADWISE_COMPILER, targets, *in_use,
                           promises_same_bits(*in_use)
                               ? "the same bits as every other with fused "
                                 "multiply-add"
                               : "without fused multiply-add: the same bits "
                                 "are not promised",
                           Executor::default_executor().threads()));
}

}  // namespace

void add_info(const Arguments& app, Command& chosen) {
  const Arguments command =
      app.add_command("info", "version, compiler, instruction sets, threads",
                      "  headwise info");
  command.on_parsed([&chosen] { chosen = run_info; });
}

}  // namespace headwise::cli
