#include "onnx/attention_steps.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "onnx/node_memory.h"
#include "onnx/numbers.h"
#include "onnx/softmax.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr double kMaskedScore = -std::numeric_limits<double>::infinity();

// Numbers of a call as double, and its loops over rows.
class Steps {
 public:
  Steps(const OnnxAttentionCall& call,
        const std::optional<OnnxAttentionMask>& mask, const Array& query,
        const Array& key, const Array& value)
      : call_(call),
        sizes_(call.sizes),
        mask_(mask),
        query_(doubles_of(query)),
        key_(doubles_of(key)),
        value_(doubles_of(value)),
        row_(NodeMemory::numbers<double>(sizes_.Lkv())),
        bias_(NodeMemory::numbers<double>(sizes_.Lkv())),
        out_(NodeMemory::numbers<double>(sizes_.Dv)) {
    const double factor = round(std::sqrt(call.scale));
    for (std::vector<double>* numbers : {&query_, &key_}) {
      for (double& number : *numbers) {
        number = round(number * factor);
      }
    }
  }

  void run(Array& output, Array* scores) {
    for (std::size_t b = 0; b < sizes_.B; ++b) {
      for (std::size_t h = 0; h < sizes_.Hq; ++h) {
        for (std::size_t i = 0; i < sizes_.Lq; ++i) {
          make_row(b, h, i, scores);
          weigh(b, h);
          store(out_, output, query_row(b, h, i) * sizes_.Dv);
        }
      }
    }
  }

 private:
  double round(double x) const { return rounded(x, call_.type); }

  std::size_t key_head(std::size_t b, std::size_t h) const {
    return b * sizes_.Hkv + h / (sizes_.Hq / sizes_.Hkv);
  }
  // Of a row of Q or Y.
  std::size_t query_row(std::size_t b, std::size_t h, std::size_t i) const {
    return sizes_.heads_merged ? (b * sizes_.Lq + i) * sizes_.Hq + h
                               : (b * sizes_.Hq + h) * sizes_.Lq + i;
  }

  bool allowed(std::size_t b, std::size_t i, std::size_t j) const {
    const std::int64_t key = static_cast<std::int64_t>(j);
    const std::int64_t position =
        static_cast<std::int64_t>(i) + call_.query_starts[b];
    return !(call_.causal && key > position) &&
           !(call_.left_window && key < position - *call_.left_window) &&
           !(call_.right_window && key > position + *call_.right_window) &&
           (call_.key_lengths.empty() || key < call_.key_lengths[b]);
  }

  double bias(std::size_t b, std::size_t h, std::size_t i,
              std::size_t j) const {
    if (!allowed(b, i, j)) {
      return kMaskedScore;
    }
    if (!mask_) {
      return 0;
    }
    const std::size_t at = mask_->offset(b, h, i, j);
    if (mask_->booleans) {
      return (*mask_->booleans)[at] != 0 ? 0 : kMaskedScore;
    }
    return round((*mask_->numbers)[at]);
  }

  // The attention weights of a query, in row_.
  void make_row(std::size_t b, std::size_t h, std::size_t i, Array* scores) {
    const auto keep = [&](ScoresStage stage) {
      if (scores != nullptr && call_.qk_output == stage) {
        const std::size_t row = (b * sizes_.Hq + h) * sizes_.Lq + i;
        store(row_, *scores, row * sizes_.Lkv());
      }
    };
    const std::span<const double> q =
        std::span(query_).subspan(query_row(b, h, i) * sizes_.D, sizes_.D);
    for (std::size_t j = 0; j < sizes_.Lkv(); ++j) {
      const std::span<const double> k = std::span(key_).subspan(
          (key_head(b, h) * sizes_.Lkv() + j) * sizes_.D, sizes_.D);
      double sum = 0;
      for (std::size_t d = 0; d < sizes_.D; ++d) {
        sum += q[d] * k[d];
      }
      row_[j] = round(sum);
      bias_[j] = bias(b, h, i, j);
    }
    keep(ScoresStage::raw);
    if (call_.softcap) {
      const double cap = round(*call_.softcap);
      for (double& score : row_) {
        score = round(round(std::tanh(round(score / cap))) * cap);
      }
    }
    keep(ScoresStage::softcap);
    for (std::size_t j = 0; j < row_.size(); ++j) {
      // By select: a score that is NaN behind the mask stays there.
      row_[j] =
          bias_[j] == kMaskedScore ? kMaskedScore : round(row_[j] + bias_[j]);
    }
    keep(ScoresStage::bias);
    softmax();
    keep(ScoresStage::softmax);
  }

  // In the type of the softmax, rounded to that of the node. A row without a
  // key becomes 0.
  void softmax() {
    if (std::ranges::all_of(row_, [](double x) { return x == kMaskedScore; })) {
      std::ranges::fill(row_, 0);
      return;
    }
    softmax_in_steps(row_, call_.softmax_type);
    round_all(row_, call_.type);
  }

  // The weighted values, in out_.
  void weigh(std::size_t b, std::size_t h) {
    std::ranges::fill(out_, 0);
    for (std::size_t j = 0; j < row_.size(); ++j) {
      if (bias_[j] == kMaskedScore) {
        continue;  // values behind the mask are not read
      }
      const std::span<const double> v = std::span(value_).subspan(
          (key_head(b, h) * sizes_.Lkv() + j) * sizes_.Dv, sizes_.Dv);
      for (std::size_t d = 0; d < sizes_.Dv; ++d) {
        out_[d] += row_[j] * v[d];
      }
    }
  }

  const OnnxAttentionCall& call_;
  const AttentionSizes& sizes_;
  const std::optional<OnnxAttentionMask>& mask_;
  std::vector<double> query_;
  std::vector<double> key_;
  std::vector<double> value_;
  std::vector<double> row_;
  std::vector<double> bias_;
  std::vector<double> out_;
};

}  // namespace

void attend_in_steps(const OnnxAttentionCall& call,
                     const std::optional<OnnxAttentionMask>& mask,
                     const Array& query, const Array& key, const Array& value,
                     Array& output, Array* scores) {
  Steps(call, mask, query, key, value).run(output, scores);
}

}  // namespace headwise::inline HEADWISE_ABI
