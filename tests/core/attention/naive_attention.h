// Attention written once more, as in a textbook and apart from the library:
// whole matrices in binary64, exp without a shift. For small scores only.
#pragma once

#include <cmath>
#include <cstddef>
#include <functional>
#include <vector>

#include "attention/attention_call.h"

namespace headwise::testing_support {

class Matrix {
 public:
  Matrix(std::size_t rows, std::size_t columns)
      : rows_(rows), columns_(columns), cells_(rows * columns) {}

  std::size_t rows() const { return rows_; }
  std::size_t columns() const { return columns_; }
  double& at(std::size_t r, std::size_t c) { return cells_[r * columns_ + c]; }
  double at(std::size_t r, std::size_t c) const {
    return cells_[r * columns_ + c];
  }

 private:
  std::size_t rows_;
  std::size_t columns_;
  std::vector<double> cells_;
};

inline Matrix times(const Matrix& a, const Matrix& b) {
  Matrix product(a.rows(), b.columns());
  for (std::size_t r = 0; r < a.rows(); ++r) {
    for (std::size_t c = 0; c < b.columns(); ++c) {
      for (std::size_t x = 0; x < a.columns(); ++x) {
        product.at(r, c) += a.at(r, x) * b.at(x, c);
      }
    }
  }
  return product;
}

inline Matrix transposed(const Matrix& a) {
  Matrix result(a.columns(), a.rows());
  for (std::size_t r = 0; r < a.rows(); ++r) {
    for (std::size_t c = 0; c < a.columns(); ++c) {
      result.at(c, r) = a.at(r, c);
    }
  }
  return result;
}

// Head h of sequence b as a matrix of its tokens.
template <class T>
Matrix head_of(const Tensor<T, 4>& blhd, std::size_t b, std::size_t h) {
  Matrix head(blhd.extent(1), blhd.extent(3));
  for (std::size_t l = 0; l < head.rows(); ++l) {
    for (std::size_t d = 0; d < head.columns(); ++d) {
      head.at(l, d) = static_cast<double>(blhd(b, l, h, d));
    }
  }
  return head;
}

// Of one query-key pair: whether it is allowed, or what its weight is times.
using AllowedPair = std::function<bool(std::size_t b, std::size_t h,
                                       std::size_t i, std::size_t j)>;
using PairFactor = std::function<double(std::size_t b, std::size_t h,
                                        std::size_t i, std::size_t j)>;
// What becomes of its scaled score.
using PairScore = std::function<double(
    double score, std::size_t b, std::size_t h, std::size_t i, std::size_t j)>;

// Rows without a key give zeros.
template <class T>
Outputs<double> naive_attention(
    const Inputs<T>& in, double scale,
    const AllowedPair& allowed = [](auto...) { return true; },
    const PairFactor& dropout = [](auto...) { return 1.0; },
    const PairScore& terms = [](double score, auto...) { return score; }) {
  const auto [B, Lq, Hq, D] = in.query.extents();
  const std::size_t Lkv = in.key.extent(1);
  const std::size_t group = Hq / in.key.extent(2);
  Outputs<double> out{
      Tensor<double, 4>::create({B, Lq, Hq, in.value.extent(3)}).value(),
      Tensor<double, 4>::create({B, Hq, Lq, Lkv}).value(),
      Tensor<double, 3>::create({B, Hq, Lq}).value()};
  for (std::size_t b = 0; b < B; ++b) {
    for (std::size_t h = 0; h < Hq; ++h) {
      Matrix weights = times(head_of(in.query, b, h),
                             transposed(head_of(in.key, b, h / group)));
      for (std::size_t i = 0; i < Lq; ++i) {
        double sum = 0;
        for (std::size_t j = 0; j < Lkv; ++j) {
          weights.at(i, j) =
              allowed(b, h, i, j)
                  ? std::exp(terms(scale * weights.at(i, j), b, h, i, j))
                  : 0;
          sum += weights.at(i, j);
        }
        out.lse(b, h, i) = std::log(sum);
        for (std::size_t j = 0; j < Lkv; ++j) {
          weights.at(i, j) /= sum == 0 ? 1 : sum;
          out.attn_weights(b, h, i, j) = weights.at(i, j);
          weights.at(i, j) *= dropout(b, h, i, j);
        }
      }
      const Matrix context = times(weights, head_of(in.value, b, h / group));
      for (std::size_t i = 0; i < Lq; ++i) {
        for (std::size_t d = 0; d < context.columns(); ++d) {
          out.output(b, i, h, d) = context.at(i, d);
        }
      }
    }
  }
  return out;
}

}  // namespace headwise::testing_support
