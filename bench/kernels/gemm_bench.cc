// A projection of E features to E: all the rows of a task of the layer, and one
// row, which is as fast as its parameters can be read.
#include <memory>
#include <vector>

#include "kernel_loop.h"
#include "kernels/gemm.h"
#include "kernels/pair_gemm.h"
#include "kernels/pair_tile.h"

namespace headwise {
namespace {

using namespace kernels;  // NOLINT(google-build-using-namespace): its loops

struct Projection {
  Projection(std::size_t row_count, std::size_t embed_dim)
      : E(embed_dim),
        x(drawn(row_count * E, 1)),
        weight(drawn(E * E, 2)),
        bias(drawn(E, 3)),
        strips(drawn(count_strips(E) * strip_size(E), 4)),
        pairs(drawn(count_strips(E) * pair_strip_size(E), 6)),
        y(drawn(row_count * E, 5)) {
    pack();
    pair_strips(strips.data(), E, E, pairs.data());
    for (std::size_t row = 0; row < row_count; ++row) {
      x_rows.push_back(x.data() + row * E);
      y_rows.push_back(y.data() + row * E);
    }
  }

  void pack() { pack_strips(weight.data(), bias.data(), E, E, strips.data()); }

  std::size_t E;
  Tensor<float, 1> x;       // (rows, E)
  Tensor<float, 1> weight;  // (E, E)
  Tensor<float, 1> bias;
  Tensor<float, 1> strips;
  Tensor<float, 1> pairs;
  Tensor<float, 1> y;  // (rows, E)
  std::vector<const float*> x_rows;
  std::vector<float*> y_rows;
};

void multiply(Projection& p) {
  gemm().multiply({p.x_rows.data(), 1, p.y_rows.data(), p.x_rows.size()},
                  p.strips.data(), p.E, p.E);
}
// The first half of each row of x is read as pairs: any bits are as fast.
void multiply_pairs(Projection& p) {
  pair_gemm().multiply({p.x_rows.data(), 1, p.y_rows.data(), p.x_rows.size()},
                       p.pairs.data(), count_pairs(p.E), p.E);
}
void plain_multiply(Projection& p) {
  for (std::size_t row = 0; row < p.x_rows.size(); ++row) {
    for (std::size_t o = 0; o < p.E; ++o) {
      float sum = 0;
      for (std::size_t i = 0; i < p.E; ++i) {
        sum += p.x_rows[row][i] * p.weight(o * p.E + i);
      }
      p.y_rows[row][o] = sum + p.bias(o);
    }
  }
}
void pack(Projection& p) { p.pack(); }

Prepare on_rows(std::size_t rows, std::size_t E, void (*loop)(Projection&)) {
  return [rows, E, loop] {
    const auto projection = std::make_shared<Projection>(rows, E);
    return [projection, loop] { loop(*projection); };
  };
}

}  // namespace

void add_gemm(const std::string& target) {
  for (const std::size_t E : {512, 768}) {
    const auto parameters = static_cast<double>(E * E);
    const std::string features = "/E:" + std::to_string(E);
    for (const std::size_t rows : {132, 1}) {
      const std::string size = features + "/rows:" + std::to_string(rows);
      const double products = parameters * static_cast<double>(rows);
      add_products("multiply/" + target + size, products,
                   on_rows(rows, E, multiply));
      add_products("multiply/bf16/" + target + size, products,
                   on_rows(rows, E, multiply_pairs));
      add_products("multiply/plain" + size, products,
                   on_rows(rows, E, plain_multiply));
    }
    add_elements("pack_strips" + features, parameters, on_rows(1, E, pack));
  }
}

}  // namespace headwise
