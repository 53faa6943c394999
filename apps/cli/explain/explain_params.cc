#include "explain_params.h"

#include <array>
#include <string>
#include <string_view>

namespace headwise::cli {
namespace {

class Params {
 public:
  void add(const std::string& name, const TensorView<const float, 2>& matrix) {
    constexpr std::array<std::string_view, 2> kAxes = {"rows", "columns"};
    trace_.on_step(name, kAxes, matrix);
  }
  void add(const std::string& name, const TensorView<const float, 1>& numbers) {
    constexpr std::array<std::string_view, 1> kAxes = {"features"};
    if (numbers.size() != 0) {
      trace_.on_step(name, kAxes, numbers);
    }
  }
  void add(const std::string& name, const Linear& linear) {
    if (linear.keeps_params()) {
      add(name + ".weight", linear.weight());
      add(name + ".bias", linear.bias());
    }
  }
  void add(const std::string& name, const HeadNormParams& norm) {
    add(name + ".weight", norm.weight);
    add(name + ".bias", norm.bias);
  }
  template <class T>
  void add(const std::string& name, const std::optional<T>& given) {
    if (given) {
      add(name, *given);
    }
  }

  std::vector<TracedStep> take() const {
    return {trace_.steps().begin(), trace_.steps().end()};
  }

 private:
  Trace trace_;
};

}  // namespace

std::vector<TracedStep> explained_params(const MultiHeadAttention& layer,
                                         const Embedding* embedding) {
  const MultiHeadAttentionParams& params = *layer.params();
  Params all;
  all.add("w_q", params.w_q);
  all.add("w_k", params.w_k);
  all.add("w_v", params.w_v);
  all.add("w_o", params.w_o);
  all.add("w_score.weight", params.w_score);
  all.add("q_norm", params.q_norm);
  all.add("k_norm", params.k_norm);
  all.add("bias_k", params.bias_k);
  all.add("bias_v", params.bias_v);
  if (embedding != nullptr) {
    all.add("embedding.weight", embedding->weight());
  }
  return all.take();
}

}  // namespace headwise::cli
