// MatMul, as numpy.matmul, and Gemm. Sums are in double, or for integers modulo
// 2^64, and rounded once.
#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>

#include "base/check.h"
#include "onnx/broadcast.h"
#include "onnx/node_memory.h"
#include "onnx/numbers.h"
#include "onnx/operators.h"
#include "onnx/strided.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

// c (m, n) = a (m, k) b (k, n), each in C order.
template <class T>
void multiply(const T* a, const T* b, T* c, std::size_t m, std::size_t k,
              std::size_t n) {
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t p = 0; p < k; ++p) {
      const T factor = a[i * k + p];
      for (std::size_t j = 0; j < n; ++j) {
        c[i * n + j] += factor * b[p * n + j];
      }
    }
  }
}

template <class T>
std::vector<T> numbers_of(const Array& array) {
  if constexpr (std::is_same_v<T, double>) {
    return doubles_of(array);
  } else {
    const auto numbers = integers_of(array);
    NodeMemory::use(numbers.size() * sizeof(T));
    return {numbers.begin(), numbers.end()};
  }
}

Result<Array> stored(const std::vector<double>& numbers,
                     std::vector<std::size_t> shape, DType dtype) {
  return array_from(numbers, std::move(shape), dtype);
}
Result<Array> stored(const std::vector<std::uint64_t>& numbers,
                     std::vector<std::size_t> shape, DType dtype) {
  return array_from(
      std::span(reinterpret_cast<const std::int64_t*>(numbers.data()),
                numbers.size()),
      std::move(shape), dtype);
}

// The shapes of a product: vectors get an axis of extent 1, which the result
// loses again.
struct Product {
  std::vector<std::size_t> a;
  std::vector<std::size_t> b;
  std::vector<std::size_t> batch{};
  std::size_t m = 0;
  std::size_t k = 0;
  std::size_t n = 0;
  std::vector<std::size_t> shape{};
};

Result<Product> product_of(const NodeCall& node) {
  for (const std::size_t input : {std::size_t{0}, std::size_t{1}}) {
    if (node.in(input).shape.empty()) {
      return node.wrong_shape(input, "at least 1 axis");
    }
  }
  Product product{.a = node.in(0).shape, .b = node.in(1).shape};
  const bool vector_a = product.a.size() == 1;
  const bool vector_b = product.b.size() == 1;
  if (vector_a) {
    product.a.insert(product.a.begin(), 1);
  }
  if (vector_b) {
    product.b.push_back(1);
  }
  product.m = product.a[product.a.size() - 2];
  product.k = product.a.back();
  product.n = product.b.back();
  if (product.b[product.b.size() - 2] != product.k) {
    return node.wrong_shape(
        1, "a matrix of " + std::to_string(product.k) + " rows");
  }
  product.a.resize(product.a.size() - 2);
  product.b.resize(product.b.size() - 2);
  const auto& longer =
      product.a.size() >= product.b.size() ? product.a : product.b;
  product.batch = longer;
  for (std::size_t i = 1; i <= longer.size(); ++i) {
    std::size_t& extent = product.batch[longer.size() - i];
    for (const auto* each : {&product.a, &product.b}) {
      if (i <= each->size() && (*each)[each->size() - i] != 1) {
        extent = (*each)[each->size() - i];
      }
    }
  }
  if (!broadcasts_to(product.a, product.batch) ||
      !broadcasts_to(product.b, product.batch)) {
    return node.wrong_shape(
        1, "axes that are broadcast to " + shape_text(node.in(0).shape));
  }
  product.shape = product.batch;
  if (!vector_a) {
    product.shape.push_back(product.m);
  }
  if (!vector_b) {
    product.shape.push_back(product.n);
  }
  return product;
}

template <class T>
Result<Array> multiplied(const NodeCall& node, const Product& product) {
  const auto a = numbers_of<T>(node.in(0));
  const auto b = numbers_of<T>(node.in(1));
  HEADWISE_TRY(check_size(product.shape));
  std::vector<T> c(element_count(product.shape));
  const auto steps_a = broadcast_strides(product.a, product.batch);
  const auto steps_b = broadcast_strides(product.b, product.batch);
  T* out = c.data();
  for (Odometer at(product.batch); !at.done();
       at.next(), out += product.m * product.n) {
    multiply(a.data() + at.offset(steps_a) * product.m * product.k,
             b.data() + at.offset(steps_b) * product.k * product.n, out,
             product.m, product.k, product.n);
  }
  return stored(c, product.shape, node.in(0).dtype);
}

// A matrix, transposed if asked for.
template <class T>
std::vector<T> matrix_of(const Array& array, bool transposed) {
  std::vector<T> numbers = numbers_of<T>(array);
  if (!transposed) {
    return numbers;
  }
  const std::size_t rows = array.shape[0];
  const std::size_t columns = array.shape[1];
  auto result = NodeMemory::numbers<T>(numbers.size());
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) {
      result[j * rows + i] = numbers[i * columns + j];
    }
  }
  return result;
}

}  // namespace

Result<Outputs> run_matmul(const NodeCall& node) {
  HEADWISE_TRY(check_same_type(node));
  const auto product = product_of(node);
  HEADWISE_TRY(product);
  return one(is_floating(node.in(0).dtype)
                 ? multiplied<double>(node, *product)
                 : multiplied<std::uint64_t>(node, *product));
}

Result<Outputs> run_gemm(const NodeCall& node) {
  HEADWISE_TRY(check_same_type(node));
  HEADWISE_TRY(check_floating(node, 0));
  for (const std::size_t input : {std::size_t{0}, std::size_t{1}}) {
    if (node.in(input).shape.size() != 2) {
      return node.wrong_shape(input, "2 axes");
    }
  }
  const auto transposed_a = node.flag("transA");
  HEADWISE_TRY(transposed_a);
  const auto transposed_b = node.flag("transB");
  HEADWISE_TRY(transposed_b);
  const auto alpha = node.number("alpha");
  HEADWISE_TRY(alpha);
  const auto beta = node.number("beta");
  HEADWISE_TRY(beta);
  const std::size_t m = node.in(0).shape[*transposed_a ? 1 : 0];
  const std::size_t k = node.in(0).shape[*transposed_a ? 0 : 1];
  const std::size_t n = node.in(1).shape[*transposed_b ? 0 : 1];
  if (node.in(1).shape[*transposed_b ? 1 : 0] != k) {
    return node.wrong_shape(1, "a matrix of " + std::to_string(k) + " rows");
  }
  const std::vector<std::size_t> shape{m, n};
  HEADWISE_TRY(check_size(shape));
  std::vector<double> sums(m * n);
  multiply(matrix_of<double>(node.in(0), *transposed_a).data(),
           matrix_of<double>(node.in(1), *transposed_b).data(), sums.data(), m,
           k, n);
  std::vector<double> added;
  std::vector<std::size_t> steps(2, 0);
  if (node.has(2)) {
    if (!broadcasts_to(node.in(2).shape, shape)) {
      return node.wrong_shape(
          2, "axes that are broadcast to " + shape_text(shape));
    }
    added = doubles_of(node.in(2));
    steps = broadcast_strides(node.in(2).shape, shape);
  }
  std::size_t i = 0;
  for (Odometer at(shape); !at.done(); at.next(), ++i) {
    sums[i] = alpha->value_or(1) * sums[i] +
              (added.empty() ? 0 : beta->value_or(1) * added[at.offset(steps)]);
  }
  return one(array_from(sums, shape, node.in(0).dtype));
}

}  // namespace headwise::inline HEADWISE_ABI
