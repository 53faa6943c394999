#include "attention/forward/mean_weights.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

void add_weights(const AttentionSpec& spec, const QueryRange& range,
                 const kernels::Rows<float>& weights,
                 const TensorView<float, 4>& means) {
  const SequencePlace place = spec.shape.sequence(range.b);
  const bool first = range.h == 0;
  const bool last = range.h + 1 == spec.shape.Hq;
  const auto heads = static_cast<float>(spec.shape.Hq);
  const auto add = [&](std::size_t n, std::size_t j) {
    float& mean = means(range.b, 0, range.first + n, j);
    mean = (first ? 0 : mean) + weights.at(n, j);
    mean = last ? mean / heads : mean;
  };
  for (std::size_t n = 0; n < range.count; ++n) {
    for (std::size_t j = 0; j < place.Lkv; ++j) {
      add(n, j);
    }
    for (std::size_t j = spec.shape.Lkv; j < spec.pair_columns(); ++j) {
      add(n, j);
    }
  }
}

}  // namespace

void add_head_to_mean(const AttentionSpec& spec, const CallTensors& tensors,
                      const PackedHead& head, const QueryRange& range,
                      QueryTile& tile, float* weights) {
  tile.begin(range, tensors);
  for (std::size_t block = head.first_block(); block < head.end_block();
       ++block) {
    tile.take(head, block);
  }
  const kernels::Rows<float> rows{
      spec.pair_columns() == 0 ? nullptr : weights, range.count,
      static_cast<std::ptrdiff_t>(spec.pair_columns()), 1};
  tile.finish(tensors, head, rows);
  add_weights(spec, range, rows, tensors.floats<4>(CallTensor::attn_weights));
}

}  // namespace headwise::inline HEADWISE_ABI
