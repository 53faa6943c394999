// The parts of a step's formula that depend on the pass.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "headwise/inspect/step_table.h"
#include "headwise/version.h"
#include "inspect/words/words.h"

namespace headwise::inline HEADWISE_ABI {

// Every function may throw std::bad_alloc.
class FormulaParts {
 public:
  explicit FormulaParts(const StepContext& pass)
      : pass_(pass), words_(words_of(pass.language).formulas) {}

  const StepContext& pass() const { return pass_; }
  const FormulaWords& words() const { return words_; }

  // "scores[b,h,i,j]"; without "b," if there is no batch axis.
  std::string at(std::string_view tensor, std::string_view indices) const;
  // A formula written for a batch; without a batch, "[b,i]" becomes "[i]".
  std::string of_batch(std::string_view formula) const;
  // at() for a tensor of key and value heads: "k_heads[b,floor(h/4),j,d]".
  std::string at_kv_head(std::string_view tensor,
                         std::string_view feature) const;

  // What is looked up in the embedding.
  std::string_view token_ids() const;
  // What is projected to queries, keys or values.
  std::string_view query_input() const;
  std::string_view kv_input(std::string_view side) const;  // "key", "value"
  // "query @ w_q.weight^T + w_q.bias".
  std::string projected(std::string_view input, std::string_view letter,
                        bool bias) const;
  // The formula of the step "hidden".
  std::string hidden() const;
  // The queries and keys that are rotated.
  std::string_view queries_before_rotation() const;
  std::string_view keys_before_rotation() const;
  // The queries and keys that are compared.
  std::string_view queries() const;
  std::string_view keys() const;
  std::string_view new_keys() const;  // without those of a cache
  std::string_view values() const;
  // The same without the added ones.
  std::string_view keys_of_tokens() const;
  std::string_view values_of_tokens() const;
  // The rows of the added keys, or of their values: ", bias_k[h,:], 0".
  std::string added(std::string_view learned) const;
  // ", j < Lkv" where the step leaves the columns of added keys as they are.
  std::string_view of_tokens_only() const;
  // The scores that `step` takes: those of the last step before it.
  std::string_view scores_before(std::string_view step) const;
  // The mask of the scores: all masks combined, or the only one.
  std::string_view mask() const;
  // The weights in the sum of the values.
  std::string_view weights() const;
  // What the heads are merged from.
  std::string_view head_outputs() const;

  bool has(std::string_view step) const;

 private:
  // The first of these steps that the pass has, or `otherwise`.
  std::string_view first_of(std::initializer_list<std::string_view> steps,
                            std::string_view otherwise) const;

  const StepContext& pass_;
  const FormulaWords& words_;
};

}  // namespace headwise::inline HEADWISE_ABI
