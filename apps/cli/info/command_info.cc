// headwise info
// Which build this is and what it can use here.
#include "headwise/kernels/targets.h"
#include "headwise/run/executor.h"
#include "headwise/version.h"
#include "shell/args.h"
#include "shell/command.h"
#include "shell/output.h"
#include "shell/say.h"

namespace headwise::cli {
namespace {

std::string of_bits(const std::string& target) {
  return promises_same_bits(target)
             ? say("same bits as every other instruction set with fused "
                   "multiply-add")
             : say("without fused multiply-add: same bits not guaranteed");
}

std::string of_bf16(bool native) {
  return native ? say("dot products of the processor (AVX512-BF16)")
                : say("emulated with float32: no faster than exact");
}

Outcome run_info(const Streams& streams) {
  HEADWISE_ASSIGN(const auto in_use, current_target());
  HEADWISE_ASSIGN(const auto native, native_bf16());
  std::string targets;
  for (const std::string& target : available_targets()) {
    targets += (targets.empty() ? "" : " ") + target;
  }
  return print(streams.out, say("version: {}\n"
                                "compiler: {}\n"
                                "instruction sets: {}\n"
                                "in use: {}, {}\n"
                                "bf16: {}\n"
                                "threads: {}\n",
                                version(), HEADWISE_COMPILER, targets, in_use,
                                of_bits(in_use), of_bf16(native),
                                Executor::default_executor().threads()));
}

}  // namespace

void add_info(const Arguments& app, Command& chosen) {
  const Arguments command = app.add_command(
      "info", "print version, compiler, instruction sets and threads",
      "  headwise info");
  command.on_parsed([&chosen] { chosen = run_info; });
}

}  // namespace headwise::cli
