#include "distribute/param_shards.h"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>

namespace headwise::internal::inline HEADWISE_ABI {
namespace {

// A place among the rows of all parameters.
struct Place {
  std::size_t param = 0;
  std::size_t row = 0;
};

// What a row counts: its elements. Rows without any are divided, too.
std::uint64_t row_work(const ShardedParam& param) {
  return std::max<std::uint64_t>(param.row_size, 1);
}

// The place with the share `numerator` / `denominator` of the work of all
// tables, or of all other parameters, before it.
Place place_of_param(const std::vector<ShardedParam>& params, bool tables,
                     std::size_t numerator, std::size_t denominator) {
  const auto work_of = [&](const ShardedParam& param) -> std::uint64_t {
    return param.is_table == tables ? param.rows * row_work(param) : 0;
  };
  std::uint64_t all = 0;
  for (const ShardedParam& param : params) {
    all += work_of(param);
  }
  const std::uint64_t target = all / denominator * numerator +
                               all % denominator * numerator / denominator;
  std::uint64_t before = 0;
  for (std::size_t n = 0; n < params.size(); ++n) {
    const std::uint64_t work = work_of(params[n]);
    if (before + work > target) {
      const std::uint64_t row = row_work(params[n]);
      return {n, static_cast<std::size_t>((target - before + row / 2) / row)};
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
    const std::map<std::string, AnyView>& params) {
  constexpr std::string_view kWeight = ".weight";
  std::vector<ShardedParam> all;
  for (const auto& [name, view] : params) {
    const auto extents = view.extents();
    const bool is_matrix = extents.size() > 1;
    const std::size_t row_size =
        is_matrix ? element_count(extents.subspan(1)) : 1;
    const bool has_bias =
        name.ends_with(kWeight) &&
        params.contains(name.substr(0, name.size() - kWeight.size()) + ".bias");
    all.push_back({.name = name,
                   .axes = extents.size(),
                   .rows = extents.empty() ? 1 : extents[0],
                   .row_size = row_size,
                   .is_table = is_matrix && !has_bias});
  }
  return all;
}

ParamShards::ParamShards(std::vector<ShardedParam> params, std::size_t ranks)
    : params_(std::move(params)) {
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    auto& rows = rows_.emplace_back(params_.size());
    for (const bool tables : {false, true}) {
      const Place from = place_of_param(params_, tables, rank, ranks);
      const Place to = place_of_param(params_, tables, rank + 1, ranks);
      for (std::size_t n = 0; n < params_.size(); ++n) {
        if (params_[n].is_table == tables) {
          rows[n] = rows_between(from, to, n, params_[n].rows);
        }
      }
    }
    auto& first = first_elements_.emplace_back(1, 0);
    for (std::size_t n = 0; n < params_.size(); ++n) {
      first.push_back(first.back() + rows[n].count * params_[n].row_size);
    }
  }
}

}  // namespace headwise::internal::inline HEADWISE_ABI
