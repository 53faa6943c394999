// operator new of a test program, which can be counted and made to fail: link
// allocations.cc.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace headwise::testing_support {

// The allocation of this thread that fails, counted down; 0 is none.
// (A function: g++ 12 checks an extern thread_local wrongly under sanitizers.)
std::int64_t& failing_allocation();
// All there were so far, on any thread.
extern std::atomic<std::size_t> allocations;
// Bytes that are allocated now, and the most that ever were; who sets the
// latter to the former measures from there.
extern std::atomic<std::size_t> live_bytes;
extern std::atomic<std::size_t> peak_bytes;

}  // namespace headwise::testing_support
