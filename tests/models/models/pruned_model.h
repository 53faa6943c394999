// The small model without some of its heads.
#pragma once

#include <cstddef>
#include <vector>

#include "models/small_model.h"

namespace headwise::testing_support {

// Of each layer.
using KeptHeads = std::vector<std::vector<std::size_t>>;

// The rows (or the columns) of the heads that are kept, D each.
inline Tensor<float, 2> rows_kept(const Tensor<float, 2>& x,
                                  const std::vector<std::size_t>& heads,
                                  std::size_t D) {
  auto kept = Tensor<float, 2>::create({heads.size() * D, x.extent(1)}).value();
  for (std::size_t row = 0; row < kept.extent(0); ++row) {
    for (std::size_t e = 0; e < x.extent(1); ++e) {
      kept(row, e) = x(heads[row / D] * D + row % D, e);
    }
  }
  return kept;
}
inline Tensor<float, 2> columns_kept(const Tensor<float, 2>& x,
                                     const std::vector<std::size_t>& heads,
                                     std::size_t D) {
  auto kept = Tensor<float, 2>::create({x.extent(0), heads.size() * D}).value();
  for (std::size_t row = 0; row < x.extent(0); ++row) {
    for (std::size_t e = 0; e < kept.extent(1); ++e) {
      kept(row, e) = x(row, heads[e / D] * D + e % D);
    }
  }
  return kept;
}

// The parameters of a config's whole model with these heads alone.
inline Params pruned(const Params& whole, const SmallConfig& config,
                     const KeptHeads& kept) {
  const std::size_t D = config.hidden_size / config.num_heads;
  Params params;
  for (const auto& [name, param] : whole) {
    params.emplace(name, clone(param));
  }
  for (std::size_t n = 0; n < kept.size(); ++n) {
    const PartNames names = part_names(config.family, n);
    for (const auto& name : {names.q, names.k, names.v}) {
      params.at(name + ".weight") =
          rows_kept(whole.at(name + ".weight"), kept[n], D);
      params.at(name + ".bias") =
          columns_kept(whole.at(name + ".bias"), kept[n], D);
    }
    params.at(names.o + ".weight") =
        columns_kept(whole.at(names.o + ".weight"), kept[n], D);
  }
  return params;
}

}  // namespace headwise::testing_support
