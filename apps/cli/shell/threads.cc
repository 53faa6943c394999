#include "threads.h"

namespace headwise::cli {

OptionRow threads_option(std::size_t& threads) {
  return {"--threads", &threads, count(), "number of threads (default: all)"};
}

Result<Executor> executor_with(std::size_t threads) {
  return threads == 0 ? Executor::default_executor()
                      : Executor::with_threads(threads);
}

}  // namespace headwise::cli
