#include "parallel_flags.h"

#include <fmt/format.h>

#include <array>

#include "run_flags.h"
#include "shell/args.h"
#include "shell/ranks/deadline.h"

namespace headwise::cli {
namespace {

struct Row {
  bool given;
  const char* option;
};

// What a cache of several processes does not support: its steps give only the
// output.
Outcome check_cache(const RunFlags& flags) {
  if (flags.parallel.scheme == "heads") {
    return usage(
        "--cache cannot be used with --parallel heads: a cache is divided by "
        "tokens; use --parallel context");
  }
  if (flags.cache.kind == "contiguous") {
    return usage(
        "--cache contiguous cannot be used with --parallel; use --cache paged");
  }
  const std::array<Row, 4> rows = {{
      {!flags.lse.empty(), "--lse"},
      {!flags.attn_weights.empty(), "--attn-weights"},
      {!flags.scores_out.empty(), "--scores-out"},
      {!flags.present_dir.empty(), "--present-dir"},
  }};
  for (const Row& row : rows) {
    if (row.given) {
      return usage(
          message("{} cannot be used with --cache and --parallel: a shared "
                  "cache gives the output alone",
                  row.option));
    }
  }
  return {};
}

// Each process has some rows of all heads.
Outcome check_context(const RunFlags& flags) {
  const std::array<Row, 3> by_heads = {{
      {!flags.attn_weights.empty(), "--attn-weights"},
      {!flags.scores_out.empty(), "--scores-out"},
      {!flags.d_attn_weights.empty(), "--d-attn-weights"},
  }};
  for (const Row& row : by_heads) {
    if (row.given) {
      return usage(message(
          "{} cannot be used with --parallel context; use --parallel heads",
          row.option));
    }
  }
  return {};
}

}  // namespace

std::chrono::milliseconds ParallelFlags::longest_wait() const {
  return cli::longest_wait(deadline);
}

void add_parallel_options(const Arguments& ranks, ParallelFlags& flags) {
  ranks
      .add_choice("--parallel", flags.scheme, {"context", "heads", "auto"},
                  "under mpirun: divide the call among the processes by tokens "
                  "(context), by heads, or as headwise plan would (auto); the "
                  "files are those of one process")
      .advanced();
  ranks
      .add_count(
          "--deadline", flags.deadline,
          "with --parallel: seconds that a process may stay silent before the "
          "job ends; one that computes, or reads or writes files, is not "
          "silent "
          "(default 600)")
      .advanced();
}

Outcome check_parallel_flags(const RunFlags& flags) {
  if (!flags.parallel.given()) {
    return flags.parallel.deadline ? usage("--deadline needs --parallel")
                                   : Outcome();
  }
  return flags.cache.given()                  ? check_cache(flags)
         : flags.parallel.scheme == "context" ? check_context(flags)
                                              : Outcome();
}

}  // namespace headwise::cli
