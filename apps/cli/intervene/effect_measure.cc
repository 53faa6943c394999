#include "effect_measure.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstddef>

#include "shell/quantity_text.h"
#include "shell/say.h"

namespace headwise::cli {
namespace {

struct MeasureWords {
  std::string_view name;
  std::string_view title;
  std::string_view interaction;
};

// In the order of EffectMeasure.
constexpr std::array<MeasureWords, 5> kMeasures = {{
    {"distance", "distance", "interaction"},
    {"loss", "loss", "interaction of losses"},
    {"accuracy", "accuracy in points", "interaction in points"},
    {"loss_on_repeats", "loss on repeats", "interaction of losses on repeats"},
    {"accuracy_on_repeats", "accuracy on repeats in points",
     "interaction on repeats in points"},
}};

const MeasureWords& words_of(EffectMeasure measure) {
  return kMeasures[static_cast<std::size_t>(measure)];
}

bool is_on_repeats(EffectMeasure measure) {
  return measure == EffectMeasure::loss_on_repeats ||
         measure == EffectMeasure::accuracy_on_repeats;
}

bool is_accuracy(EffectMeasure measure) {
  return measure == EffectMeasure::accuracy ||
         measure == EffectMeasure::accuracy_on_repeats;
}

}  // namespace

std::string_view name_of(EffectMeasure measure) {
  return words_of(measure).name;
}

std::vector<std::string> effect_measure_names() {
  std::vector<std::string> names;
  for (const MeasureWords& words : kMeasures) {
    names.emplace_back(words.name);
  }
  return names;
}

std::vector<EffectMeasure> measures_of(bool predicts, bool on_repeats) {
  using enum EffectMeasure;
  return !predicts ? std::vector{distance}
         : on_repeats
             ? std::vector{loss, accuracy, loss_on_repeats, accuracy_on_repeats}
             : std::vector{loss, accuracy};
}

std::vector<EffectMeasure> on_same_tokens(EffectMeasure as,
                                          std::vector<EffectMeasure> measures) {
  std::erase_if(measures, [&](EffectMeasure measure) {
    return is_on_repeats(measure) != is_on_repeats(as);
  });
  return measures;
}

const MeanInterval& effect_on(EffectMeasure measure,
                              const AblationEffect& effect) {
  switch (measure) {
    case EffectMeasure::accuracy:
      return *effect.accuracy;
    case EffectMeasure::loss_on_repeats:
      return *effect.loss_on_repeats;
    case EffectMeasure::accuracy_on_repeats:
      return *effect.accuracy_on_repeats;
    case EffectMeasure::distance:
    case EffectMeasure::loss:
      break;
  }
  return effect.loss;
}

double harm_of(EffectMeasure measure, const AblationEffect& effect) {
  const double mean = effect_on(measure, effect).mean;
  return is_accuracy(measure) ? -mean : mean;
}

std::string title_of(EffectMeasure measure) {
  return in_language(words_of(measure).title);
}

std::string interaction_title(EffectMeasure measure) {
  return in_language(words_of(measure).interaction);
}

std::string effect_text(EffectMeasure measure, const AblationEffect& effect) {
  const MeanInterval& of = effect_on(measure, effect);
  if (std::isnan(of.mean)) {
    return "-";
  }
  const double scale = is_accuracy(measure) ? 100 : 1;
  const int digits = is_accuracy(measure) ? 1 : 4;
  const std::string mean = signed_text(scale * of.mean, digits);
  return std::isnan(of.low) ? mean
                            : fmt::format("{} [{}, {}]", mean,
                                          signed_text(scale * of.low, digits),
                                          signed_text(scale * of.high, digits));
}

}  // namespace headwise::cli
