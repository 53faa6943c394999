// Norms of queries and keys in binary64 by plain loops, there and back: what
// those of the library come near.
#pragma once

#include <cmath>
#include <cstddef>

#include "headwise/base/tensor.h"
#include "headwise/steps/norm_heads.h"
#include "support/tensors.h"

namespace headwise::testing_support {

struct WideNormGradients {
  Tensor<double, 4> x;
  Tensor<double, 1> weight;
  Tensor<double, 1> bias;
};

// x and y are (B, L, H, D).
class WideNorm {
 public:
  WideNorm(const QkNorm& norm, const HeadNormParams& params,
           const Tensor<double, 4>& x)
      : norm_(norm), params_(params), x_(x) {}

  Tensor<double, 4> forward() const {
    auto y = Tensor<double, 4>::create(x_.extents()).value();
    for (std::size_t row = 0; row < rows(); ++row) {
      const Moments of = moments(row);
      for (std::size_t e = 0; e < size(); ++e) {
        const std::size_t p = param(row, e);
        y.data()[row * size() + e] =
            z(row, e, of) * factor(p) +
            (params_.bias.size() != 0 ? double{params_.bias(p)} : 0);
      }
    }
    return y;
  }

  WideNormGradients backward(const Tensor<double, 4>& d_y) const {
    const Extents<1> count = params_.weight.extents();
    WideNormGradients d{Tensor<double, 4>::create(x_.extents()).value(),
                        Tensor<double, 1>::create(count).value(),
                        Tensor<double, 1>::create(count).value()};
    const auto E = static_cast<double>(size());
    for (std::size_t row = 0; row < rows(); ++row) {
      const Moments of = moments(row);
      const auto d_at = [&](std::size_t e) {
        return d_y.data()[row * size() + e];
      };
      double mean_g = 0;
      double mean_gz = 0;
      for (std::size_t e = 0; e < size(); ++e) {
        const std::size_t p = param(row, e);
        d.weight(p) += d_at(e) * z(row, e, of);
        d.bias(p) += d_at(e);
        mean_g += layer() ? d_at(e) * factor(p) / E : 0;
        mean_gz += d_at(e) * factor(p) * z(row, e, of) / E;
      }
      for (std::size_t e = 0; e < size(); ++e) {
        d.x.data()[row * size() + e] = (d_at(e) * factor(param(row, e)) -
                                        mean_g - z(row, e, of) * mean_gz) *
                                       of.rate;
      }
    }
    return d;
  }

 private:
  struct Moments {
    double mean;
    double rate;
  };

  bool layer() const { return norm_.kind == NormKind::layer; }
  std::size_t size() const {
    return norm_.over == NormOver::projection ? x_.extent(2) * x_.extent(3)
                                              : x_.extent(3);
  }
  std::size_t rows() const { return x_.size() / size(); }
  std::size_t param(std::size_t row, std::size_t e) const {
    return norm_.over == NormOver::each_head
               ? row % x_.extent(2) * x_.extent(3) + e
               : e;
  }
  double factor(std::size_t p) const {
    return double{params_.weight(p)} + (norm_.plus_one ? 1 : 0);
  }
  double x(std::size_t row, std::size_t e) const {
    return x_.data()[row * size() + e];
  }
  double z(std::size_t row, std::size_t e, const Moments& of) const {
    return (x(row, e) - of.mean) * of.rate;
  }
  Moments moments(std::size_t row) const {
    const auto E = static_cast<double>(size());
    double mean = 0;
    double square = 0;
    for (std::size_t e = 0; layer() && e < size(); ++e) {
      mean += x(row, e) / E;
    }
    for (std::size_t e = 0; e < size(); ++e) {
      square += (x(row, e) - mean) * (x(row, e) - mean) / E;
    }
    return {mean, 1 / std::sqrt(square + norm_.eps)};
  }

  const QkNorm& norm_;
  const HeadNormParams& params_;
  const Tensor<double, 4>& x_;
};

}  // namespace headwise::testing_support
