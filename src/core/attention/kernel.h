// The kernels that AttentionPlan runs on the CPU: forward/, few_rows/
// and statistics/ define them.
#pragma once

#include <cstddef>

#include "attention/schedule.h"
#include "headwise/attention/call_tensors.h"
#include "headwise/attention/spec.h"

namespace headwise::inline HEADWISE_ABI {

struct KeyShares;

// A call that was checked and has a query.
struct KernelCall {
  const AttentionSpec& spec;
  const Schedule& schedule;
  const CallTensors& tensors;
  // Of statistics_kernel: also computed, unless null.
  const KeyShares* shares = nullptr;
};

// Bytes that a kernel computes in; the largest std::size_t if they overflow.
std::size_t forward_workspace_bytes(const AttentionSpec& spec,
                                    const Schedule& schedule);
std::size_t few_rows_workspace_bytes(const AttentionSpec& spec,
                                     const Schedule& schedule);
std::size_t statistics_workspace_bytes(const AttentionSpec& spec,
                                       const Schedule& schedule,
                                       const KeyShares* shares = nullptr);

// `workspace` has that many bytes, on a 64-byte boundary. Allocates nothing.
void forward_kernel(const KernelCall& call, std::byte* workspace);
// The same for few queries.
void few_rows_kernel(const KernelCall& call, std::byte* workspace);
// The same with statistics.
void statistics_kernel(const KernelCall& call, std::byte* workspace);

}  // namespace headwise::inline HEADWISE_ABI
