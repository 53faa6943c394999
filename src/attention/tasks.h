// How workers share the tasks of a call. The bits depend on none of it.
#pragma once

#include <cstddef>
#include <span>

#include "headwise/attention/spec.h"
#include "headwise/base/function_ref.h"
#include "headwise/run/executor.h"

namespace headwise::inline HEADWISE_ABI {

// So many tasks a worker, and the last ones end at nearly the same time.
inline constexpr std::size_t kTasksOfAWorker = 8;

// How many are worth while, at most as many as the executor has threads.
std::size_t workers_for(const AttentionSpec& spec);
// Whether the key heads are tasks enough: so many that one more for some
// workers does not show, or those of one sequence, alike, fall evenly to all.
bool heads_suffice(const AttentionSpec& spec, std::size_t workers);

// Calls work(worker, task) once for every task in [0, count), by whichever
// worker is free, in the floating-point environment of all kernels.
void for_each_task(
    const Executor& executor, std::size_t workers, std::size_t count,
    FunctionRef<void(std::size_t worker, std::size_t task)> work);

// Fills `order` (B) with the sequences; for several workers those with most
// work first, so that the last tasks are small.
void order_sequences(const AttentionSpec& spec, std::size_t workers,
                     std::span<std::size_t> order);

}  // namespace headwise::inline HEADWISE_ABI
