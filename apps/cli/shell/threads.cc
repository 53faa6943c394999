#include "threads.h"

#include "args.h"

namespace headwise::cli {

void add_threads_option(const Arguments& command, std::size_t& threads) {
  command.add_count("--threads", threads, "number of threads (default: all)");
}

Result<Executor> executor_with(std::size_t threads) {
  return threads == 0 ? Executor::default_executor()
                      : Executor::with_threads(threads);
}

}  // namespace headwise::cli
