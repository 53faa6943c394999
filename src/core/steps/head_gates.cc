#include "headwise/steps/head_gates.h"

#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/memory_overlap.h"
#include "base/out_of_memory.h"
#include "run/float_environment.h"
#include "steps/check_head_gates.h"
#include "steps/one_nan.h"
#include "steps/step_checks.h"
#include "steps/token_blocks.h"

namespace headwise::internal::inline HEADWISE_ABI {

Status check_head_gates(std::string_view operation,
                        TensorView<const float, 1> gates,
                        std::size_t heads) try {
  HEADWISE_TRY(
      check_shape(operation, "head_gates", gates.extents(), "(H)", {{heads}}));
  for (std::size_t h = 0; h < heads; ++h) {
    if (!std::isfinite(gates(h))) {
      return value_error(operation, "head_gates[" + std::to_string(h) + "]",
                         number_text(gates(h)), "a finite number");
    }
  }
  return ok();
} catch (...) {
  return caught_out_of_memory();
}

}  // namespace headwise::internal::inline HEADWISE_ABI

namespace headwise::inline HEADWISE_ABI {
namespace {

using internal::check_head_gates;

// The product of a gate and what it lets through: by select where it is 0.
float gated_by(float gate, float x) {
  const float y = gate * x;
  return gate == 0 ? 0 : one_nan(y);
}

// to = gates * from
void multiply(const TensorView<const float, 4>& from,
              const TensorView<const float, 1>& gates,
              const TensorView<float, 4>& to, const Executor& executor) {
  constexpr std::size_t kTokensAtLeast = 16;
  const auto [B, L, H, D] = from.extents();
  const auto token = [&, heads = H, size = D](std::size_t b, std::size_t l) {
    for (std::size_t h = 0; h < heads; ++h) {
      for (std::size_t d = 0; d < size; ++d) {
        to(b, l, h, d) = gated_by(gates(h), from(b, l, h, d));
      }
    }
  };
  if (from.size() == 0) {
    return;
  }
  executor.parallel_for(B * L, kTokensAtLeast,
                        [&, length = L](std::size_t begin, std::size_t end) {
                          const FloatEnvironment environment;
                          for (std::size_t n = begin; n < end; ++n) {
                            token(n / length, n % length);
                          }
                        });
}

// sum_d a[d] * b[d] in 16 parts side by side, folded in halves. 0 where `a` is
// all zero, whatever b holds.
float dot(const TensorView<const float, 4>& a,
          const TensorView<const float, 4>& b, std::size_t batch, std::size_t l,
          std::size_t h) {
  std::array<float, 16> part{};
  bool live = false;
  for (std::size_t d = 0; d < a.extent(3); ++d) {
    live = live || a(batch, l, h, d) != 0;
    part[d % part.size()] += a(batch, l, h, d) * b(batch, l, h, d);
  }
  for (std::size_t half = part.size() / 2; half != 0; half /= 2) {
    for (std::size_t j = 0; j < half; ++j) {
      part[j] += part[j + half];
    }
  }
  return live ? part[0] : 0;
}

// The blocks of one sequence each, in order.
struct SequenceBlock {
  std::size_t sequence;
  TokenBlock block;
};

std::vector<SequenceBlock> blocks_of(
    std::size_t B, std::size_t L, TensorView<const std::int64_t, 1> offsets) {
  std::vector<SequenceBlock> blocks;
  std::size_t sequence = 0;
  for_each_token_block(B, L, offsets, [&](const TokenBlock& block) {
    if (offsets.data() == nullptr) {
      sequence = block.b;
    } else {
      while (static_cast<std::size_t>(offsets(sequence + 1)) <= block.first) {
        ++sequence;
      }
    }
    blocks.push_back({sequence, block});
  });
  return blocks;
}

}  // namespace

Status gate_heads(TensorView<const float, 4> context,
                  TensorView<const float, 1> gates, TensorView<float, 4> gated,
                  const Executor& executor) try {
  HEADWISE_TRY(check_head_gates("gate_heads", gates, context.extent(2)));
  HEADWISE_TRY(check_shape("gate_heads", "gated", gated.extents(),
                           "(B, L, H, D)", context.extents()));
  HEADWISE_TRY(
      check_in_place("gate_heads", "gated", gated, {{"context", context}}));
  multiply(context, gates, gated, executor);
  return ok();
} catch (...) {
  return caught_out_of_memory();
}

Result<Tensor<float, 2>> gate_heads_backward(
    TensorView<const float, 4> context, TensorView<const float, 1> gates,
    TensorView<const float, 4> d_gated, TensorView<float, 4> d_context,
    TensorView<const std::int64_t, 1> offsets, const Executor& executor) try {
  constexpr std::string_view kOperation = "gate_heads_backward";
  const auto [B, L, H, D] = context.extents();
  HEADWISE_TRY(check_head_gates(kOperation, gates, H));
  for (const auto& [name, extents] :
       {std::pair("d_gated", d_gated.extents()),
        std::pair("d_context", d_context.extents())}) {
    HEADWISE_TRY(check_shape(kOperation, name, extents, "(B, L, H, D)",
                             context.extents()));
  }
  HEADWISE_TRY(check_token_offsets(kOperation, B, L, offsets));
  HEADWISE_TRY(check_in_place(kOperation, "d_context", d_context,
                              {{"d_gated", d_gated}}));
  auto d_gates = Tensor<float, 2>::create(
      {offsets.data() == nullptr ? B : offsets.extent(0) - 1, H});
  if (!d_gates) {
    return d_gates;
  }
  const std::vector<SequenceBlock> blocks = blocks_of(B, L, offsets);
  executor.parallel_for(H, 1, [&](std::size_t begin, std::size_t end) {
    const FloatEnvironment environment;
    for (std::size_t h = begin; h < end; ++h) {
      for (const auto& [sequence, block] : blocks) {
        float sum = 0;
        for (std::size_t t = 0; t < block.count; ++t) {
          sum += dot(d_gated, context, block.b, block.first + t, h);
        }
        (*d_gates)(sequence, h) += sum;
      }
    }
  });
  unify_nans(d_gates->elements());
  multiply(d_gated, gates, d_context, executor);
  return d_gates;
} catch (...) {
  return caught_out_of_memory();
}

}  // namespace headwise::inline HEADWISE_ABI
