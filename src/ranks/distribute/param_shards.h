// Which rank updates which parameters when several ranks train a model: their
// rows, in the order of the parameters' names, are cut into one range per rank,
// and so are the rows of tables. A gradient of a table is a short sum, so
// each rank has its share of all sums as well as of all updates.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "headwise/base/any_view.h"
#include "steps/row_range.h"

#pragma GCC visibility push(default)
namespace headwise::internal::inline HEADWISE_ABI {

// A matrix has rows of its last axis, a vector rows of one element.
struct ShardedParam {
  std::string name;
  std::size_t axes = 0;
  std::size_t rows = 0;
  std::size_t row_size = 0;  // elements
  bool is_table = false;     // a matrix without a bias, read by rows
};

std::vector<ShardedParam> sharded_params(
    const std::map<std::string, AnyView>& params);

class ParamShards {
 public:
  // Each rank has a P-th of the elements of tables and a P-th of all others, up
  // to half a row at each end.
  ParamShards(std::vector<ShardedParam> params, std::size_t ranks);

  std::size_t ranks() const { return rows_.size(); }
  const std::vector<ShardedParam>& params() const { return params_; }
  // The rows of params()[n] that the rank updates.
  RowRange rows(std::size_t rank, std::size_t n) const {
    return rows_[rank][n];
  }
  // Where they are among all elements of the rank.
  std::size_t first_element(std::size_t rank, std::size_t n) const {
    return first_elements_[rank][n];
  }
  std::size_t elements(std::size_t rank) const {
    return first_elements_[rank].back();
  }

 private:
  std::vector<ShardedParam> params_;
  std::vector<std::vector<RowRange>> rows_;               // [rank][param]
  std::vector<std::vector<std::size_t>> first_elements_;  // [rank][param + 1]
};

}  // namespace headwise::internal::inline HEADWISE_ABI
#pragma GCC visibility pop
