// What a pass through a model is given: where it begins and ends, what changes
// its heads, and what it shows on its way. And what a backward pass gives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/base/tensor_view.h"
#include "headwise/decode/kv_cache.h"
#include "headwise/module/head_hooks.h"
#include "headwise/run/executor.h"
#include "headwise/steps/head_gates.h"
#include "headwise/steps/tokens.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

class ModelCache;

// Whose attention: of the tokens to each other; of an encoder-decoder, the
// decoder's tokens to each other (self) or to the encoder's (cross), or the
// encoder's tokens to each other.
enum class AttentionKind : std::uint8_t { self, cross, encoder };

struct AttentionPlace {
  AttentionKind kind = AttentionKind::self;
  std::size_t layer = 0;
  std::optional<std::size_t> head{};  // none: all

  bool operator==(const AttentionPlace&) const = default;
};
// "3.1", "cross.3.1", "encoder.3.1"; of all heads of a layer "3" and so on.
std::string name_of(const AttentionPlace& place);
// Of one head, from its name; none of another text.
std::optional<AttentionPlace> head_named(std::string_view name);

// Is given the input of a layer, (1, rows, hidden_size); an error ends the
// call.
using BeforeLayer =
    std::function<Status(std::size_t layer, TensorView<const float, 3> hidden)>;

// Where in a model a hook is called: in a layer, with the rows of all sequences
// from `first_row` on.
struct HookPlace {
  std::size_t layer = 0;
  std::size_t first_row = 0;
  AttentionKind kind = AttentionKind::self;
  // Where in their sequence the rows begin, over a cache; of rows of several
  // sequences 0.
  std::size_t first_token = 0;

  operator std::size_t() const { return layer; }
};

// The hooks of every layer's attention (module/head_hooks.h), of each kind, as
// a ragged batch of one row: of all sequences. A layer whose attention differs
// from sequence to sequence, by its length or its tokens (docs/families.md),
// calls them for each sequence in turn, with its rows alone; those without a
// token are passed over. So does cross-attention over a cache.
struct ModelHooks {
  std::function<Status(HookPlace at, const HookedHeads& heads)> see_inputs{};
  std::function<Status(HookPlace at, const HeadContext& heads)> edit{};
  std::function<Status(HookPlace at, TensorView<const float, 4> context)> see{};
  std::function<Status(HookPlace at, TensorView<const float, 4> d_context)>
      see_gradient{};
  // What receives the steps of a layer, or null. Of a single sequence.
  std::function<TraceSink*(std::size_t layer)> trace{};

  bool any() const {
    return see_inputs || edit || see || see_gradient || trace;
  }
};

// A pass that begins at a layer, with the hidden states that enter it, as
// ModelPass::see_entries saw them.
struct LayerEntry {
  std::size_t layer = 0;
  TensorView<const float, 2> hidden{};  // (rows, hidden_size)
};

// What a pass through a model is given besides its tokens.
struct ModelPass {
  // Default: the pass begins with the embeddings of the ids. Otherwise only the
  // lengths of the sequences are read.
  std::optional<LayerEntry> from{};
  // Ends with the hidden states that enter this layer: only the layers before
  // it are run. Not given: all layers are run.
  std::optional<std::size_t> before_layer{};
  // For each sequence, the token type of each token, 0 or 1; empty: all 0. A
  // causal model has none.
  std::span<const std::vector<TokenId>> token_types{};
  // As many sequences as the encoder has; of encoder-decoders alone.
  const RaggedTokens* decoder_ids = nullptr;
  // Empty: none. They must outlive the call and its backward pass.
  HeadGateSpan head_gates{};
  // Sees what enters each layer that is run, where `from` can begin. An error
  // ends the pass.
  BeforeLayer see_entries{};
  // Sees the input of each layer's attention: in a causal model the norm of
  // what enters the layer, otherwise the same. An error ends the pass.
  BeforeLayer before_each{};
  // Those of each layer's attention, with the same sequences; a trace needs a
  // single one.
  ModelHooks hooks{};
  // Sees (B, num_heads, Lq, Lkv) of each layer, with the lengths of the longest
  // sequence; 0 where a sequence has no query or key. With `heads`, each with a
  // head, it sees (B, 1, Lq, Lkv) of these, and those of no other head are
  // built.
  std::function<Status(const AttentionPlace& place,
                       TensorView<const float, 4> attn_weights)>
      see_attn_weights{};
  std::vector<AttentionPlace> heads{};
  // Of a decoder: the ids are the next tokens of these sequences of a cache, to
  // which they are added (transformer/model_cache.h). Neither `from`,
  // before_layer, token_types nor decoder_ids.
  ModelCache* cache = nullptr;
  std::span<const SequenceId> sequences{};
  // Over a cache: sees the statistics of each token in each head of a layer's
  // self-attention and cross-attention, (1, heads, rows, kStatistics), of the
  // rows from at.first_row on. The kind says which.
  std::function<Status(HookPlace at, TensorView<const float, 4> statistics)>
      see_statistics{};
  const Executor* executor = nullptr;  // null: Executor::default_executor()
};

// Which gradients a backward pass computes.
enum class ModelWanted { params_and_gates, gates };

struct ModelGradients {
  // For every parameter, by its name in files; empty unless requested.
  std::map<std::string, Tensor<float, 1>, std::less<>> params;
  // For each layer, per sequence: (B, heads of the layer); empty without
  // ModelPass::head_gates.
  std::vector<Tensor<float, 2>> head_gates;
};

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
