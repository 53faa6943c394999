// The encoder in double, straight from its formulas.
#pragma once

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "models/small_model.h"

namespace headwise::testing_support {

class BertReference {
 public:
  using Rows = std::vector<std::vector<double>>;

  BertReference(const SmallConfig& config, const Params& params)
      : config_(config), params_(params) {}

  // A factor on each head of each layer.
  void set_gates(Rows gates) { gates_ = std::move(gates); }

  // The hidden states of one sequence; `attn_weights` gets (H, L, L) of each
  // layer. `types`: the token type of each token; empty: 0.
  Rows forward(const std::vector<TokenId>& ids,
               std::vector<std::vector<Rows>>* attn_weights = nullptr,
               const std::vector<TokenId>& types = {}) const {
    Rows x;
    for (std::size_t t = 0; t < ids.size(); ++t) {
      auto& row = x.emplace_back(config_.hidden_size);
      for (std::size_t e = 0; e < row.size(); ++e) {
        row[e] = at("embeddings.word_embeddings.weight",
                    static_cast<std::size_t>(ids[t]), e) +
                 at("embeddings.position_embeddings.weight", t, e);
        if (config_.type_vocab_size != 0) {
          row[e] +=
              at("embeddings.token_type_embeddings.weight",
                 types.empty() ? 0 : static_cast<std::size_t>(types[t]), e);
        }
      }
    }
    x = norm("embeddings.LayerNorm", x);
    for (std::size_t n = 0; n < config_.num_layers; ++n) {
      const PartNames names = part_names(config_.family, n);
      std::vector<Rows> weights;
      x = norm(names.attention_norm, sum(x, attention(n, x, weights)));
      Rows inner = linear(names.intermediate, x);
      for (auto& row : inner) {
        for (double& value : row) {
          value = value / 2 * (1 + std::erf(value / std::sqrt(2.0)));
        }
      }
      x = norm(names.output_norm, sum(x, linear(names.output, inner)));
      if (attn_weights != nullptr) {
        attn_weights->push_back(weights);
      }
    }
    return x;
  }

 private:
  double at(const std::string& name, std::size_t row,
            std::size_t column) const {
    return params_.at(name)(row, column);
  }

  static Rows sum(Rows a, const Rows& b) {
    for (std::size_t n = 0; n < a.size(); ++n) {
      for (std::size_t e = 0; e < a[n].size(); ++e) {
        a[n][e] += b[n][e];
      }
    }
    return a;
  }

  Rows linear(const std::string& name, const Rows& x) const {
    const auto [out, in] = params_.at(name + ".weight").extents();
    Rows y;
    for (const auto& row : x) {
      auto& to = y.emplace_back(out);
      for (std::size_t o = 0; o < out; ++o) {
        to[o] = at(name + ".bias", 0, o);
        for (std::size_t i = 0; i < in; ++i) {
          to[o] += at(name + ".weight", o, i) * row[i];
        }
      }
    }
    return y;
  }

  Rows norm(const std::string& name, Rows x) const {
    for (auto& row : x) {
      const auto E = static_cast<double>(row.size());
      double mean = 0;
      double var = 0;
      for (const double value : row) {
        mean += value / E;
      }
      for (const double value : row) {
        var += (value - mean) * (value - mean) / E;
      }
      for (std::size_t e = 0; e < row.size(); ++e) {
        row[e] = (row[e] - mean) / std::sqrt(var + config_.layer_norm_eps) *
                     at(name + ".weight", 0, e) +
                 at(name + ".bias", 0, e);
      }
    }
    return x;
  }

  Rows attention(std::size_t layer, const Rows& x,
                 std::vector<Rows>& weights) const {
    const PartNames names = part_names(config_.family, layer);
    const Rows q = linear(names.q, x);
    const Rows k = linear(names.k, x);
    const Rows v = linear(names.v, x);
    const std::size_t D = config_.hidden_size / config_.num_heads;
    Rows merged(x.size(), std::vector<double>(config_.hidden_size));
    for (std::size_t h = 0; h < config_.num_heads; ++h) {
      Rows& p = weights.emplace_back();
      for (std::size_t i = 0; i < x.size(); ++i) {
        auto& row = p.emplace_back();
        double total = 0;
        for (std::size_t j = 0; j < x.size(); ++j) {
          double score = 0;
          for (std::size_t d = h * D; d < (h + 1) * D; ++d) {
            score += q[i][d] * k[j][d];
          }
          row.push_back(std::exp(score / std::sqrt(static_cast<double>(D))));
          total += row.back();
        }
        for (std::size_t j = 0; j < x.size(); ++j) {
          row[j] /= total;
          const double gate = gates_.empty() ? 1 : gates_[layer][h];
          for (std::size_t d = h * D; d < (h + 1) * D; ++d) {
            merged[i][d] += gate * row[j] * v[j][d];
          }
        }
      }
    }
    return linear(names.o, merged);
  }

  const SmallConfig& config_;
  const Params& params_;
  Rows gates_;
};

}  // namespace headwise::testing_support
