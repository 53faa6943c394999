#include "own_rows.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace headwise::cli {
namespace {

// Where the rows of a rank go, as bytes: (rows, H, D).
struct OwnRows {
  std::span<std::byte> bytes;
  std::size_t H;
  std::size_t L;  // of the file
  std::size_t D;
  std::size_t item;

  std::span<std::byte> part(std::size_t first, std::size_t count) const {
    return bytes.subspan(first * item, count * item);
  }
};

Status read_rows(const TensorFile& file, const OwnRows& own, std::size_t batch,
                 std::size_t first, std::size_t count, std::size_t n) {
  const std::size_t row = own.H * own.D;
  return file.read((batch * own.L + first) * row,
                   own.part(n * row, count * row));
}

// The same where the rows of a head follow one another.
Status read_rows_of_heads(const TensorFile& file, const OwnRows& own,
                          std::size_t batch, std::size_t first,
                          std::size_t count, std::size_t n) {
  std::vector<std::byte> of_head(count * own.D * own.item);
  for (std::size_t h = 0; h < own.H; ++h) {
    HEADWISE_TRY(
        file.read(((batch * own.H + h) * own.L + first) * own.D, of_head));
    for (std::size_t i = 0; i < count; ++i) {
      std::ranges::copy(
          std::span(of_head).subspan(i * own.D * own.item, own.D * own.item),
          own.part(((n + i) * own.H + h) * own.D, own.D).begin());
    }
  }
  return ok();
}

// Of each sequence in a file.
struct Sizes {
  std::size_t H, L, D;
};

// (1, rows, H, D).
Result<Array> read_pieces(const RankRows& rows, Side side,
                          const TensorFile& file, const Sizes& sizes,
                          bool heads_first) {
  const auto [H, L, D] = sizes;
  const std::size_t count = rows.own_count(side);
  Array own{file.dtype(), {1, count, H, D}, {}};
  const std::size_t item = size_of(own.dtype);
  own.data.resize(count * H * D * item);
  const OwnRows to = {own.data, H, L, D, item};
  HEADWISE_TRY(
      rows.for_each_own_piece(side, [&](std::size_t batch, std::size_t first,
                                        std::size_t tokens, std::size_t n) {
        return heads_first
                   ? read_rows_of_heads(file, to, batch, first, tokens, n)
                   : read_rows(file, to, batch, first, tokens, n);
      }));
  return own;
}

}  // namespace

Result<Array> read_own_rows(const RankRows& rows, Side side,
                            const TensorFile& file, bool heads_first) {
  const std::vector<std::size_t> shape = file.shape();
  const std::size_t last = shape.size() - 1;
  const std::size_t H = shape[heads_first ? last - 2 : last - 1];
  const std::size_t L = shape[heads_first ? last - 1 : last - 2];
  return read_pieces(rows, side, file, {H, L, shape[last]}, heads_first);
}

Result<Array> read_own_tokens(const RankRows& rows, Side side,
                              const TensorFile& file) {
  const std::vector<std::size_t> shape = file.shape();
  const std::size_t last = shape.size() - 1;
  HEADWISE_ASSIGN(
      auto own,
      read_pieces(rows, side, file, {1, shape[last - 1], shape[last]}, false));
  own.shape = {1, own.shape[1], shape[last]};
  return own;
}

}  // namespace headwise::cli
