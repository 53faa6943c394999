#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/exponential.h"
#include "base/logarithm.h"
#include "headwise/heads/patching.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kOutputMeasures = "patch";

// ln of the sum of exp over all logits but that of the label, and the softmax
// over these, where the label has 0.
struct OtherLabels {
  double log_sum = 0;
  std::vector<double> softmax;
};

OtherLabels other_labels(std::span<const float> logits, std::size_t label) {
  double largest = -std::numeric_limits<double>::infinity();
  for (std::size_t c = 0; c < logits.size(); ++c) {
    largest = c == label ? largest
                         : std::max(largest, static_cast<double>(logits[c]));
  }
  OtherLabels others{0, std::vector<double>(logits.size())};
  double sum = 0;
  for (std::size_t c = 0; c < logits.size(); ++c) {
    if (c != label) {
      others.softmax[c] = exponential(static_cast<double>(logits[c]) - largest);
      sum += others.softmax[c];
    }
  }
  for (double& p : others.softmax) {
    p /= sum;
  }
  others.log_sum = largest + natural_log(sum);
  return others;
}

OutputMeasure log_odds_of(std::size_t label) {
  return {.value =
              [label](std::span<const float> logits) {
                return static_cast<double>(logits[label]) -
                       other_labels(logits, label).log_sum;
              },
          .gradient =
              [label](std::span<const float> logits) {
                std::vector<double> d = other_labels(logits, label).softmax;
                for (double& p : d) {
                  p = -p;
                }
                d[label] = 1;
                return d;
              },
          .label = label};
}

}  // namespace

MeasureOfTexts log_odds(std::optional<std::size_t> label) {
  return [label](std::span<const float> clean,
                 std::span<const float>) -> Result<OutputMeasure> {
    const std::size_t of = label.value_or(static_cast<std::size_t>(
        std::ranges::max_element(clean) - clean.begin()));
    if (of >= clean.size()) {
      return value_error(kOutputMeasures, "label", std::to_string(of),
                         message("below {}", clean.size()),
                         ErrorCode::out_of_range);
    }
    return log_odds_of(of);
  };
}

MeasureOfTexts toward_corrupted() {
  return [](std::span<const float> clean,
            std::span<const float> corrupted) -> Result<OutputMeasure> {
    std::vector<double> way;
    double length = 0;
    for (std::size_t e = 0; e < clean.size(); ++e) {
      way.push_back(static_cast<double>(corrupted[e]) -
                    static_cast<double>(clean[e]));
      length += way[e] * way[e];
    }
    if (!(length > 0)) {
      return argument_error(kOutputMeasures, "corrupted",
                            "has the output of the clean text",
                            "a text with another output");
    }
    for (double& e : way) {
      e /= length;
    }
    std::vector<float> from(clean.begin(), clean.end());
    return OutputMeasure{
        .value =
            [way, from = std::move(from)](std::span<const float> outputs) {
              double sum = 0;
              for (std::size_t e = 0; e < way.size(); ++e) {
                sum += way[e] * (static_cast<double>(outputs[e]) -
                                 static_cast<double>(from[e]));
              }
              return sum;
            },
        .gradient = [way](std::span<const float>) { return way; }};
  };
}

}  // namespace headwise::inline HEADWISE_ABI
