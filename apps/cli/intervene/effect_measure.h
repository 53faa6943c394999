// What removing heads has an effect on: the loss, the accuracy and both on
// repeated tokens, or the distance that embeddings move.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "headwise/heads/ablation.h"

namespace headwise::cli {

enum class EffectMeasure {
  distance,
  loss,
  accuracy,
  loss_on_repeats,
  accuracy_on_repeats
};

// "loss_on_repeats": in JSON, CSV and --sort.
std::string_view name_of(EffectMeasure measure);
std::vector<std::string> effect_measure_names();

// Those that scores have: the distance of embeddings, or loss and accuracy.
std::vector<EffectMeasure> measures_of(bool predicts, bool on_repeats);

// Those on the same tokens: all, or repeats alone.
std::vector<EffectMeasure> on_same_tokens(EffectMeasure as,
                                          std::vector<EffectMeasure> measures);

// The effect must have the measure.
const MeanInterval& effect_on(EffectMeasure measure,
                              const AblationEffect& effect);
// Larger is worse. NaN without an effect.
double harm_of(EffectMeasure measure, const AblationEffect& effect);

// "accuracy in points", and "interaction in points", at the head of a
// column.
std::string title_of(EffectMeasure measure);
std::string interaction_title(EffectMeasure measure);
// "+0.0123 [-0.0010, +0.0256]"; accuracies in percentage points.
std::string effect_text(EffectMeasure measure, const AblationEffect& effect);

}  // namespace headwise::cli
