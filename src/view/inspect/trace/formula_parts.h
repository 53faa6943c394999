// The parts of a step's formula that depend on the pass.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "headwise/inspect/trace.h"
#include "headwise/version.h"
#include "inspect/words/words.h"

namespace headwise::inline HEADWISE_ABI {

// Every function may throw std::bad_alloc.
class FormulaParts {
 public:
  explicit FormulaParts(const StepContext& pass)
      : say(pass.language), pass_(pass) {}

  const StepContext& pass() const { return pass_; }

  const Words say;  // the words of formulas

  // "scores[b,h,i,j]"; without "b," if there is no batch axis.
  std::string at(std::string_view tensor, std::string_view indices) const;
  // A formula written for a batch; without a batch, "[b,i]" becomes "[i]".
  std::string of_batch(std::string_view formula) const;
  // at() for a tensor of key and value heads: "k_heads[b,floor(h/4),j,d]".
  std::string at_kv_head(std::string_view tensor,
                         std::string_view feature) const;

  // What is projected to keys or values: `side` is "key" or "value".
  std::string_view kv_input(std::string_view side) const {
    return first_of({side, "hidden", "embedded_kv", "embedded"}, side);
  }
  // "query @ w_q.weight^T + w_q.bias".
  std::string projected(std::string_view input, std::string_view letter,
                        bool bias) const;
  // The formula of the step "hidden".
  std::string hidden() const;
  // The queries and keys that are rotated.
  std::string_view queries_before_rotation() const {
    return first_of({"q_normed"}, "q_heads");
  }
  std::string_view keys_before_rotation() const {
    return first_of({"k_normed"}, "k_heads");
  }
  // The queries and keys that are compared.
  std::string_view queries() const {
    return first_of({"q_rotated"}, queries_before_rotation());
  }
  std::string_view keys() const {
    return first_of({"k_added"}, keys_of_tokens());
  }
  // Without those of a cache.
  std::string_view new_keys() const {
    return first_of({"k_rotated"}, keys_before_rotation());
  }
  std::string_view values() const {
    return first_of({"v_added"}, values_of_tokens());
  }
  // The same without the added ones.
  std::string_view keys_of_tokens() const {
    return first_of({"keys"}, new_keys());
  }
  std::string_view values_of_tokens() const {
    return first_of({"values"}, "v_heads");
  }
  // The rows of the added keys, or of their values: ", bias_k[h,:], 0".
  std::string added(std::string_view learned) const;
  // ", j < Lkv" where the step leaves the columns of added keys as they are.
  std::string_view of_tokens_only() const {
    return has("k_added") ? ", j < Lkv" : "";
  }
  // The scores that `step` takes: those of the last step before it.
  std::string_view scores_before(std::string_view step) const;
  // The mask of the scores: all masks combined, or the only one.
  std::string_view mask() const;

  bool has(std::string_view step) const;
  // The first of these steps that the pass has, or `otherwise`.
  std::string_view first_of(std::initializer_list<std::string_view> steps,
                            std::string_view otherwise) const;

 private:
  const StepContext& pass_;
};

}  // namespace headwise::inline HEADWISE_ABI
