// One inner loop of src/core/kernels as a benchmark. `share` is its rate over
// the FMA peak taken before and after, in processor time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "headwise/base/tensor.h"

namespace headwise {

// Prepares memory and returns the loop over it; called when the benchmark is
// chosen.
using Prepare = std::function<std::function<void()>()>;

// A loop of multiply-adds: the rate in floating-point operations, and its
// share.
void add_products(const std::string& name, double multiply_adds,
                  Prepare prepare);

// A loop without products: elements a second, and the multiply-adds that the
// processor could have done meanwhile, an element.
void add_elements(const std::string& name, double elements, Prepare prepare);

// A loop over memory: bytes a second, and their share of what this thread reads
// when it does nothing else.
void add_bytes(const std::string& name, double bytes, Prepare prepare);

// A call and the bare loops that it runs, in turns: the microseconds of each
// and of the difference, medians of the rounds.
void add_overhead(const std::string& name, Prepare call, Prepare loops);

// Normal numbers, always the same.
Tensor<float, 1> drawn(std::size_t count, std::uint32_t stream);

// The loops of a file of src/kernels. Names say `target`, the instruction set
// in use (HEADWISE_TARGET forces one), or "plain" for the plain loops that
// they stand for.
void add_attention_tile(const std::string& target);
void add_tile_layout(const std::string& target);
void add_row_tile(const std::string& target);
void add_gemm(const std::string& target);
void add_decode_short(const std::string& target);

}  // namespace headwise
