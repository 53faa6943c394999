// The backward kernel that attention_backward() runs on the CPU.
#pragma once

#include <cstddef>

#include "headwise/attention/call_tensors.h"
#include "headwise/attention/spec.h"

namespace headwise::inline HEADWISE_ABI {

// How the work of a backward call is cut: time and memory, never bits.
struct BackwardSchedule {
  std::size_t workers;
  // Many heads: a task is a key head, and each worker has the memory of one.
  // Few: all work at one head, cut into ranges of its keys.
  bool whole_heads;
  std::size_t key_ranges;
  std::size_t blocks_at_once;  // that read a block of keys while it is near
};

BackwardSchedule backward_schedule_of(const AttentionSpec& spec);

// Bytes that the kernel computes in; the largest std::size_t if they overflow.
std::size_t backward_workspace_bytes(const AttentionSpec& spec,
                                     const BackwardSchedule& schedule,
                                     const CallTensors& tensors);

// For a call that was checked; `workspace` has that many bytes, on a 64-byte
// boundary. Allocates nothing.
void backward_kernel(const AttentionSpec& spec,
                     const BackwardSchedule& schedule,
                     const CallTensors& tensors, std::byte* workspace);

}  // namespace headwise::inline HEADWISE_ABI
