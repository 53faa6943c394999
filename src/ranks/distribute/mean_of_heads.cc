#include <algorithm>
#include <string>
#include <vector>

#include "base/check.h"
#include "distribute/call_digest.h"
#include "distribute/copy_rows.h"
#include "distribute/or_abort.h"
#include "headwise/distribute/heads_attention.h"
#include "run/float_environment.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kMeanOfHeads = "mean_of_heads";

// Calls body(b, i, j) for each element of (B, 1, Lq, Lkv).
template <class Body>
void for_each_pair(const Extents<4>& mean, const Body& body) {
  for (std::size_t b = 0; b < mean[0]; ++b) {
    for (std::size_t i = 0; i < mean[2]; ++i) {
      for (std::size_t j = 0; j < mean[3]; ++j) {
        body(b, i, j);
      }
    }
  }
}

class MeanRelay {
 public:
  MeanRelay(Communicator& group, const ShardPlan& heads) : group_(group) {
    for (std::size_t rank = 0; rank < heads.ranks.size(); ++rank) {
      if (heads.ranks[rank].heads.count != 0) {
        ranks_.push_back(rank);
        heads_ += heads.ranks[rank].heads.count;
      }
    }
  }

  Result<Tensor<float, 4>> run(const Extents<4>& extents,
                               TensorView<const float, 4> own) const {
    const std::size_t rank = group_.rank();
    const auto me = std::ranges::find(ranks_, rank);
    const bool has_heads = me != ranks_.end();
    HEADWISE_ASSIGN(auto mean, Tensor<float, 4>::create(has_heads || rank == 0
                                                            ? extents
                                                            : Extents<4>{}));
    if (has_heads) {
      if (me != ranks_.begin()) {
        HEADWISE_TRY(receive(mean, me[-1]));
      }
      HEADWISE_TRY(group_.busy_with([&] {
        add(own, mean);
        return ok();
      }));
      const std::size_t next = me + 1 == ranks_.end() ? 0 : me[1];
      if (next != rank) {
        HEADWISE_TRY(send(mean, next));
      }
    }
    if (rank == 0 && !ranks_.empty() && ranks_.back() != 0) {
      HEADWISE_TRY(receive(mean, ranks_.back()));
    }
    return rank == 0 ? std::move(mean) : Tensor<float, 4>();
  }

 private:
  // Also divides by the number of heads, after the last one.
  void add(TensorView<const float, 4> own, Tensor<float, 4>& sums) const {
    const FloatEnvironment environment;
    for (std::size_t h = 0; h < own.extent(1); ++h) {
      for_each_pair(sums.extents(),
                    [&](std::size_t b, std::size_t i, std::size_t j) {
                      sums(b, 0, i, j) += own(b, h, i, j);
                    });
    }
    if (ranks_.back() == group_.rank()) {
      const auto heads = static_cast<float>(heads_);
      for (float& sum : sums.elements()) {
        sum /= heads;
      }
    }
  }

  Status receive(Tensor<float, 4>& sums, std::size_t from) const {
    return group_.receive(writable_bytes_of(sums.data(), sums.size()), from);
  }
  Status send(const Tensor<float, 4>& sums, std::size_t to) const {
    return group_.send(bytes_of(sums.data(), sums.size()), to);
  }

  Communicator& group_;
  std::vector<std::size_t> ranks_{};  // with heads
  std::size_t heads_ = 0;
};

Status check_averaged(const Communicator& group, const ShardPlan& heads,
                      const Extents<4>& mean, TensorView<const float, 4> own) {
  if (heads.ranks.size() != group.ranks()) {
    return value_error(kMeanOfHeads, "heads.ranks",
                       std::to_string(heads.ranks.size()),
                       message("{}, as the group has", group.ranks()));
  }
  HEADWISE_TRY(check_shape(kMeanOfHeads, "mean", mean, "(B, 1, Lq, Lkv)",
                           Extents<4>{mean[0], 1, mean[2], mean[3]}));
  const std::size_t count = heads.ranks[group.rank()].heads.count;
  return count == 0 ? ok()
                    : check_shape(kMeanOfHeads, "own", own.extents(),
                                  "(B, heads of the rank, Lq, Lkv)",
                                  Extents<4>{mean[0], count, mean[2], mean[3]});
}

std::string digest_of(const ShardPlan& heads) {
  Digest digest;
  for (const RankShare& share : heads.ranks) {
    digest.add(share.heads.first);
    digest.add(share.heads.count);
  }
  return digest.text();
}

}  // namespace

Result<Tensor<float, 4>> mean_of_heads(Communicator& group,
                                       const ShardPlan& heads,
                                       const Extents<4>& mean,
                                       TensorView<const float, 4> own) {
  return or_abort(group, [&]() -> Result<Tensor<float, 4>> {
    group.set_step(kMeanOfHeads, "adding up heads");
    HEADWISE_TRY(group.agree(check_averaged(group, heads, mean, own)));
    HEADWISE_TRY(group.check_same("mean", shape_text(mean)));
    HEADWISE_TRY(group.check_same("heads", digest_of(heads)));
    return MeanRelay(group, heads).run(mean, own);
  });
}

Result<Tensor<float, 4>> gradient_of_each_head(
    TensorView<const float, 4> d_mean, std::size_t heads) {
  HEADWISE_ASSIGN(auto d_head,
                  Tensor<float, 4>::create_unset(d_mean.extents()));
  const FloatEnvironment environment;
  const auto factor = static_cast<float>(1 / static_cast<double>(heads));
  for_each_pair(d_mean.extents(),
                [&](std::size_t b, std::size_t i, std::size_t j) {
                  d_head(b, 0, i, j) = d_mean(b, 0, i, j) * factor;
                });
  return d_head;
}

}  // namespace headwise::inline HEADWISE_ABI
