// The kernels against the reference in binary64, over random calls: each
// element within the bound of error_bound.h. How many calls: RC_PARAMS in the
// environment, such as max_success=20000, or what the build says.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <sstream>
#include <string>

#include "attention/attention_call.h"
#include "attention/error_bound.h"
#include "attention/random_call.h"
#include "attention/random_call_tensors.h"

namespace headwise::testing_support {
namespace {

// Compares one call, row by row; the first element that is too far away.
class Comparison {
 public:
  explicit Comparison(const RandomCall& call)
      : dtype_(call.dtype), tensors_(call) {}

  // Empty: all is well.
  std::string run() {
    const AttentionOptions options = tensors_.options();
    const auto in = tensors_.exact_inputs();
    form_ = options.attn_weights;
    auto got = tensors_.attend(gaps_untouched_);
    if (!got) {
      return got.error().message();
    }
    if (!gaps_untouched_) {
      return "what stands between the elements of the output was written";
    }
    if (auto same = same_rounded(*got); !same) {
      return same.message();
    }
    want_ = reference(in, options, form_);
    per_head_ = reference(in, options, AttnWeights::per_head);
    const auto spec = AttentionSpec::create(tensors_.tensors(), options,
                                            tensors_.operation_options())
                          .value();
    const ErrorBound bound(tensors_.inputs(), spec, per_head_,
                           tensors_.input_error());
    mean_bound_ = filled<double, 4>(want_.attn_weights.extents(), 0);
    for (std::size_t b = 0; b < spec.shape.B; ++b) {
      for (std::size_t h = 0; h < spec.shape.Hq; ++h) {
        for (std::size_t i = 0; i < spec.shape.sequence(b).Lq; ++i) {
          check_row(*got, spec, bound, b, h, i);
        }
      }
    }
    for (std::size_t n = 0; n < want_.attn_weights.size(); ++n) {
      near(got->attn_weights.data()[n], want_.attn_weights.data()[n],
           mean_bound_.data()[n], "attn_weights", {n, 0, 0, 0});
    }
    return failure_;
  }

 private:
  // A call on 16-bit tensors gives what the same numbers give as floats, each
  // element of the output rounded once.
  testing::AssertionResult same_rounded(const Outputs<float>& of_floats) {
    if (dtype_ == DType::float32) {
      return testing::AssertionSuccess();
    }
    const auto got = tensors_.attend_in(dtype_, gaps_untouched_);
    if (!got) {
      return testing::AssertionFailure() << got.error().message();
    }
    if (!gaps_untouched_) {
      return testing::AssertionFailure()
             << "what stands between the elements of the output was written";
    }
    return same_bits(*got, Outputs<float>{rounded_to(dtype_, of_floats.output),
                                          clone(of_floats.attn_weights),
                                          clone(of_floats.lse),
                                          clone(of_floats.scores)})
           << " of " << name_of(dtype_);
  }

  Outputs<double> reference(const Inputs<double>& in, AttentionOptions options,
                            AttnWeights form) {
    options.attn_weights = form;
    auto out = tensors_.outputs<double>(form, options.scores);
    const Status s =
        reference_attention<double>(in.query, in.key, in.value, out.views(),
                                    options, tensors_.operation_options());
    EXPECT_TRUE(s) << s.error().message();
    return out;
  }

  void check_row(const Outputs<float>& got, const AttentionSpec& spec,
                 const ErrorBound& bound, std::size_t b, std::size_t h,
                 std::size_t i) {
    const SequencePlace place = spec.shape.sequence(b);
    const std::size_t l = place.first_query + i;
    const double lse = want_.lse(place.batch, h, l);
    const bool empty = std::isinf(lse);
    const ErrorBound::Row row = empty ? ErrorBound::Row{} : bound.row(b, h, i);
    near(got.lse(place.batch, h, l), lse, row.lse, "lse", {b, h, i, 0});
    for (std::size_t c = 0; c < spec.shape.Dv; ++c) {
      near(got.output(place.batch, l, h, c), want_.output(place.batch, l, h, c),
           empty ? bound.uniform_output(b, h, c) : row.output[c], "output",
           {b, h, i, c});
    }
    add_weights_bound(spec, row, b, h, i);
    check_scores(got, spec, bound, row, b, h, i);
  }

