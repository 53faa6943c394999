#include "generate/step_heads.h"

#include <algorithm>
#include <utility>

#include "headwise/attention/statistics_options.h"

namespace headwise::inline HEADWISE_ABI {

void StepHeads::see_in(ModelPass& pass) {
  if (!options_.heads.empty()) {
    pass.heads = options_.heads;
    pass.see_attn_weights = [this](const AttentionPlace& place,
                                   TensorView<const float, 4> seen) -> Status {
      const auto at = std::ranges::find(options_.heads, place);
      HEADWISE_ASSIGN(auto copy,
                      Tensor<float, 4>::create_unset(seen.extents()));
      std::copy_n(seen.data(), copy.size(), copy.data());
      weights_[static_cast<std::size_t>(at - options_.heads.begin())] =
          std::move(copy);
      return ok();
    };
  }
  if (options_.statistics) {
    pass.see_statistics = [this](HookPlace at,
                                 TensorView<const float, 4> rows) {
      return keep_statistics(at, rows);
    };
  }
}

Status StepHeads::keep_statistics(HookPlace at,
                                  TensorView<const float, 4> rows) {
  const auto [one, heads, count, numbers] = rows.extents();
  for (std::size_t row = 0; row < count; ++row) {
    HEADWISE_ASSIGN(auto of_row,
                    Tensor<float, 2>::create_unset({heads, numbers}));
    for (std::size_t h = 0; h < heads; ++h) {
      for (std::size_t n = 0; n < numbers; ++n) {
        of_row(h, n) = rows(0, h, row, n);
      }
    }
    statistics_[at.first_row + row].push_back(
        {{.kind = at.kind, .layer = at.layer}, std::move(of_row)});
  }
  return ok();
}

Result<SeenHeads> StepHeads::of(std::size_t b, const ModelCache& cache,
                                SequenceId id, std::size_t tokens) {
  SeenHeads seen{.statistics = std::move(statistics_[b])};
  for (std::size_t n = 0; n < weights_.size(); ++n) {
    const Tensor<float, 4>& weights = weights_[n];
    auto& row = seen.attn_weights.emplace_back();
    if (options_.heads[n].kind == AttentionKind::cross) {
      HEADWISE_ASSIGN(const auto keys, cache.encoder_length(id));
      row.assign(&weights(b, 0, 0, 0), &weights(b, 0, 0, 0) + keys);
      continue;
    }
    HEADWISE_ASSIGN(const auto held, cache.held(id, options_.heads[n].layer));
    row.resize(tokens);
    for (std::size_t t = 0; t < held.size(); ++t) {
      row[static_cast<std::size_t>(held[t])] = weights(b, 0, 0, t);
    }
  }
  return seen;
}

}  // namespace headwise::inline HEADWISE_ABI
