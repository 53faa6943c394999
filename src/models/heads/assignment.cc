#include "heads/assignment.h"

#include <limits>
#include <utility>

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::size_t kNone = ~std::size_t{0};

// Assigns rows one after another; each takes the shortest path, in reduced
// costs, to a column that is free. For no more rows than columns.
class Assignment {
 public:
  explicit Assignment(TensorView<const double, 2> gains)
      : gains_(gains),
        row_potential_(gains.extent(0)),
        column_potential_(gains.extent(1)),
        row_of_(gains.extent(1), kNone),
        before_(gains.extent(1)) {}

  void assign(std::size_t row) {
    for (std::size_t column = find_free_column(row); column != kNone;) {
      const std::size_t from = before_[column];  // the column before it
      row_of_[column] = from == kNone ? row : row_of_[from];
      column = from;
    }
  }

  const std::vector<std::size_t>& row_of_columns() const { return row_of_; }

 private:
  double reduced_cost(std::size_t row, std::size_t column) const {
    return -gains_(row, column) - row_potential_[row] -
           column_potential_[column];
  }

  // Dijkstra's algorithm from `row`; before_ then holds the path.
  std::size_t find_free_column(std::size_t row) {
    const std::size_t columns = row_of_.size();
    std::vector<double> distance(columns,
                                 std::numeric_limits<double>::infinity());
    std::vector<bool> seen(columns);
    std::size_t last = kNone;                               // column
    std::vector<std::pair<std::size_t, std::size_t>> path;  // row, its column
    for (std::size_t from = row;; from = row_of_[last]) {
      path.emplace_back(from, last);
      std::size_t nearest = kNone;
      for (std::size_t column = 0; column < columns; ++column) {
        if (seen[column]) {
          continue;
        }
        const double cost = reduced_cost(from, column);
        if (cost < distance[column]) {
          distance[column] = cost;
          before_[column] = last;
        }
        if (nearest == kNone || distance[column] < distance[nearest]) {
          nearest = column;
        }
      }
      const double step = distance[nearest];
      for (const auto& [passed, column] : path) {
        row_potential_[passed] += step;
        if (column != kNone) {
          column_potential_[column] -= step;
        }
      }
      for (std::size_t column = 0; column < columns; ++column) {
        if (!seen[column]) {
          distance[column] -= step;
        }
      }
      seen[nearest] = true;
      last = nearest;
      if (row_of_[last] == kNone) {
        return last;
      }
    }
  }

  TensorView<const double, 2> gains_;
  std::vector<double> row_potential_;
  std::vector<double> column_potential_;
  std::vector<std::size_t> row_of_;
  std::vector<std::size_t> before_;
};

std::vector<std::size_t> row_of_columns(TensorView<const double, 2> gains) {
  Assignment assignment(gains);
  for (std::size_t row = 0; row < gains.extent(0); ++row) {
    assignment.assign(row);
  }
  return assignment.row_of_columns();
}

}  // namespace

std::vector<std::optional<std::size_t>> best_assignment(
    TensorView<const double, 2> gains) {
  const auto [rows, columns] = gains.extents();
  std::vector<std::optional<std::size_t>> column_of(rows);
  const bool turned = rows > columns;
  const auto found = row_of_columns(
      turned ? TensorView<const double, 2>(gains.data(), {columns, rows},
                                           {gains.stride(1), gains.stride(0)})
             : gains);
  for (std::size_t n = 0; n < found.size(); ++n) {
    if (found[n] != kNone) {
      column_of[turned ? n : found[n]] = turned ? found[n] : n;
    }
  }
  return column_of;
}

}  // namespace headwise::inline HEADWISE_ABI
