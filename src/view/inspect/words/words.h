// Every word of the steps and the pictures. Each language is one table,
// words_LANGUAGE.cc: a table that leaves a word out does not compile. The page
// has tables of its own, page/viewer/words.LANGUAGE.js.
#pragma once

#include "headwise/inspect/language.h"
#include "headwise/version.h"
#include "inspect/words/sentence.h"

namespace headwise::inline HEADWISE_ABI {

// What each step does.
struct StepWords {
  Word lengths;
  Word padded;
  Word embedded;
  Word lengths_kv;
  Word padded_kv;
  Word embedded_kv;
  Word hidden;
  Word query;
  Word key;
  Word value;
  Word q;
  Word k;
  Word v;
  Word v_not_projected;
  Word q_split;
  Word k_split;
  Word v_split;
  Word q_heads;
  Word k_heads;
  Word v_heads;
  Word q_normed;
  Word k_normed;
  Word q_rotated;
  Word k_rotated;
  Word new_token;
  Word cached_keys;
  Word keys;
  Word cached_values;
  Word values;
  Word bias_k;
  Word bias_v;
  Word k_added;
  Word v_added;
  Word scores;
  Word additive_scores;
  Word capped_scores;
  Word biased_scores;
  Word t5_scores;
  Word alibi_scores;
  Word mask;
  Word masked_scores;
  Word sinks;
  Word attn_weights;
  Word attn_weights_with_sinks;
  Word dropped_weights;
  Word context;
  Word gated;
  Word merged;
  Word output;
  Word output_not_projected;
};

// The words in their formulas.
struct FormulaWords {
  Word given;
  Word token_count;
  Word source_token_count;
  Word layer_input;
  Sentence<1> layer_output;  // number of a layer
  Word all_masks;
  Word in_cache;
  Sentence<1> if_kept;  // an expression
};

struct PictureWords {
  Word query;
  Word key;
  Sentence<1> layer;       // number
  Sentence<1> head;        // number
  Sentence<2> layer_head;  // numbers
  Word attention_weight;
  Word weight_axes;  // the same, and what rows and columns are
  Word masked;
  Word pruned;
  Word removed;
  Word largest;
  Word root_scale;      // next to a colour ramp, here and below
  Word own_root_scale;  // each head has its own scale
  Word linear_scale;
  Word no_head_has_value;
  // Heads with a value, layers, the smallest and the largest value.
  Sentence<4> head_scores;
  Word heads_removed;
  Word accuracy;
  Word no_points;
};

struct Words {
  StepWords steps;
  FormulaWords formulas;
  PictureWords pictures;
};

extern const Words kEnglishWords;
extern const Words kKoreanWords;

const Words& words_of(Language language);

}  // namespace headwise::inline HEADWISE_ABI
