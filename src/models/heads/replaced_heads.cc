#include "heads/replaced_heads.h"

#include "run/float_environment.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

// Of one feature of one head: the mean of the values of each sequence, or under
// a causal mask of those up to each token.
void average_values(const ReplacedHeads& replaced, const HeadContext& context,
                    std::size_t h, std::size_t kv_head, std::size_t d) {
  for (std::size_t s = 0; s + 1 < replaced.offsets.size(); ++s) {
    const auto first = static_cast<std::size_t>(replaced.offsets[s]);
    if (first < replaced.first_row ||
        first >= replaced.first_row + context.context.extent(1)) {
      continue;
    }
    const std::size_t begin = first - replaced.first_row;
    const std::size_t end =
        static_cast<std::size_t>(replaced.offsets[s + 1]) - replaced.first_row;
    double sum = 0;
    for (std::size_t row = begin; row < end; ++row) {
      sum += static_cast<double>(context.value(0, row, kv_head, d));
      if (replaced.causal) {
        context.context(0, row, h, d) =
            static_cast<float>(sum / static_cast<double>(row - begin + 1));
      }
    }
    for (std::size_t row = begin; !replaced.causal && row < end; ++row) {
      context.context(0, row, h, d) =
          static_cast<float>(sum / static_cast<double>(end - begin));
    }
  }
}

void fill(TensorView<float, 4> context, std::size_t h, std::size_t d,
          double value) {
  for (std::size_t row = 0; row < context.extent(1); ++row) {
    context(0, row, h, d) = static_cast<float>(value);
  }
}

}  // namespace

void replace_heads(const ReplacedHeads& replaced, const HeadContext& context) {
  const FloatEnvironment environment;
  const auto [B, rows, H, D] = context.context.extents();
  const HeadMap map(H, context.value.extent(2), context.kv_groups);
  for (const std::size_t h : replaced.heads) {
    for (std::size_t d = 0; d < D; ++d) {
      switch (replaced.replacement) {
        case Replacement::zero:
          fill(context.context, h, d, 0);
          break;
        case Replacement::mean:
          fill(context.context, h, d, replaced.means[h * D + d]);
          break;
        case Replacement::uniform:
          average_values(replaced, context, h, map.kv_head(h), d);
          break;
      }
    }
  }
}

}  // namespace headwise::inline HEADWISE_ABI
