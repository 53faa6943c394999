// An executor whose threads are those that another library of the process, such
// as torch, uses through OpenMP. Two pools of threads would compete for the
// processors: each waits for more work without sleeping for a while.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "headwise/run/executor.h"

namespace headwise::python {

// `library` is the path of a shared library that is in use and calls OpenMP;
// nothing where it is not loaded or brings no OpenMP that is known here. In a
// forked child, where OpenMP's threads are gone, work goes to headwise's own.
std::optional<Executor> openmp_executor(const std::string& library,
                                        std::size_t threads);

}  // namespace headwise::python
