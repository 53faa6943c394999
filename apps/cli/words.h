// Every sentence that `explain` says by itself, in English and Korean (the
// steps' own words: headwise/inspect/step_table.h).
#pragma once

#include <array>
#include <string_view>

#include "headwise/inspect/step_table.h"

namespace headwise::cli {

enum class Word {
  title_tokens,
  title_one,
  title_cross_one,
  title_cross,
  title_vectors,
  title_unbatched,
  title_sentence,
  title_layer,
  tokens_and_ids,
  cut_tokens,
  heads,
  grouped_heads,
  max_length,
  max_target_length,
  max_source_length,
  shape,
  no_range,
  range,
  masked,
  allowed,
  has_nan,
  scale,
  softcap,
  dropout,
  shapes_only,
  axes,
  grouped_axis,
  token_axes,
  no_out_proj,
  no_value_proj,
  heads_title,
  heads_title_sentence,
  padding_label,
  padding_bar,
  padding_unit,
  count,  // how many there are
};

// The sentence, a format string of {fmt}.
std::string_view text_of(Word word, Language language);

// From LC_ALL, LC_MESSAGES or LANG: Korean for ko*, English otherwise.
Language language_of_environment();

}  // namespace headwise::cli
