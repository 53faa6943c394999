// MatMul, as numpy.matmul, ONNX Runtime's FusedMatMul, and Gemm. Sums are in
// double, or for integers modulo 2^64, and rounded once.
#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/check.h"
#include "onnx/broadcast.h"
#include "onnx/contrib_operators.h"
#include "onnx/node_memory.h"
#include "onnx/numbers.h"
#include "onnx/operand_turn.h"
#include "onnx/operators.h"
#include "onnx/strided.h"
#include "onnx/sums.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

// Elements of a matrix, with the strides along its rows and its columns.
template <class In>
struct Matrix {
  const In* data;
  std::size_t row;
  std::size_t column;
};

// Columns of the result that are computed at a time, for some rows each: the
// sums are in registers, and the columns of b are read once.
constexpr std::size_t kColumns = 8;
constexpr std::size_t kRowsAtOnce = 4;

// c (rows, kColumns) = a (rows, k) b (k, kColumns), each sum in order.
// `columns` holds b without gaps.
template <std::size_t rows, class T, class In>
void multiply_tile(const Matrix<In>& a, const T* columns, std::size_t k,
                   std::array<std::array<T, kColumns>, kRowsAtOnce>& c) {
  c = {};
  for (std::size_t p = 0; p < k; ++p) {
    for (std::size_t i = 0; i < rows; ++i) {
      const auto factor = static_cast<T>(a.data[i * a.row + p * a.column]);
      for (std::size_t j = 0; j < kColumns; ++j) {
        c[i][j] += factor * columns[p * kColumns + j];
      }
    }
  }
}

// c (m, n), in C order, = a (m, k) b (k, n). `columns`: k * kColumns numbers to
// work with, which are 0 or from another product.
template <class T, class In>
void multiply(Matrix<In> a, Matrix<In> b, T* c, std::size_t m, std::size_t k,
              std::size_t n, std::vector<T>& columns) {
  if (k == 0) {  // operands without elements
    std::fill_n(c, m * n, T{});
    return;
  }
  std::array<std::array<T, kColumns>, kRowsAtOnce> tile;
  for (std::size_t j = 0; j < n; j += kColumns) {
    const std::size_t wide = std::min(kColumns, n - j);
    for (std::size_t p = 0; p < k; ++p) {
      for (std::size_t q = 0; q < wide; ++q) {
        columns[p * kColumns + q] =
            static_cast<T>(b.data[p * b.row + (j + q) * b.column]);
      }
    }
    for (std::size_t i = 0; i < m;) {
      const bool whole = m - i >= kRowsAtOnce;
      const std::size_t high = whole ? kRowsAtOnce : 1;
      const Matrix<In> rows{a.data + i * a.row, a.row, a.column};
      whole ? multiply_tile<kRowsAtOnce>(rows, columns.data(), k, tile)
            : multiply_tile<1>(rows, columns.data(), k, tile);
      for (std::size_t r = 0; r < high; ++r) {
        std::copy_n(tile[r].begin(), wide, c + (i + r) * n + j);
      }
      i += high;
    }
  }
}

// Calls `use` with the elements of two floating-point arrays: float32 where
// they are, others as double.
template <class Use>
auto with_reals(const Array& a, const Array& b, const Use& use) {
  if (a.dtype == DType::float32) {
    return use(reinterpret_cast<const float*>(a.data.data()),
               reinterpret_cast<const float*>(b.data.data()));
  }
  return use(doubles_of(a).data(), doubles_of(b).data());
}

// Axes of an operand as the product takes them, a vector with one of extent 1,
// and the strides along them.
struct Factor {
  std::vector<std::size_t> shape;
  std::vector<std::size_t> strides;

  Factor(const std::vector<std::size_t>& own, const OperandTurn& turn) {
    const auto steps = strides_of(own);
    for (const std::size_t axis : turn.order(own.size())) {
      shape.push_back(own[axis]);
      strides.push_back(steps[axis]);
    }
  }

  void add_axis(std::size_t at) {
    shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(at), 1);
    strides.insert(strides.begin() + static_cast<std::ptrdiff_t>(at), 0);
  }

  std::span<const std::size_t> batch() const {
    return std::span(shape).first(shape.size() - 2);
  }
  // Along the axes of a batch that this one is broadcast to.
  std::vector<std::size_t> batch_strides(std::size_t rank) const {
    std::vector<std::size_t> result(rank, 0);
    for (std::size_t i = 3; i <= shape.size(); ++i) {
      const std::size_t axis = shape.size() - i;
      result[rank - (i - 2)] = shape[axis] == 1 ? 0 : strides[axis];
    }
    return result;
  }
  template <class In>
  Matrix<In> matrix(const In* data) const {
    return {data, strides[strides.size() - 2], strides.back()};
  }
};

struct Product {
  Factor a;
  Factor b;
  std::vector<std::size_t> batch{};
  std::size_t m = 0;
  std::size_t k = 0;
  std::size_t n = 0;
  std::vector<std::size_t> shape{};  // without the axes that vectors got
};

