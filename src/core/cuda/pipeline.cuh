// What lets copies and computation overlap: barriers in shared memory that
// count arrivals and bytes, tensor copies from global memory, named barriers
// between warpgroups, and registers that move between them.
//
// Source: PTX ISA 8.x, "mbarrier", "cp.async.bulk.tensor", "setmaxnreg".
#pragma once

#include <cuda.h>

#include <cstdint>

#include "cuda/wgmma.cuh"
#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI::cuda {

using Barrier = std::uint64_t;

__device__ inline void init(Barrier& barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;\n" ::"r"(
                   shared_address(&barrier)),
               "r"(arrivals));
}
// Makes the barriers known to copies and to other threads; a barrier of the
// whole block must follow.
__device__ inline void publish_barriers() {
  asm volatile("fence.mbarrier_init.release.cluster;\n" ::: "memory");
}
__device__ inline void arrive(Barrier& barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];\n" ::"r"(
                   shared_address(&barrier))
               : "memory");
}
// Arrives, and makes the barrier wait for this many more bytes of copies.
__device__ inline void arrive_expecting(Barrier& barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;\n" ::"r"(
                   shared_address(&barrier)),
               "r"(bytes)
               : "memory");
}
// Until the phase of this parity is complete.
__device__ inline void wait(Barrier& barrier, int parity) {
  asm volatile(
      "{\n.reg .pred p;\n"
      "WAIT:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n"
      "@p bra DONE;\n"
      "bra WAIT;\n"
      "DONE:\n}\n" ::"r"(shared_address(&barrier)),
      "r"(parity)
      : "memory");
}

// One box of a tensor of rank 4: (columns, rows, heads, batch).
__device__ inline void copy_box(void* to, const CUtensorMap& map,
                                Barrier& barrier, int column, int row, int head,
                                int batch) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::"
      "bytes [%0], [%1, {%3, %4, %5, %6}], [%2];\n" ::"r"(shared_address(to)),
      "l"(&map), "r"(shared_address(&barrier)), "r"(column), "r"(row),
      "r"(head), "r"(batch)
      : "memory");
}
// Some bytes as they are; addresses and count at multiples of 16.
__device__ inline void copy_bytes(void* to, const void* from, Barrier& barrier,
                                  int bytes) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], "
      "[%1], %2, [%3];\n" ::"r"(shared_address(to)),
      "l"(from), "r"(bytes), "r"(shared_address(&barrier))
      : "memory");
}
__device__ inline void prefetch(const CUtensorMap& map) {
  asm volatile("prefetch.tensormap [%0];\n" ::"l"(&map) : "memory");
}
// What threads wrote to shared memory, matrix instructions and copies now see.
__device__ inline void fence_shared_writes() {
  asm volatile("fence.proxy.async.shared::cta;\n" ::: "memory");
}

// Named barriers of `threads` threads; 0 is __syncthreads().
__device__ inline void named_sync(int barrier, int threads) {
  asm volatile("bar.sync %0, %1;\n" ::"r"(barrier), "r"(threads) : "memory");
}
__device__ inline void named_arrive(int barrier, int threads) {
  asm volatile("bar.arrive %0, %1;\n" ::"r"(barrier), "r"(threads) : "memory");
}

// Whether it holds for any of the threads, which all wait for each other.
__device__ inline bool any_of(bool mine, int barrier, int threads) {
  int any = 0;
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %1, 0;\n"
      "barrier.cta.red.or.pred p, %2, %3, p;\nselp.b32 %0, 1, 0, p;\n}\n"
      : "=r"(any)
      : "r"(static_cast<int>(mine)), "r"(barrier), "r"(threads)
      : "memory");
  return any != 0;
}

template <int kRegisters>
__device__ inline void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;\n" ::"n"(kRegisters));
}
template <int kRegisters>
__device__ inline void give_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;\n" ::"n"(kRegisters));
}

// A ring of stages: which one is next, and how often the ring went round.
template <int kStages>
struct Ring {
  int stage = 0;
  int round = 0;

  __device__ void next() {
    if (++stage == kStages) {
      stage = 0;
      round ^= 1;
    }
  }
};

}  // namespace headwise::inline HEADWISE_ABI::cuda
