// A transformer as data: what every family of models comes to. The engine knows
// no family; a family knows no engine.
//
//   x = embedding(ids)
//   in each layer, for attention, then for the feed-forward network:
//     x = behind(x + after(part(before(x))))     each norm only if it is there
//   or, in parallel:
//     x = x + attention(before(x)) + feed_forward(before(x))
//   logits = unembedding(final(x))
//
// A norm, bias or table is there if its tensor is in the list of names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headwise/steps/activation.h"
#include "headwise/steps/norm_heads.h"
#include "headwise/steps/rotary.h"
#include "headwise/steps/tokens.h"
#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI::transformer {

struct EmbeddingSpec {
  std::size_t vocab_size = 0;
  std::size_t size = 0;       // of a token's vector in the file
  double scale = 1;           // on the tokens' vectors
  std::size_t positions = 0;  // rows of their table
  // The row of position 0 in the table of positions. With `uncounted`, tokens
  // with this id stand at the position before it, and are not counted.
  std::size_t first_position = 0;
  std::optional<TokenId> uncounted{};
  std::size_t token_types = 0;
};

struct RotarySpec {
  RotaryConfig config{};
  // Longer sequences are scaled by `longer`; a factor f of NtkScaling is then
  // f * length / limit - (f - 1). 0: all lengths are alike.
  std::size_t limit = 0;
  RotaryScaling longer{};

  RotaryConfig config_of(std::size_t length) const;
  // Whether a sequence rotates otherwise once it has grown.
  bool differs(std::size_t length, std::size_t grown) const;
};

// DeBERTa's scores of contents with distances: projections of a table of
// distances take part in the scores as keys and as queries.
struct DistanceSpec {
  std::size_t span = 0;     // the table has twice as many rows
  std::size_t buckets = 0;  // 0: none, the distances themselves
  std::size_t longest = 0;
  bool with_keys = false;     // queries with distances
  bool with_queries = false;  // distances with keys
};

// T5's bias by relative position.
struct RelativeSpec {
  std::size_t buckets = 0;
  std::size_t max_distance = 128;
  bool bidirectional = false;
};

struct HeadsSpec {
  std::size_t num_heads = 0;
  std::size_t num_kv_heads = 0;
  std::size_t head_dim = 0;
  double scale = 1;  // on q.k
  std::optional<double> softcap{};
  std::optional<QkNorm> qk_norm{};
  // Falcon's: the score of key j gains scale * slope * j, where the product of
  // slope and j is rounded to bfloat16; a slope per head, or none.
  std::vector<float> key_slopes{};
  std::optional<RelativeSpec> relative{};
  std::optional<DistanceSpec> distances{};
};

// Of each row the best `chosen` of `count` networks, by the softmax of what the
// router says of these; gates are at most `limit`, what they are multiplied by
// is within it, plus 1.
struct ExpertsSpec {
  std::size_t count = 0;
  std::size_t chosen = 0;
  double limit = 0;
};

struct FeedForwardSpec {
  std::size_t size = 0;  // 0: layers of attention alone
  Activation activation = Activation::gelu;
  std::optional<ExpertsSpec> experts{};
};

// DeBERTa's convolution of the embeddings, added behind the first layer.
struct ConvolutionSpec {
  std::size_t width = 0;
  std::size_t groups = 1;
  std::optional<Activation> activation{};  // none: tanh
};

struct LayerSpec {
  double scale = 1;                     // on q.k, too
  std::optional<std::size_t> rotary{};  // its place in StackSpec::rotary
  // A query sees this many keys: itself and those before it; without causal,
  // it is the same number behind it, too.
  std::optional<std::size_t> window{};
  // The numbers in the names of its tensors: {N}, and {K} where there is one.
  std::size_t params = 0;
  std::size_t inner = 0;
  // The numbers of the heads that were not pruned, ascending; none: all.
  std::optional<std::vector<std::size_t>> kept_heads{};
};

// An encoder or a decoder. It sees an encoder if it has the tensors for that.
struct StackSpec {
  std::size_t hidden_size = 0;
  EmbeddingSpec embedding{};
  HeadsSpec heads{};
  FeedForwardSpec feed_forward{};
  QkNorm norm{};  // of all rows, as of one head
  bool causal = false;
  // Attention and feed-forward network take the same x. Without a norm before
  // it, the latter takes what the former takes.
  bool parallel = false;
  std::optional<ConvolutionSpec> convolution{};
  std::vector<RotarySpec> rotary{};
  std::vector<LayerSpec> layers{};