Result<Product> product_of(const NodeCall& node, const OperandTurn& turn_a,
                           const OperandTurn& turn_b) {
  for (const std::size_t input : {std::size_t{0}, std::size_t{1}}) {
    if (node.in(input).shape.empty()) {
      return node.wrong_shape(input, "at least 1 axis");
    }
  }
  Product product{.a = Factor(node.in(0).shape, turn_a),
                  .b = Factor(node.in(1).shape, turn_b)};
  const bool vector_a = product.a.shape.size() == 1;
  const bool vector_b = product.b.shape.size() == 1;
  if (vector_a) {
    product.a.add_axis(0);
  }
  if (vector_b) {
    product.b.add_axis(1);
  }
  product.m = product.a.shape[product.a.shape.size() - 2];
  product.k = product.a.shape.back();
  product.n = product.b.shape.back();
  if (product.b.shape[product.b.shape.size() - 2] != product.k) {
    return node.wrong_shape(1, message(turn_b.matrix ? "a matrix of {} columns"
                                                     : "a matrix of {} rows",
                                       product.k));
  }
  auto batch = broadcast_shapes(product.a.batch(), product.b.batch());
  if (!batch) {
    return node.wrong_shape(1, message("axes that are broadcast to {}",
                                       shape_text(node.in(0).shape)));
  }
  product.batch = *std::move(batch);
  product.shape = product.batch;
  if (!vector_a) {
    product.shape.push_back(product.m);
  }
  if (!vector_b) {
    product.shape.push_back(product.n);
  }
  return product;
}

Result<Outputs> run_product(const NodeCall& node, const OperandTurn& turn_a,
                            const OperandTurn& turn_b, double factor) {
  HEADWISE_TRY(check_same_type(node));
  HEADWISE_ASSIGN(const auto product, product_of(node, turn_a, turn_b));
  const auto steps_a = product.a.batch_strides(product.batch.size());
  const auto steps_b = product.b.batch_strides(product.batch.size());
  const std::size_t area = product.m * product.n;
  HEADWISE_TRY(check_size(product.shape));
  const auto multiplied = [&]<class T>(const auto* a, const auto* b,
                                       T scale) -> Result<Outputs> {
    std::vector<T> sums(element_count(product.shape));
    auto columns = NodeMemory::numbers<T>(product.k * kColumns);
    T* out = sums.data();
    for (Odometer at(product.batch); !at.done(); at.next(), out += area) {
      multiply(product.a.matrix(a + at.offset(steps_a)),
               product.b.matrix(b + at.offset(steps_b)), out, product.m,
               product.k, product.n, columns);
    }
    for (T& sum : sums) {
      sum *= scale;
    }
    return one(array_of_sums(sums, product.shape, node.in(0).dtype));
  };
  if (!is_floating(node.in(0).dtype)) {
    return multiplied(terms_of<std::uint64_t>(node.in(0)).data(),
                      terms_of<std::uint64_t>(node.in(1)).data(),
                      std::uint64_t{1});
  }
  return with_reals(node.in(0), node.in(1), [&](const auto* a, const auto* b) {
    return multiplied(a, b, factor);
  });
}

}  // namespace

Result<Outputs> run_matmul(const NodeCall& node) {
  return run_product(node, {}, {}, 1);
}

Result<Outputs> run_fused_matmul(const NodeCall& node) {
  HEADWISE_TRY(check_floating(node, 0));
  std::array<bool, 4> turns{};
  constexpr std::array kTurns = {"transA", "transBatchA", "transB",
                                 "transBatchB"};
  for (std::size_t n = 0; n < kTurns.size(); ++n) {
    HEADWISE_ASSIGN(turns[n], node.flag(kTurns[n]));
  }
  HEADWISE_ASSIGN(const auto factor, node.number("alpha"));
  return run_product(node, {.matrix = turns[0], .batch = turns[1]},
                     {.matrix = turns[2], .batch = turns[3]},
                     factor.value_or(1));
}

Result<Outputs> run_gemm(const NodeCall& node) {
  HEADWISE_TRY(check_same_type(node));
  HEADWISE_TRY(check_floating(node, 0));
  HEADWISE_TRY(check_axes(node, 0, 2));
  HEADWISE_TRY(check_axes(node, 1, 2));
  HEADWISE_ASSIGN(const auto transposed_a, node.flag("transA"));
  HEADWISE_ASSIGN(const auto transposed_b, node.flag("transB"));
  HEADWISE_ASSIGN(const auto alpha, node.number("alpha"));
  HEADWISE_ASSIGN(const auto beta, node.number("beta"));
  const std::size_t m = node.in(0).shape[transposed_a ? 1 : 0];
  const std::size_t k = node.in(0).shape[transposed_a ? 0 : 1];
  const std::size_t n = node.in(1).shape[transposed_b ? 0 : 1];
  if (node.in(1).shape[transposed_b ? 1 : 0] != k) {
    return node.wrong_shape(1, message("a matrix of {} rows", k));
  }
  const std::vector<std::size_t> shape{m, n};
  HEADWISE_TRY(check_size(shape));
  std::vector<double> sums(m * n);
  const Factor a(node.in(0).shape, {.matrix = transposed_a});
  const Factor b(node.in(1).shape, {.matrix = transposed_b});
  auto columns = NodeMemory::numbers<double>(k * kColumns);
  with_reals(node.in(0), node.in(1),
             [&](const auto* from_a, const auto* from_b) {
               multiply(a.matrix(from_a), b.matrix(from_b), sums.data(), m, k,
                        n, columns);
             });
  std::vector<double> added;
  std::vector<std::size_t> steps(2, 0);
  if (node.has(2)) {
    if (!broadcasts_to(node.in(2).shape, shape)) {
      return node.wrong_shape(
          2, message("axes that are broadcast to {}", shape_text(shape)));
    }
    added = doubles_of(node.in(2));
    steps = broadcast_strides(node.in(2).shape, shape);
  }
  std::size_t i = 0;
  for (Odometer at(shape); !at.done(); at.next(), ++i) {
    sums[i] = alpha.value_or(1) * sums[i] +
              (added.empty() ? 0 : beta.value_or(1) * added[at.offset(steps)]);
  }
  return one(array_from(sums, shape, node.in(0).dtype));
}

}  // namespace headwise::inline HEADWISE_ABI
