#include "pruned_next_tokens.h"

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "shell/say.h"

namespace headwise::cli {
namespace {

// One of a text's numbers: its loss, or its share of right tokens.
using NumberOfText = double (*)(const NextTokenScore& score);

double loss_of(const NextTokenScore& score) { return score.loss; }
// NaN without tokens.
double share_right(const NextTokenScore& score) {
  return static_cast<double>(score.right_tokens) /
         static_cast<double>(score.tokens);
}
double share_of_repeats(const NextTokenScore& score) {
  return static_cast<double>(score.right_repeats) /
         static_cast<double>(score.repeats);
}

std::vector<double> numbers_of(std::span<const NextTokenScore> scores,
                               NumberOfText number) {
  std::vector<double> numbers;
  for (const NextTokenScore& score : scores) {
    numbers.push_back(score.tokens == 0
                          ? std::numeric_limits<double>::quiet_NaN()
                          : number(score));
  }
  return numbers;
}

struct ThreeIntervals {
  MeanInterval before, after, change;
};

ThreeIntervals intervals(std::span<const NextTokenScore> before,
                         std::span<const NextTokenScore> after,
                         NumberOfText number) {
  const std::vector<double> first = numbers_of(before, number);
  const std::vector<double> second = numbers_of(after, number);
  std::vector<double> change = second;
  for (std::size_t n = 0; n < change.size(); ++n) {
    change[n] -= first[n];
  }
  return {mean_interval(first), mean_interval(second), mean_interval(change)};
}

std::string perplexity_text(const MeanInterval& loss) {
  return say("{:.4g} ({:.4g} to {:.4g})", std::exp(loss.mean),
             std::exp(loss.low), std::exp(loss.high));
}

std::string shares_text(const MeanInterval& before, const MeanInterval& after,
                        const MeanInterval& change) {
  return say(
      "{:.1f}% right before, {:.1f}% after: {:+.1f} points ({:+.1f} to "
      "{:+.1f})\n",
      100 * before.mean, 100 * after.mean, 100 * change.mean, 100 * change.low,
      100 * change.high);
}

Json numbers_json(const NextTokens& measured) {
  Json json = Json::object();
  for (const auto& [name, of] :
       {std::pair("loss", measured.loss),
        {"accuracy", measured.accuracy},
        {"accuracy_on_repeats", measured.accuracy_on_repeats}}) {
    if (of.count != 0) {
      json.update({{name, of.mean},
                   {std::string(name) + "_low", of.low},
                   {std::string(name) + "_high", of.high}});
    }
  }
  return json;
}

}  // namespace

PrunedNextTokens next_tokens_between(std::span<const NextTokenScore> before,
                                     std::span<const NextTokenScore> after) {
  const ThreeIntervals loss = intervals(before, after, loss_of);
  const ThreeIntervals accuracy = intervals(before, after, share_right);
  const ThreeIntervals repeats = intervals(before, after, share_of_repeats);
  return {.texts = loss.change.count,
          .before = {loss.before, accuracy.before, repeats.before},
          .after = {loss.after, accuracy.after, repeats.after},
          .change = {loss.change, accuracy.change, repeats.change}};
}

std::string text_of(const PrunedNextTokens& measured) {
  const auto& [texts, before, after, change] = measured;
  return say("perplexity  {} before, {} after, on {} texts\n",
             perplexity_text(before.loss), perplexity_text(after.loss), texts) +
         say("next token  {}",
             shares_text(before.accuracy, after.accuracy, change.accuracy)) +
         (change.accuracy_on_repeats.count == 0
              ? ""
              : say("on repeats  {}", shares_text(before.accuracy_on_repeats,
                                                  after.accuracy_on_repeats,
                                                  change.accuracy_on_repeats)));
}

Json json_of(const PrunedNextTokens& measured) {
  return {{"texts", measured.texts},
          {"before", numbers_json(measured.before)},
          {"after", numbers_json(measured.after)},
          {"change", numbers_json(measured.change)}};
}

}  // namespace headwise::cli
