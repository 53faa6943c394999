#include "steps/project.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "headwise/base/tensor.h"
#include "headwise/run/workspace.h"
#include "kernels/gemm.h"
#include "kernels/pair_gemm.h"
#include "kernels/pair_tile.h"
#include "run/float_environment.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

using kernels::kStripFeatures;

// Tokens that go through the parameters together: their features and those of
// a few strips fill the second-level cache.
constexpr std::size_t kMostRows = 132;
// Strips of a task where tokens are few.
constexpr std::size_t kTaskStrips = 8;
// With fewer multiplications a task costs more than it saves.
constexpr std::size_t kTaskWork = std::size_t{1} << 18;
// Numbers that are worth a thread where they are rounded.
constexpr std::size_t kRoundedNumbers = std::size_t{1} << 16;

// The tokens that are projected, counted over the sequences.
class Tokens {
 public:
  Tokens(const TensorView<const float, 3>& x, std::span<const std::size_t> ends)
      : x_(x), ends_(ends) {
    count_ = ends.empty()
                 ? x.extent(0) * x.extent(1)
                 : std::accumulate(ends.begin(), ends.end(), std::size_t{0});
  }

  std::size_t count() const { return count_; }

  // Calls body(n, b, l) for the tokens [begin, end).
  template <class Body>
  void for_each(std::size_t begin, std::size_t end, const Body& body) const {
    std::size_t b = 0;
    std::size_t l = begin;
    if (ends_.empty()) {
      b = begin / x_.extent(1);
      l = begin % x_.extent(1);
    }
    for (std::size_t n = begin; n < end; ++n, ++l) {
      while (l >= end_of(b)) {
        l -= end_of(b);
        ++b;
      }
      body(n - begin, b, l);
    }
  }

 private:
  std::size_t end_of(std::size_t b) const {
    return ends_.empty() ? x_.extent(1) : ends_[b];
  }

  const TensorView<const float, 3>& x_;
  std::span<const std::size_t> ends_;
  std::size_t count_;
};

// x as the projections of an arithmetic read it.
struct InputRows {
  const TensorView<const float, 3>& exact;
  TensorView<const float, 2> rounded;  // (tokens, pairs)
};

// A call divided into tasks: parts of the tokens, and for each of them parts of
// the output features of all projections.
class Tasks {
 public:
  Tasks(const InputRows& x, std::span<const Projection> projections,
        const Tokens& tokens, std::size_t threads)
      : x_(x), projections_(projections), tokens_(tokens) {
    for (const Projection& projection : projections) {
      strips_ += kernels::count_strips(projection.linear->out_features());
    }
    // The features are not divided if the tokens alone keep the threads evenly
    // busy.
    token_parts_ = (tokens_.count() + kMostRows - 1) / kMostRows;
    if (threads > 1 && strips_ > 0 && token_parts_ < 4 * threads) {
      strip_parts_ = (strips_ + kTaskStrips - 1) / kTaskStrips;
    }
  }

  std::size_t count() const { return token_parts_ * strip_parts_; }
  // Tasks that are worth a thread.
  std::size_t grain() const {
    const std::size_t work = (tokens_.count() / token_parts_ + 1) *
                             (strips_ / strip_parts_ + 1) * kStripFeatures *
                             x_.exact.extent(2);
    return kTaskWork / (work + 1) + 1;
  }

  void run(std::size_t task) const {
    // Neighbours have the same parameters: a thread reads them from far once.
    const std::size_t part = task % token_parts_;
    const std::size_t begin = first_token(part);
    const std::size_t end = first_token(part + 1);
    const std::size_t strip_part = task / token_parts_;
    std::size_t first = strips_ * strip_part / strip_parts_;
    const std::size_t last = strips_ * (strip_part + 1) / strip_parts_;
    std::size_t before = 0;  // strips of the projections before
    for (const Projection& projection : projections_) {
      const std::size_t here =
          kernels::count_strips(projection.linear->out_features());
      if (first < std::min(last, before + here)) {
        const std::size_t stop = std::min(last, before + here);
        multiply(projection, begin, end, first - before, stop - before);
        first = stop;
      }
      before += here;
    }
  }

 private:
  // Parts of whole tiles, so that none is thin but the last.
  std::size_t first_token(std::size_t part) const {
    constexpr std::size_t kTile = kernels::kGemmRows;
    const std::size_t even = tokens_.count() * part / token_parts_;
    return std::min(tokens_.count(), (even + kTile - 1) / kTile * kTile);
  }

