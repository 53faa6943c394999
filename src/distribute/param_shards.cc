#include "distribute/param_shards.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <string_view>
#include <utility>

namespace headwise::inline HEADWISE_ABI {
namespace {

// An optimiser's step of one element takes as long as its gradient's sum over
// this many tokens.
constexpr std::uint64_t kTokensOfAnUpdate = 250;

// A place among the rows of all parameters.
struct Place {
  std::size_t param = 0;
  std::size_t row = 0;
};

// The place with the share `numerator` / `denominator` of all work before it.
Place place_of(const std::vector<ShardedParam>& params, std::uint64_t all,
               std::size_t numerator, std::size_t denominator) {
  const std::uint64_t target = all / denominator * numerator +
                               all % denominator * numerator / denominator;
  std::uint64_t before = 0;
  for (std::size_t n = 0; n < params.size(); ++n) {
    const std::uint64_t work = params[n].rows * params[n].row_work;
    if (before + work > target) {
      const std::uint64_t half = params[n].row_work / 2;
      return {n, static_cast<std::size_t>((target - before + half) /
                                          params[n].row_work)};
    }
    before += work;
  }
  return {params.size(), 0};
}

// The rows of a parameter between two places.
RowRange rows_between(const Place& from, const Place& to, std::size_t n,
                      std::size_t rows) {
  const auto cut = [&](const Place& place) {
    return place.param < n ? 0 : place.param > n ? rows : place.row;
  };
  return {cut(from), cut(to) - cut(from)};
}

}  // namespace

std::vector<ShardedParam> sharded_params(
    const std::map<std::string, AnyView>& params, std::size_t tokens) {
  constexpr std::string_view kWeight = ".weight";
  std::vector<ShardedParam> all;
  for (const auto& [name, view] : params) {
    const auto extents = view.extents();
    const bool is_matrix = extents.size() > 1;
    const std::size_t row_size =
        is_matrix ? std::accumulate(extents.begin() + 1, extents.end(),
                                    std::size_t{1}, std::multiplies<>())
                  : 1;
    const bool is_projection =
        is_matrix && name.ends_with(kWeight) &&
        params.contains(name.substr(0, name.size() - kWeight.size()) + ".bias");
    all.push_back(
        {.name = name,
         .axes = extents.size(),
         .rows = extents.empty() ? 1 : extents[0],
         .row_size = row_size,
         .row_work = std::max<std::uint64_t>(row_size, 1) *
                     (kTokensOfAnUpdate + (is_projection ? tokens : 0))});
  }
  return all;
}

ParamShards::ParamShards(std::vector<ShardedParam> params, std::size_t ranks)
    : params_(std::move(params)) {
  const std::uint64_t all =
      std::accumulate(params_.begin(), params_.end(), std::uint64_t{0},
                      [](std::uint64_t sum, const ShardedParam& param) {
                        return sum + param.rows * param.row_work;
                      });
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const Place from = place_of(params_, all, rank, ranks);
    const Place to = place_of(params_, all, rank + 1, ranks);
    auto& rows = rows_.emplace_back();
    auto& first = first_elements_.emplace_back(1, 0);
    for (std::size_t n = 0; n < params_.size(); ++n) {
      rows.push_back(rows_between(from, to, n, params_[n].rows));
      first.push_back(first.back() + rows.back().count * params_[n].row_size);
    }
  }
}

}  // namespace headwise::inline HEADWISE_ABI