  // The numbers of the heads that a layer has.
  std::vector<std::size_t> heads_in(std::size_t layer) const;
  // The key heads that a layer has, each with the number of its query heads.
  struct KeyHead {
    std::size_t number = 0;
    std::size_t queries = 0;
  };
  std::vector<KeyHead> key_heads_in(std::size_t layer) const;
  // Whether each of them has as many query heads.
  bool has_even_groups(std::size_t layer) const;
  // The same counted: `heads` of a layer.
  HeadsSpec heads_of(std::size_t layer) const;
};

struct UnembeddingSpec {
  bool tied = false;      // without a tensor of its own it is the tokens' table
  bool may_miss = false;  // without one there are no logits
  double scale = 1;       // on the hidden state
  std::optional<double> softcap{};
};

// What a tensor of the file is. Of a layer: those from attention_before on.
enum class Part : std::uint8_t {
  tokens,
  positions,
  token_types,
  token_projection,   // of the tokens' vectors, before positions are added
  placed_projection,  // after that, before the norm
  embedding_norm,
  embedding_projection,
  final_norm,
  unembedding_projection,  // before the unembedding
  unembedding,
  unembedding_bias,  // (1, vocab_size), if the file has it
  relative,          // (buckets, heads)
  distances,         // (2 * span, hidden_size)
  distance_norm,
  convolution,  // (hidden_size, hidden_size / groups, width)
  convolution_norm,
  attention_before,
  attention_after,
  attention_behind,
  w_q,
  w_k,
  w_v,
  w_qkv,  // all three in one
  w_o,
  q_norm,
  k_norm,
  sinks,
  distance_keys,  // projections of the distances; none: w_k and w_q
  distance_queries,
  cross_before,  // of the attention of a decoder to what its encoder gives
  cross_behind,
  cross_q,
  cross_k,
  cross_v,
  cross_o,
  feed_before,
  feed_after,
  feed_behind,
  gate,
  up,       // of a network without a gate: its first projection
  gate_up,  // both in one: the rows of the gate, then those of up
  down,
  router,
  experts_gate_up,  // (experts, hidden_size, 2 * size): gate and up in turns
  experts_down,     // (experts, size, hidden_size)
};

// How a matrix lies in the file.
enum class Form : std::uint8_t {
  plain,         // (out, in); w_qkv: all rows of w_q, then w_k, then w_v
  transposed,    // (in, out)
  qkv_by_group,  // of each key head its queries, its key and its value
  rotary_pairs,  // plain, but both rows of a rotated pair are side by side
};

struct TensorName {
  // Without ".weight" and ".bias"; {N} is the layer. Empty: a norm without
  // parameters.
  std::string name;
  Part part = Part::tokens;
  Form form = Form::plain;
  bool bias = false;
  bool whole_name = false;      // nothing is appended
  std::size_t first_layer = 0;  // layers before it do not have the tensor
};

inline constexpr std::size_t kNoLayer = ~std::size_t{0};

// The name of a tensor of a layer, with its end, ".weight" or ".bias".
std::string numbered_name(const TensorName& row, const StackSpec& stack,
                          std::string_view end, std::size_t layer);

// A stack and its tensors.
struct NamedStack {
  StackSpec stack{};
  std::vector<TensorName> names{};
};

// The stack is that of the decoder where there is an encoder, too.
struct Description : NamedStack {
  std::string family{};  // model_type
  std::optional<NamedStack> encoder{};
  TokenId decoder_start = 0;  // what the decoder's sequences begin with
  std::optional<UnembeddingSpec> unembedding{};
  // The outer name that tensors may have in front.
  std::string_view prefix{};

  // The stack that reads texts, whose heads may be pruned: the encoder's, if
  // there is one.
  StackSpec& reading() { return encoder ? encoder->stack : stack; }
  // Leaves the encoder alone, if there is one.
  void keep_encoder();
};

}  // namespace headwise::inline HEADWISE_ABI::transformer
