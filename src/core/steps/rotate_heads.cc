#include "headwise/steps/rotate_heads.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/out_of_memory.h"
#include "steps/check_rotation.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

using Numbers = std::vector<std::int64_t>;

// Row numbers of the sequences of a ragged batch, side by side.
Numbers query_rows(const AttentionShape& shape, const QueryStart& start) {
  Numbers rows;
  rows.reserve(shape.batches() * shape.query_rows());
  for (std::size_t b = 0; b < shape.B; ++b) {
    for (std::size_t i = 0; i < shape.sequence(b).Lq; ++i) {
      rows.push_back(start.of(b, shape) + static_cast<std::int64_t>(i));
    }
  }
  return rows;
}
Numbers key_rows(const AttentionShape& shape) {
  Numbers rows;
  rows.reserve(shape.key_rows());
  for (std::size_t b = 0; b < shape.B; ++b) {
    for (std::size_t j = 0; j < shape.sequence(b).Lkv; ++j) {
      rows.push_back(static_cast<std::int64_t>(j));
    }
  }
  return rows;
}

// Positions, and the memory of those that were not given.
struct Positions {
  RotaryPositions at{};
  Numbers rows{};
};

Positions given_or(TensorView<const std::int64_t, 2> given,
                   const AttentionShape& shape, std::size_t length,
                   Numbers rows) {
  Positions positions{.rows = std::move(rows)};
  if (given.data() != nullptr) {
    positions.at.positions = given;
  } else if (!positions.rows.empty()) {
    positions.at.positions = {positions.rows.data(), {shape.batches(), length}};
  }
  return positions;
}

Positions query_positions(const AttentionShape& shape, const QueryStart& start,
                          TensorView<const std::int64_t, 2> given) {
  const bool same = !shape.offsets.ragged() && !start.differs_by_sequence();
  const bool by_row = given.data() == nullptr && !same;
  Positions positions = given_or(given, shape, shape.query_rows(),
                                 by_row ? query_rows(shape, start) : Numbers{});
  positions.at.start = same && shape.B != 0 ? start.of(0, shape) : 0;
  return positions;
}

Positions key_positions(const AttentionShape& shape,
                        TensorView<const std::int64_t, 2> given) {
  const bool by_row = given.data() == nullptr && shape.offsets.ragged();
  return given_or(given, shape, shape.key_rows(),
                  by_row ? key_rows(shape) : Numbers{});
}

// The error about one side: "positions[0][1]" of the queries is
// query_positions[0][1], and where rows stand at their start, that is named.
Status named(const Status& checked, std::string_view side,
             const std::string& start = "start") {
  constexpr std::string_view kPositions = "positions";
  if (checked) {
    return checked;
  }
  const Error& error = checked.error();
  ErrorDetails details = error.details();
  std::string& argument = details.argument;
  if (argument == "positions.start") {
    argument = start;
  } else if (argument.starts_with(kPositions)) {
    argument = std::string(side) + "_" + argument;
  } else if (argument == "x") {
    argument = side;
  }
  return Error{error.code(), std::move(details)};
}

// Rows of one sequence from `start` on.
Status check_rotated_rows(const Rotary& rotary, const TensorView<float, 4>& x,
                          std::size_t rows, std::int64_t start) {
  return rotary.check(
      TensorView<const float, 4>(x.data(), {1, rows, x.extent(2), x.extent(3)},
                                 x.strides()),
      {.start = start});
}

Status check_queries(const Rotary& rotary, const TensorView<float, 4>& query,
                     const AttentionShape& shape, const QueryStart& start,
                     TensorView<const std::int64_t, 2> given) {
  if (given.data() != nullptr) {
    return named(rotary.check(query, {.positions = given}), "query");
  }
  for (std::size_t b = 0; b < shape.B; ++b) {
    HEADWISE_TRY(named(check_rotated_rows(rotary, query, shape.sequence(b).Lq,
                                          start.of(b, shape)),
                       "query",
                       start.differs_by_sequence()
                           ? "query_start[" + std::to_string(b) + "]"
                           : "query_start"));
  }
  return ok();
}

Status check_keys(const Rotary& rotary, const TensorView<float, 4>& key,
                  const AttentionShape& shape,
                  TensorView<const std::int64_t, 2> given) {
  if (given.data() != nullptr) {
    return named(rotary.check(key, {.positions = given}), "key");
  }
  for (std::size_t b = 0; b < shape.B; ++b) {
    HEADWISE_TRY(named(
        check_rotated_rows(rotary, key, shape.sequence(b).Lkv, 0), "key"));
  }
  return ok();
}

}  // namespace
}  // namespace headwise::inline HEADWISE_ABI

namespace headwise::internal::inline HEADWISE_ABI {

Status check_rotation(const Rotary& rotary, const QueriesAndKeys& heads,
                      const AttentionShape& shape,
                      const QueryStart& query_start,
                      const HeadPositions& positions) {
  HEADWISE_TRY(check_queries(rotary, heads.query, shape, query_start,
                             positions.query_positions));
  return check_keys(rotary, heads.key, shape, positions.key_positions);
}

}  // namespace headwise::internal::inline HEADWISE_ABI

namespace headwise::inline HEADWISE_ABI {
namespace {

Status rotate(const Rotary& rotary, bool back, const QueriesAndKeys& heads,
              const AttentionShape& shape, const QueryStart& query_start,
              const HeadPositions& given, const Executor& executor) {
  const auto turn = [&](TensorView<float, 4> x, const Positions& positions) {
    return back ? rotary.rotate_back(x, x, positions.at, executor)
                : rotary.rotate(x, x, positions.at, executor);
  };
  HEADWISE_TRY(
      internal::check_rotation(rotary, heads, shape, query_start, given));
  HEADWISE_TRY(turn(
      heads.query, query_positions(shape, query_start, given.query_positions)));
  return turn(heads.key, key_positions(shape, given.key_positions));
}

}  // namespace

Status rotate_heads(const Rotary& rotary, const QueriesAndKeys& heads,
                    const AttentionShape& shape, const QueryStart& query_start,
                    const HeadPositions& positions,
                    const Executor& executor) try {
  return rotate(rotary, false, heads, shape, query_start, positions, executor);
} catch (...) {
  return caught_out_of_memory();
}

Status rotate_heads_back(const Rotary& rotary, const QueriesAndKeys& gradients,
                         const AttentionShape& shape,
                         const QueryStart& query_start,
                         const HeadPositions& positions,
                         const Executor& executor) try {
  return rotate(rotary, true, gradients, shape, query_start, positions,
                executor);
} catch (...) {
  return caught_out_of_memory();
}

}  // namespace headwise::inline HEADWISE_ABI
