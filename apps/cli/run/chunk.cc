#include "chunk.h"

#include <algorithm>
#include <cmath>

namespace headwise::cli {
namespace {

// Calls body(row of the chunk, b, row of the sequence's).
template <class Body>
void for_each_row(std::span<const Rows> rows, const Body& body) {
  std::size_t row = 0;
  for (std::size_t b = 0; b < rows.size(); ++b) {
    for (std::size_t n = 0; n < rows[b].count; ++n) {
      body(row++, b, n);
    }
  }
}

}  // namespace

std::vector<std::int64_t> offsets_of(std::span<const Rows> rows) {
  std::vector<std::int64_t> offsets = {0};
  for (const Rows& of_sequence : rows) {
    offsets.push_back(offsets.back() +
                      static_cast<std::int64_t>(of_sequence.count));
  }
  return offsets;
}

Result<Tensor<float, 4>> gather(const TensorView<const float, 4>& from,
                                std::span<const Rows> rows) {
  const auto total = static_cast<std::size_t>(offsets_of(rows).back());
  const std::size_t H = from.extent(2);
  const std::size_t D = from.extent(3);
  HEADWISE_ASSIGN(auto to, Tensor<float, 4>::create_unset({1, total, H, D}));
  for_each_row(rows, [&](std::size_t row, std::size_t b, std::size_t n) {
    for (std::size_t h = 0; h < H; ++h) {
      for (std::size_t d = 0; d < D; ++d) {
        to(0, row, h, d) = from(rows[b].batch, rows[b].first + n, h, d);
      }
    }
  });
  return to;
}

std::vector<Rows> past_of(const AttentionShape& shape) {
  std::vector<Rows> rows;
  for (std::size_t b = 0; b < shape.B; ++b) {
    const SequencePlace place = shape.sequence(b);
    rows.push_back({place.batch, place.first_key, place.Lkv - place.Lq});
  }
  return rows;
}

Chunk::Chunk(const AttentionShape& shape, std::size_t from, std::size_t most)
    : first(from) {
  for (std::size_t b = 0; b < shape.B; ++b) {
    const SequencePlace place = shape.sequence(b);
    const std::size_t done = std::min(first, place.Lq);
    const std::size_t count = std::min(most, place.Lq - done);
    const std::size_t before = place.Lkv - place.Lq + done;
    queries.push_back({place.batch, place.first_query + done, count});
    keys.push_back({place.batch, place.first_key + before, count});
    lengths.push_back(static_cast<std::int64_t>(before + count));
    all_keys.push_back(place.Lkv);
    longest = std::max(longest, count);
  }
}

namespace {

struct Query {
  std::size_t b;
  std::size_t n;  // in the chunk
};

// Whether a row of head h, or of the mean over all heads, is of a query without
// any key.
bool is_empty(const Tensor<float, 3>& lse, std::size_t row, std::size_t h,
              std::size_t heads) {
  const std::size_t some = lse.extent(1) / heads;
  bool empty = false;
  for (std::size_t n = h * some; n < (h + 1) * some; ++n) {
    empty = empty || std::isinf(lse(0, n, row));
  }
  return empty;
}

// Attention weights or scores of a query. Keys after the chunk keep what `to`
// has, or are NaN where a row without any key is NaN (EmptyRow::nan).
void copy_pairs(const Tensor<float, 4>& from, const Tensor<float, 3>& lse,
                std::size_t row, const Query& query, const Chunk& chunk,
                Tensor<float, 4>& to) {
  const auto [b, n] = query;
  const auto keys = static_cast<std::size_t>(chunk.lengths[b]);
  for (std::size_t h = 0; from.size() != 0 && h < to.extent(1); ++h) {
    float* const pairs = &to(b, h, chunk.first + n, 0);
    const float* const some = &from(b, h, n, 0);
    std::copy_n(some, keys, pairs);
    if (std::isnan(some[0]) && is_empty(lse, row, h, to.extent(1))) {
      std::fill(pairs + keys, pairs + chunk.all_keys[b], some[0]);
    }
  }
}

}  // namespace

void ChunkOutputs::copy_to(RunResult& result,
                           const TensorView<float, 4>& output_of_call,
                           const Chunk& chunk) const {
  for_each_row(
      chunk.queries, [&](std::size_t row, std::size_t b, std::size_t n) {
        const Rows& of_call = chunk.queries[b];
        const std::size_t at = of_call.first + n;
        for (std::size_t h = 0; h < output.extent(2); ++h) {
          for (std::size_t d = 0; d < output.extent(3); ++d) {
            output_of_call(of_call.batch, at, h, d) = output(0, row, h, d);
          }
        }
        for (std::size_t h = 0; h < lse.extent(1); ++h) {
          result.lse(of_call.batch, h, at) = lse(0, h, row);
        }
        const Query query = {b, n};
        copy_pairs(attn_weights, lse, row, query, chunk, result.attn_weights);
        copy_pairs(scores, lse, row, query, chunk, result.scores);
      });
}

}  // namespace headwise::cli
