// How workers share the tasks of a call. The bits depend on none of it.
#pragma once

#include <cstddef>
#include <span>

#include "headwise/attention/spec.h"
#include "headwise/base/function_ref.h"
#include "headwise/run/executor.h"

namespace headwise::inline HEADWISE_ABI {

// Tasks per worker at which the last ones end at nearly the same time.
inline constexpr std::size_t kTasksOfAWorker = 8;

// Workers that pay for a call, at most the threads of the executor.
std::size_t workers_for(const AttentionSpec& spec);
// Whether one task per key head keeps all workers busy: either there are enough
// of them that an uneven share does not matter, or equal ones divide evenly
// among workers.
bool heads_suffice(const AttentionSpec& spec, std::size_t workers);

// Calls work(worker, task) once for every task in [0, count), by whichever
// worker is free, in the floating-point environment of all kernels.
void for_each_task(
    const Executor& executor, std::size_t workers, std::size_t count,
    FunctionRef<void(std::size_t worker, std::size_t task)> work);

// Fills `order` (B) with the sequences; for several workers the largest first,
// so that the last tasks are small.
void order_sequences(const AttentionSpec& spec, std::size_t workers,
                     std::span<std::size_t> order);

}  // namespace headwise::inline HEADWISE_ABI
