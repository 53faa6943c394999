// RotaryEmbedding, opset 23: pairs of features turned by angles of caches.
//
//   X             (B, H, L, D), or (B, L, H * D) with num_heads
//   cos, sin      (positions, R / 2) with position_ids (B, L), else (B, L, R /
//   2)
//
// The first R = rotary_embedding_dim features of a head turn, by default all of
// them; a pair is a feature and the one R / 2 behind it, or its neighbour if
// interleaved. Each product and each sum is rounded to the type of X.
#include <cstdint>
#include <numeric>
#include <string>

#include "onnx/node_memory.h"
#include "onnx/numbers.h"
#include "onnx/operators.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

struct RotarySizes {
  std::size_t B = 0;
  std::size_t H = 0;
  std::size_t L = 0;
  std::size_t D = 0;
  std::size_t rotated = 0;
  bool heads_merged = false;

  std::size_t row(std::size_t b, std::size_t h, std::size_t i) const {
    return heads_merged ? (b * L + i) * H + h : (b * H + h) * L + i;
  }
};

Result<RotarySizes> rotary_sizes(const NodeCall& node) {
  const auto& shape = node.in(0).shape;
  if (shape.size() != 3 && shape.size() != 4) {
    return node.wrong_shape(0, "3 or 4 axes");
  }
  RotarySizes sizes{.B = shape[0], .heads_merged = shape.size() == 3};
  HEADWISE_ASSIGN(const auto heads, node.integer("num_heads", 0));
  if (sizes.heads_merged) {
    if (heads < 1 || shape[2] % static_cast<std::size_t>(heads) != 0) {
      return node.attribute("num_heads")
          .bad_data(message("is {}", heads),
                    message("a divisor of the {} features of {}", shape[2],
                            node.input_name(0)));
    }
    sizes.H = static_cast<std::size_t>(heads);
    sizes.L = shape[1];
    sizes.D = shape[2] / sizes.H;
  } else {
    sizes.H = shape[1];
    sizes.L = shape[2];
    sizes.D = shape[3];
  }
  HEADWISE_ASSIGN(const auto rotated, node.integer("rotary_embedding_dim", 0));
  const auto most = static_cast<std::int64_t>(sizes.D);
  const std::int64_t count = rotated == 0 ? most : rotated;
  if (count < 0 || count > most || count % 2 != 0) {
    return node.attribute("rotary_embedding_dim")
        .bad_data(message("is {}", count),
                  message("an even number up to {}", most));
  }
  sizes.rotated = static_cast<std::size_t>(count);
  return sizes;
}

// Which row of the caches the tokens take, (B, L).
Result<std::vector<std::size_t>> cache_rows(const NodeCall& node,
                                            const RotarySizes& sizes) {
  const std::size_t half = sizes.rotated / 2;
  const bool positions = node.has(3);
  const auto& cos = node.in(1).shape;
  std::vector<std::size_t> expected{sizes.B, sizes.L, half};
  if (positions) {
    expected = {cos.empty() ? 0 : cos[0], half};
  }
  for (const std::size_t input : {std::size_t{1}, std::size_t{2}}) {
    HEADWISE_TRY(check_shape_of(node, input, expected));
  }
  auto rows = NodeMemory::numbers<std::size_t>(sizes.B * sizes.L);
  if (!positions) {
    std::iota(rows.begin(), rows.end(), std::size_t{0});
    return rows;
  }
  HEADWISE_TRY(check_type(node, 3, DType::int64));
  HEADWISE_TRY(check_shape_of(node, 3, {sizes.B, sizes.L}));
  const std::vector<std::int64_t> given = integers_of(node.in(3));
  for (std::size_t i = 0; i < given.size(); ++i) {
    const std::int64_t position = given[i];
    if (position < 0 || position >= static_cast<std::int64_t>(cos[0])) {
      return node.input(3).error(ErrorCode::out_of_range,
                                 message("has {}", position),
                                 message("0 to {} - 1", cos[0]));
    }
    rows[i] = static_cast<std::size_t>(position);
  }
  return rows;
}

}  // namespace

Result<Outputs> run_rotary_embedding(const NodeCall& node) {
  HEADWISE_TRY(check_floating(node, 0));
  HEADWISE_TRY(check_same_type(node, 1));
  HEADWISE_TRY(check_same_type(node, 2));
  HEADWISE_ASSIGN(const auto interleaved, node.flag("interleaved"));
  HEADWISE_ASSIGN(const auto sizes, rotary_sizes(node));
  HEADWISE_ASSIGN(const auto rows, cache_rows(node, sizes));
  const DType dtype = node.in(0).dtype;
  std::vector<double> x = doubles_of(node.in(0));
  const std::vector<double> cos = doubles_of(node.in(1));
  const std::vector<double> sin = doubles_of(node.in(2));
  const std::size_t half = sizes.rotated / 2;
  for (std::size_t b = 0; b < sizes.B; ++b) {
    for (std::size_t h = 0; h < sizes.H; ++h) {
      for (std::size_t i = 0; i < sizes.L; ++i) {
        double* features = x.data() + sizes.row(b, h, i) * sizes.D;
        const std::size_t angles = rows[b * sizes.L + i] * half;
        for (std::size_t pair = 0; pair < half; ++pair) {
          double& first = features[interleaved ? 2 * pair : pair];
          double& second = features[interleaved ? 2 * pair + 1 : pair + half];
          const double c = cos[angles + pair];
          const double s = sin[angles + pair];
          const double turned =
              rounded(c * first, dtype) - rounded(s * second, dtype);
          second = rounded(s * first, dtype) + rounded(c * second, dtype);
          first = turned;
        }
      }
    }
  }
  return one(array_from(x, node.in(0).shape, dtype));
}

}  // namespace headwise::inline HEADWISE_ABI
