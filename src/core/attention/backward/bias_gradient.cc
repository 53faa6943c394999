#include "attention/backward/bias_gradient.h"

#include <algorithm>
#include <cmath>

namespace headwise::inline HEADWISE_ABI {

using kernels::kKeyBlock;
using kernels::kQueryBlock;

namespace {

// Queries of a task.
constexpr std::size_t kGradientQueries = 4 * kQueryBlock;

struct Range {
  std::size_t begin;
  std::size_t end;
};

std::size_t query_ranges(const AttentionSpec& spec,
                         const TensorView<float, 4>& d_bias) {
  const std::size_t queries = d_bias.extent(2) == 1 ? 1 : spec.shape.Lq;
  return (queries + kGradientQueries - 1) / kGradientQueries;
}

// The index `n` along an axis of the bias applies to all of `size` if the bias
// is broadcast, else to itself.
Range broadcast(std::size_t extent, std::size_t n, std::size_t size) {
  return extent == 1 ? Range{0, size} : Range{n, n + 1};
}

class Sum {
 public:
  Sum(const AttentionSpec& spec, const CallTensors& tensors, std::size_t task)
      : spec_(spec),
        tensors_(tensors),
        d_bias_(tensors.floats<4>(CallTensor::d_bias)),
        so_far_(tensors.read_floats<4>(CallTensor::state_d_bias)) {
    const std::size_t ranges = query_ranges(spec, d_bias_);
    const std::size_t row = task / ranges;
    b_ = row / d_bias_.extent(1);
    h_ = row % d_bias_.extent(1);
    const std::size_t first = task % ranges * kGradientQueries;
    queries_ =
        d_bias_.extent(2) == 1
            ? Range{0, spec.shape.Lq}
            : Range{first, std::min(first + kGradientQueries, spec.shape.Lq)};
  }

  void run(GradientHead& head, GradientBlock& block,
           const GradientScratch& scratch) const {
    for_each_element([this](std::size_t i, std::size_t j, float& element) {
      element = so_far_.data() == nullptr ? 0 : so_far_(b_, h_, i, j);
    });
    const Range sequences = broadcast(d_bias_.extent(0), b_, spec_.shape.B);
    const Range heads = broadcast(d_bias_.extent(1), h_, spec_.shape.Hq);
    for (std::size_t b = sequences.begin; b < sequences.end; ++b) {
      for (std::size_t h = heads.begin; h < heads.end; ++h) {
        add_head(b, h, head, block, scratch);
      }
    }
    for_each_element([](std::size_t, std::size_t, float& element) {
      element = std::isnan(element) ? kNaN : element;
    });
  }

 private:
  template <class Body>
  void for_each_element(const Body& body) const {
    const Range rows =
        d_bias_.extent(2) == 1 ? Range{0, d_bias_.extent(2)} : queries_;
    for (std::size_t i = rows.begin; i < rows.end; ++i) {
      for (std::size_t j = 0; j < d_bias_.extent(3); ++j) {
        body(i, j, d_bias_(b_, h_, i, j));
      }
    }
  }

  float& element(std::size_t i, std::size_t j) const {
    return d_bias_(b_, h_, d_bias_.extent(2) == 1 ? 0 : i,
                   d_bias_.extent(3) == 1 ? 0 : j);
  }

  void add_head(std::size_t b, std::size_t h, GradientHead& head,
                GradientBlock& block, const GradientScratch& scratch) const {
    head.begin(spec_, b, spec_.shape.kv_head(h));
    for (std::size_t n = 0; n < head.all_blocks(); ++n) {
      head.pack(tensors_, n);
    }
    const std::size_t end = std::min(queries_.end, spec_.shape.sequence(b).Lq);
    for (std::size_t first = queries_.begin; first < end;
         first += kQueryBlock) {
      block.begin({b, h, first, std::min(kQueryBlock, end - first)}, tensors_,
                  scratch);
      if (tensors_.has(CallTensor::d_attn_weights)) {
        block.add_given(head, scratch);
      }
      add_block(head, block, scratch);
    }
  }

  void add_block(const GradientHead& head, GradientBlock& block,
                 const GradientScratch& scratch) const {
    float rows[kQueryBlock] = {};  // where the keys are summed over
    Tile tile{};
    for (std::size_t n = 0; n < head.blocks(); ++n) {
      const GradientBlock::Gradients found =
          block.differentiate(head, n, scratch);
      if (found.tile.keys == 0) {
        continue;
      }
      tile = found.tile;
      for (std::size_t part = 0; part < block.parts(); ++part) {
        add_part(block.part(part), tile, scratch, rows);
      }
    }
    for (std::size_t n = 0; d_bias_.extent(3) == 1 && n < tile.queries; ++n) {
      element(tile.first_query + n, 0) += rows[n];
    }
  }

  void add_part(const GradientBlock::Part& part, const Tile& tile,
                const GradientScratch& scratch, float* rows) const {
    const float* d_scores = scratch.d_scores + part.first * kKeyBlock;
    for (std::size_t n = 0; n < part.queries; ++n) {
      const std::size_t row = part.first + n;
      float chain = 0;
      for (std::size_t k = 0; k < tile.keys; ++k) {
        const float d_score = d_scores[k * part.lanes + n];
        if (d_bias_.extent(3) == 1) {
          chain += d_score;
        } else {
          element(tile.first_query + row, tile.first_key + k) += d_score;
        }
      }
      rows[row] += chain;
    }
  }

  const AttentionSpec& spec_;
  const CallTensors& tensors_;
  TensorView<float, 4> d_bias_;
  TensorView<const float, 4> so_far_;  // no view: 0
  std::size_t b_;
  std::size_t h_;
  Range queries_{};
};

}  // namespace

std::size_t bias_tasks(const AttentionSpec& spec,
                       const TensorView<float, 4>& d_bias) {
  return d_bias.extent(3) == 0
             ? 0
             : d_bias.extent(0) * d_bias.extent(1) * query_ranges(spec, d_bias);
}

void bias_gradient(const AttentionSpec& spec, const CallTensors& tensors,
                   std::size_t task, GradientHead& head, GradientBlock& block,
                   const GradientScratch& scratch) {
  Sum(spec, tensors, task).run(head, block, scratch);
}

}  // namespace headwise::inline HEADWISE_ABI
