// The modules of sentence-transformers after the transformer, forward and
// backward.
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "headwise/models/sentence_encoder.h"
#include "models/dense_module.h"
#include "models/pooling.h"
#include "run/float_environment.h"

namespace headwise::inline HEADWISE_ABI {

struct SentenceEncoder::Modules {
  std::vector<DenseModule> dense;
};

Result<Hidden<SentenceEncoder::Modules>> SentenceEncoder::read_modules(
    const ModelSettings& settings) {
  auto modules = std::make_unique<Modules>();
  for (const DenseSettings& dense : settings.dense) {
    HEADWISE_ASSIGN(auto read, DenseModule::read(dense));
    modules->dense.push_back(std::move(read));
  }
  return Hidden<Modules>(std::move(modules));
}

// What enters each Dense module, and what the last one makes of it.
std::vector<std::vector<float>> SentenceEncoder::vectors_of(
    TensorView<const float, 2> hidden) const {
  std::vector<std::vector<float>> vectors = {pool(hidden, settings_.pooling)};
  for (const DenseModule& module : modules_->dense) {
    vectors.push_back(module.forward(vectors.back()));
  }
  return vectors;
}

void SentenceEncoder::embed(TensorView<const float, 2> hidden, bool normalize,
                            std::span<float> to) const {
  const FloatEnvironment environment;
  std::vector<float> y = std::move(vectors_of(hidden).back());
  if (normalize) {
    divide_by_length(y);
  }
  std::copy_n(y.begin(), to.size(), to.begin());
}

void SentenceEncoder::embed_backward(TensorView<const float, 2> hidden,
                                     bool normalize,
                                     std::span<const float> d_embedding,
                                     TensorView<float, 2> d_hidden) const {
  const FloatEnvironment environment;
  const auto vectors = vectors_of(hidden);
  std::vector<float> d(d_embedding.begin(), d_embedding.end());
  d.resize(vectors.back().size());
  if (normalize) {
    d = back_through_length(vectors.back(), d);
  }
  for (std::size_t n = modules_->dense.size(); n-- > 0;) {
    d = modules_->dense[n].backward(vectors[n + 1], d);
  }
  pool_backward(hidden, settings_.pooling, d, d_hidden);
}

}  // namespace headwise::inline HEADWISE_ABI
