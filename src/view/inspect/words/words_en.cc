#include "inspect/words/words.h"

namespace headwise::inline HEADWISE_ABI {

constexpr Words kEnglishWords = {
    .steps =
        {.lengths = "count the tokens of each sequence",
         .padded = "pad every sequence to the length of the longest",
         .embedded = "look up the embedding of each token",
         .lengths_kv = "count the tokens of each source sequence",
         .padded_kv = "pad every source sequence to the length of the longest",
         .embedded_kv = "look up the embedding of each source token",
         .hidden = "the hidden states that enter this layer",
         .query = "the vectors that become queries",
         .key = "the vectors that become keys",
         .value = "the vectors that become values",
         .q = "project to queries: what each token looks for",
         .k = "project to keys: what each token offers to be matched on",
         .v = "project to values: what each token passes on",
         .v_not_projected = "no value projection: the values are used as given",
         .q_split = "split the queries into heads (a view, no copy)",
         .k_split = "split the keys into heads (a view, no copy)",
         .v_split = "split the values into heads (a view, no copy)",
         .q_heads = "transpose the queries: heads before tokens",
         .k_heads = "transpose the keys: heads before tokens",
         .v_heads = "transpose the values: heads before tokens",
         .q_normed = "normalise the features of the queries and scale them",
         .k_normed = "normalise the keys in the same way",
         .q_rotated = "rotate each pair of features of the queries by an angle "
                      "that grows with the position",
         .k_rotated = "rotate the keys in the same way",
         .new_token = "the new token, the last of the sequence",
         .cached_keys = "the keys of the tokens before, from the cache",
         .keys = "append the key of the new token to the cache",
         .cached_values = "the values of the tokens before, from the cache",
         .values = "append the value of the new token to the cache",
         .bias_k = "one learned key per head, the same in every sequence",
         .bias_v = "the value of that key",
         .k_added = "append the added keys, which every query sees",
         .v_added = "append the values of the added keys",
         .scores = "compare every query with every key, scaled",
         .additive_scores =
             "compare every query with every key through a hidden layer",
         .capped_scores = "softcap: keep every score between -softcap and "
                          "softcap",
         .biased_scores = "add the bias; -inf masks a pair",
         .t5_scores =
             "T5: add the number of the bucket that the key's distance "
             "falls into",
         .alibi_scores = "ALiBi: lower the score of a key by its distance",
         .mask = "combine the masks: True where all of them are True",
         .masked_scores = "set masked scores to -inf",
         .sinks = "sinks: one more score per head, with no value",
         .attn_weights = "softmax: turn each row into weights that sum to 1",
         .attn_weights_with_sinks =
             "softmax over the scores and the sink, whose weight is left out",
         .dropped_weights =
             "dropout: set some weights to 0 and scale up the rest",
         .context = "sum the values, weighted by the attention weights",
         .gated = "scale each head by its gate; 0 turns it off",
         .merged = "concatenate the heads (a view, no copy)",
         .output = "project to the output",
         .output_not_projected =
             "no output projection: the merged heads are the output"},
    .formulas = {.given = "given",
                 .token_count = "number of tokens in sequence b",
                 .source_token_count = "number of tokens in source sequence b",
                 .layer_input = "input of this layer",
                 .layer_output = "output of layer {0}",
                 .all_masks = "AND of all masks above",
                 .in_cache = "in the cache before this step",
                 .if_kept = "{0} if kept else 0"},
    .pictures = {
        .query = "query",
        .key = "key",
        .layer = "layer {0}",
        .head = "head {0}",
        .layer_head = "layer {0}, head {1}",
        .attention_weight = "attention weight",
        .weight_axes = "attention weight; rows are queries, columns are keys",
        .masked = "masked",
        .pruned = "pruned",
        .removed = "removed",
        .largest = "largest",
        .root_scale = "colour follows the square root of the weight",
        .own_root_scale =
            "scaled per head; colour follows the square root of the weight",
        .linear_scale = "linear from the smallest to the largest value",
        .no_head_has_value = "no head has a value",
        .head_scores = "Heads with a value: {0}. Layers: {1}. Smallest: {2}. "
                       "Largest: {3}.",
        .heads_removed = "heads removed",
        .accuracy = "accuracy (%)",
        .no_points = "no points"}};

}  // namespace headwise::inline HEADWISE_ABI