  void check_scores(const Outputs<float>& got, const AttentionSpec& spec,
                    const ErrorBound& bound, const ErrorBound::Row& row,
                    std::size_t b, std::size_t h, std::size_t i) {
    const RowKeys keys(tensors_.inputs(), spec);
    const SequencePlace place = spec.shape.sequence(b);
    for (std::size_t j = 0;
         spec.scores != ScoresStage::none && j < keys.count(place); ++j) {
      const std::size_t column = keys.column(place, j);
      const double want = want_.scores(b, h, i, column);
      const double of_weight = row.attn_weights.empty()
                                   ? 4 * ErrorBound::kUnit * std::abs(want)
                                   : row.attn_weights[j];
      near(got.scores(b, h, i, column), want,
           spec.scores == ScoresStage::softmax
               ? of_weight
               : bound.score(b, h, i, j, spec.scores, want),
           "scores", {b, h, i, column});
    }
  }

  // Of the returned weights, which may be a mean over the heads.
  void add_weights_bound(const AttentionSpec& spec, const ErrorBound::Row& row,
                         std::size_t b, std::size_t h, std::size_t i) {
    if (form_ == AttnWeights::none) {
      return;
    }
    const bool mean = form_ == AttnWeights::mean;
    const auto heads = static_cast<double>(spec.shape.Hq);
    const RowKeys keys(tensors_.inputs(), spec);
    const SequencePlace place = spec.shape.sequence(b);
    for (std::size_t j = 0; j < keys.count(place); ++j) {
      const std::size_t column = keys.column(place, j);
      const double exact = per_head_.attn_weights(b, h, i, column);
      const double own =
          row.attn_weights.empty()
              ? 4 * ErrorBound::kUnit * std::abs(exact) * spec.dropout.factor()
              : row.attn_weights[j];
      const double added = (heads + 1) * ErrorBound::kUnit * std::abs(exact);
      mean_bound_(b, mean ? 0 : h, i, column) +=
          mean ? (own + added) / heads : own;
    }
  }

  void near(float got, double want, double bound, const char* what,
            const std::array<std::size_t, 4>& at) {
    const auto g = static_cast<double>(got);
    if (g == want || (std::isnan(g) && std::isnan(want)) ||
        std::abs(g - want) <= bound || !failure_.empty()) {
      return;
    }
    std::ostringstream text;
    text.precision(9);
    text << what << " at " << at[0] << ", " << at[1] << ", " << at[2] << ", "
         << at[3] << " is " << g << ", expected " << want << ", off by "
         << std::abs(g - want) << ", allowed " << bound;
    failure_ = text.str();
  }

  DType dtype_;
  RandomCallTensors tensors_;
  AttnWeights form_ = AttnWeights::none;
  bool gaps_untouched_ = false;
  Outputs<double> want_;
  Outputs<double> per_head_;
  Tensor<double, 4> mean_bound_;
  std::string failure_;
};

// Which features met each other, and how many calls were large.
class Tally {
 public:
  void count(const RandomCall& call) {
    ++calls_;
    large_ += call.large() ? 1 : 0;
    for (std::size_t a = 0; a < kFeatureNames.size(); ++a) {
      for (std::size_t b = 0; b < a; ++b) {
        pairs_[a][b] += call.features[a] && call.features[b] ? 1 : 0;
      }
    }
  }
  // Two features meet in one call of eleven: of fewer calls than these, some
  // pair may well miss.
  static constexpr std::size_t kEnough = 1000;
  void expect_everything_occurred() const {
    if (calls_ < kEnough) {
      return;
    }
    EXPECT_GE(3 * large_, calls_);
    for (std::size_t a = 0; a < kFeatureNames.size(); ++a) {
      for (std::size_t b = 0; b < a; ++b) {
        const bool exclusive =
            a == static_cast<std::size_t>(Feature::nan_rows) &&
            b == static_cast<std::size_t>(Feature::uniform_rows);
        EXPECT_TRUE(exclusive || pairs_[a][b] > 0)
            << kFeatureNames[a] << " never met " << kFeatureNames[b] << " in "
            << calls_ << " calls";
      }
    }
  }

 private:
  std::size_t calls_ = 0;
  std::size_t large_ = 0;
  std::array<std::array<std::size_t, kFeatureNames.size()>,
             kFeatureNames.size()>
      pairs_{};
};

TEST(RandomTest, EveryElementIsWithinTheBoundOfTheReference) {
  // rapidcheck reads it once.
  setenv("RC_PARAMS", "max_success=" HEADWISE_RANDOM_CALLS, 0);
  Tally tally;
  const bool right = rc::check([&tally] {
    const RandomCall call = *random_call();
    tally.count(call);
    const std::string failure = Comparison(call).run();
    if (!failure.empty()) {
      RC_FAIL(failure);
    }
  });
  EXPECT_TRUE(right);
  if (right) {
    tally.expect_everything_occurred();
  }
}

}  // namespace
}  // namespace headwise::testing_support
