// A causal model in double, written for reading.
#pragma once

#include <array>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "headwise/transformer/transformer.h"

namespace headwise::testing_support {

class CausalReference {
 public:
  using Row = std::vector<double>;
  using Rows = std::vector<Row>;

  explicit CausalReference(const Transformer& model) : shape_(model.shape()) {
    for (const auto& [name, view] : model.params()) {
      const auto* const values = static_cast<const float*>(view.data());
      std::size_t size = 1;
      for (const std::size_t extent : view.extents()) {
        size *= extent;
      }
      params_.emplace(name, Row(values, values + size));
    }
  }

  std::map<std::string, Row>& params() { return params_; }

  // A factor on one attention weight, which are otherwise as computed.
  void scale_weight(std::size_t layer, std::size_t head, std::size_t query,
                    std::size_t key, double factor) {
    scaled_ = {layer, head, query, key};
    factor_ = factor;
  }

  // Of one sequence; `gates` by layer and head, empty: all 1.
  Rows logits(const std::vector<TokenId>& ids, const Rows& gates = {}) const {
    const std::size_t E = shape_.hidden_size;
    Rows x;
    for (std::size_t t = 0; t < ids.size(); ++t) {
      Row& row = x.emplace_back(E);
      for (std::size_t e = 0; e < E; ++e) {
        row[e] = at("token.weight")[static_cast<std::size_t>(ids[t]) * E + e] +
                 at("position.weight")[t * E + e];
      }
    }
    for (std::size_t n = 0; n < shape_.num_layers; ++n) {
      const std::string name = "layers." + std::to_string(n) + ".";
      const Rows added = attention(n, norm(x, name + "norm"),
                                   gates.empty() ? Row() : gates[n]);
      for (std::size_t t = 0; t < x.size(); ++t) {
        for (std::size_t e = 0; e < E; ++e) {
          x[t][e] += added[t][e];
        }
      }
    }
    return linear(norm(x, "norm"), "unembedding");
  }

 private:
  const Row& at(const std::string& name) const { return params_.at(name); }

  Rows norm(const Rows& x, const std::string& name) const {
    Rows y = x;
    for (Row& row : y) {
      const double E = static_cast<double>(row.size());
      double mean = 0;
      double variance = 0;
      for (const double value : row) {
        mean += value / E;
      }
      for (const double value : row) {
        variance += (value - mean) * (value - mean) / E;
      }
      for (std::size_t e = 0; e < row.size(); ++e) {
        row[e] = (row[e] - mean) / std::sqrt(variance + shape_.norm_eps) *
                     at(name + ".weight")[e] +
                 at(name + ".bias")[e];
      }
    }
    return y;
  }

  Rows linear(const Rows& x, const std::string& name) const {
    const Row& weight = at(name + ".weight");
    const auto bias = params_.find(name + ".bias");
    Rows y;
    for (const Row& row : x) {
      const std::size_t out = weight.size() / row.size();
      Row& to = y.emplace_back(out);
      for (std::size_t o = 0; o < out; ++o) {
        to[o] = bias == params_.end() ? 0 : bias->second[o];
        for (std::size_t e = 0; e < row.size(); ++e) {
          to[o] += weight[o * row.size() + e] * row[e];
        }
      }
    }
    return y;
  }

  // The sum of the heads' weighted values, through w_o.
  Rows attention(std::size_t layer, const Rows& x, const Row& gates) const {
    const std::string name = "layers." + std::to_string(layer) + ".";
    const Rows q = linear(x, name + "w_q");
    const Rows k = linear(x, name + "w_k");
    const Rows v = linear(x, name + "w_v");
    const std::size_t D = shape_.hidden_size / shape_.num_heads;
    Rows context(x.size(), Row(q.empty() ? 0 : q[0].size()));
    for (std::size_t h = 0; h * D < context[0].size(); ++h) {
      for (std::size_t i = 0; i < x.size(); ++i) {
        Row weights(i + 1);
        double sum = 0;
        for (std::size_t j = 0; j <= i; ++j) {
          double score = 0;
          for (std::size_t d = h * D; d < (h + 1) * D; ++d) {
            score += q[i][d] * k[j][d] / std::sqrt(static_cast<double>(D));
          }
          weights[j] = std::exp(score);
          sum += weights[j];
        }
        for (std::size_t j = 0; j <= i; ++j) {
          const double factor =
              (gates.empty() ? 1 : gates[h]) *
              (scaled_ == Place{layer, h, i, j} ? factor_ : 1);
          for (std::size_t d = h * D; d < (h + 1) * D; ++d) {
            context[i][d] += weights[j] / sum * v[j][d] * factor;
          }
        }
      }
    }
    return linear(context, name + "w_o");
  }

  TransformerShape shape_;
  std::map<std::string, Row> params_;
  using Place = std::array<std::size_t, 4>;
  Place scaled_{};
  double factor_ = 1;
};

}  // namespace headwise::testing_support