  void multiply(const Projection& projection, std::size_t begin,
                std::size_t end, std::size_t first_strip,
                std::size_t last_strip) const {
    const Linear& linear = *projection.linear;
    const bool in_pairs = linear.arithmetic() == Arithmetic::bf16;
    const std::size_t elements =
        in_pairs ? x_.rounded.extent(1) : x_.exact.extent(2);
    const std::size_t first = first_strip * kStripFeatures;
    const std::size_t last =
        std::min(last_strip * kStripFeatures, linear.out_features());
    std::array<const float*, kMostRows> x;
    std::array<float*, kMostRows> y;
    tokens_.for_each(
        begin, end, [&](std::size_t n, std::size_t b, std::size_t l) {
          x[n] = in_pairs ? &x_.rounded(begin + n, 0) : &x_.exact(b, l, 0);
          y[n] = &projection.y(b, l, first);
        });
    const kernels::Gemm& gemm =
        in_pairs ? kernels::pair_gemm() : kernels::gemm();
    gemm.multiply(
        {x.data(), in_pairs ? 1 : x_.exact.stride(2), y.data(), end - begin},
        linear.packed().data() + first_strip * kernels::strip_size(elements),
        elements, last - first);
  }

  InputRows x_;
  std::span<const Projection> projections_;
  const Tokens& tokens_;
  std::size_t strips_ = 0;
  std::size_t token_parts_ = 0;
  std::size_t strip_parts_ = 1;
};

void clear_behind(const Projection& projection,
                  std::span<const std::size_t> ends) {
  const auto [B, L, features] = projection.y.extents();
  for (std::size_t b = 0; b < ends.size(); ++b) {
    if (ends[b] < L && features != 0) {
      std::fill_n(&projection.y(b, ends[b], 0), (L - ends[b]) * features, 0.0f);
    }
  }
}

// What projections of no input features give.
void fill_with_bias(const Projection& projection) {
  const auto [B, L, features] = projection.y.extents();
  // A strip of no input features is its bias.
  const float* const bias = projection.linear->packed().data();
  for (std::size_t b = 0; projection.y.size() != 0 && b < B; ++b) {
    for (std::size_t l = 0; l < L; ++l) {
      std::copy_n(bias, features, &projection.y(b, l, 0));
    }
  }
}

bool is_in_bf16(const Projection& projection) {
  return projection.linear->arithmetic() == Arithmetic::bf16;
}

// The tokens' features in pairs, (tokens, pairs).
Result<Tensor<float, 2>> rounded(const TensorView<const float, 3>& x,
                                 const Tokens& tokens,
                                 const Executor& executor) {
  const std::size_t in = x.extent(2);
  HEADWISE_ASSIGN(auto pairs, Tensor<float, 2>::create_unset(
                                  {tokens.count(), kernels::count_pairs(in)}));
  prefer_large_pages(pairs.data(), pairs.size() * sizeof(float));
  executor.parallel_for(
      tokens.count(), kRoundedNumbers / in + 1,
      [&](std::size_t begin, std::size_t end) {
        const auto pack = kernels::pair_tile().pack_keys;
        tokens.for_each(
            begin, end, [&](std::size_t n, std::size_t b, std::size_t l) {
              pack(kernels::Rows<const float>{&x(b, l, 0), 1, 0, x.stride(2)},
                   in, &pairs(begin + n, 0));
            });
      });
  return pairs;
}

}  // namespace

Status project(TensorView<const float, 3> x,
               std::span<const Projection> projections,
               std::span<const std::size_t> ends, const Executor& executor) {
  for (const Projection& projection : projections) {
    clear_behind(projection, ends);
  }
  if (x.extent(2) == 0) {
    std::ranges::for_each(projections, fill_with_bias);
    return ok();
  }
  const Tokens tokens(x, ends);
  Tensor<float, 2> pairs;
  if (std::ranges::any_of(projections, is_in_bf16)) {
    HEADWISE_ASSIGN(pairs, rounded(x, tokens, executor));
  }
  const Tasks tasks({x, std::as_const(pairs).view()}, projections, tokens,
                    executor.threads());
  if (tasks.count() == 0) {
    return ok();
  }
  executor.parallel_for(tasks.count(), tasks.grain(),
                        [&](std::size_t begin, std::size_t end) {
                          const FloatEnvironment environment;
                          for (std::size_t task = begin; task < end; ++task) {
                            tasks.run(task);
                          }
                        });
  return ok();
}

}  // namespace headwise::inline HEADWISE_ABI
