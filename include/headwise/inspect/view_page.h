// The page that shows every head: one HTML file, opened from disk. It fetches
// and installs nothing. docs/viewer-page.md documents its data.
//
// A page shows one sequence, layer by layer, or several that the reader chooses
// from: see ViewPage::next(). It holds each head's query, key and log-sum-exp,
// from which it computes the attention weights: of the whole head with up to
// kMostMapLength queries and keys, of the tiles in view with more. If it cannot
// compute the weights, or if they are smaller, it holds those, coded in bytes.
//
// Errors of the operation "view_page":
//   shape_mismatch, invalid_argument  those of attention(); labels that do not
//       fit the layers; head numbers that do not fit the heads
//       ("head_numbers[2]")
//   bad_data      an element of query or key, named by its index in the tensor
//       ("query[0, 2, 1, 3]"), that is not finite, or too large for binary16;
//       a negative attention weight or norm; a number that is not finite
//   unsupported   what the page cannot compute: a bias or additive scores with
//       more than kMostMapLength queries or keys; attention weights of as many
//   out_of_range  "page": it would be larger than `most_bytes`; the error says
//       how many layers or documents fit
//   out_of_memory
//
// Example:
//   ViewPage page = ViewPage::create({.title = "Mine", .query_labels = tokens,
//                                     .key_labels = tokens}).value();
//   Status s = page.add({.number = 0, .query = q, .key = k});
//   std::string html = page.html().value();
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "headwise/attention/spec.h"
#include "headwise/attention/statistics_options.h"
#include "headwise/base/hidden.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor_view.h"
#include "headwise/inspect/trace.h"
#include "headwise/module/head_hooks.h"
#include "headwise/steps/tokens.h"
#include "headwise/version.h"
#include "headwise/words/language.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

inline constexpr std::size_t kMostMapLength = 1024;
inline constexpr std::size_t kPairsPooledByPage =
    4 * kMostMapCells * kMostMapCells;
// Whether the page pools maps of a head itself: it has the attention weights of
// all pairs at once, and they are few.
constexpr bool pooled_by_page(std::size_t Lq, std::size_t Lkv) {
  return std::max(Lq, Lkv) <= kMostMapLength && Lq * Lkv <= kPairsPooledByPage;
}
inline constexpr std::size_t kMostPageBytes = std::size_t{512} << 20;

// What the gradients that a page shows are of, and its value: the logit of a
// label, the logit of a token that comes after `output_token` or, without
// either, the length of the embedding.
struct ViewedTarget {
  std::optional<std::string> label{};
  std::optional<std::string> token{};
  std::size_t output_token = 0;
  double value = 0;
};

// How much of each input token is in each output token, through all layers:
// (L, L), a row per output token. Either may be left out.
struct ViewedThroughLayers {
  TensorView<const float, 2> rollout{};  // heads/rollout.h
  TensorView<const float, 2> flow{};     // heads/rollout.h
  std::size_t output_token = 0;          // that the page shows first
};

struct ViewPageSettings {
  std::string title;
  std::string command;  // that makes this page
  std::optional<std::string> model{};
  std::optional<std::string> text{};
  // What sets this document of a page apart from others of the same text and
  // model: "without 3.1".
  std::optional<std::string> variant{};
  bool cross = false;                // queries and keys of different sequences
  Language language = Language::en;  // the page opens in it, and has both
  // Whether the page holds query and key, and computes attention weights from
  // them; if not, it holds the weights of up to kMostMapLength queries and
  // keys. Not given: what takes less memory, query and key up to
  // kPairsPooledByPage pairs. A page that cannot compute the weights (a bias,
  // additive scores) always holds them.
  std::optional<bool> elements{};
  // One per query and key of the sequence; any text is safe.
  std::vector<std::string> query_labels{};
  std::vector<std::string> key_labels{};
  // For a pair of sentences, the sentence of each token: 0 or 1. The page can
  // show attention from one to the other alone. Empty: no pair.
  std::vector<TokenId> token_types{};
  // Positions, ascending, of tokens such as [CLS] that the page can hide.
  std::vector<std::size_t> query_special{};
  std::vector<std::size_t> key_special{};
  // The first token that a model chose after those before it. The page marks it
  // and the later ones: each shows what the query before it looked at.
  std::optional<std::size_t> generated_from{};
  // Of every layer. The page sets attn_weights and all statistics but
  // separators and query_lengths itself, and leaves out queries beyond their
  // length. It shows attention weights before dropout. The views must outlive
  // the page.
  AttentionOptions attention{};
  OperationOptions operation{};
  std::size_t sequence = 0;  // of the batch
  std::optional<ViewedTarget> target{};
  ViewedThroughLayers through{};
  std::size_t most_bytes = kMostPageBytes;
};

// Gradient times attention of a layer, as heads/gradient_attention.h has it. If
// all layers with heads have it, the page can show the product of each pair,
// which it computes from d_context and value.
struct ViewedGradient {
  TensorView<const float, 4> d_context{};  // (B, Lq, Hq, Dv)
  TensorView<const float, 4> value{};      // (B, Lkv, Hq, Dv)
  TensorView<const float, 3> columns{};    // (B, Hq, Lkv)
  TensorView<const double, 2> totals{};    // (B, Hq)
  // (B, Hq, map_size(Lq), map_size(Lkv)); only needed without
  // pooled_by_page(Lq, Lkv).
  TensorView<const float, 4> map{};

  bool given() const { return d_context.data() != nullptr; }
};

struct ViewedLayer {
  std::size_t number = 0;
  // Of this layer where they are others than those of the page's settings: its
  // mask, sinks, bias and ALiBi slopes.
  std::shared_ptr<const AttentionOptions> attention{};
  TensorView<const float, 4> query{};   // (B, Lq, Hq, D)
  TensorView<const float, 4> key{};     // (B, Lkv, Hkv, D)
  std::span<const TracedStep> steps{};  // may be shapes only
  // For a pruned layer: the numbers of the query's heads, ascending, and how
  // many heads the layer had. The page shows the pruned heads hatched, in their
  // places. Empty: no head was pruned; they are numbered from 0. A layer with
  // num_heads alone has no heads left.
  std::span<const std::size_t> head_numbers{};  // (Hq)
  std::size_t num_heads = 0;
  // In place of query and key: (B, Hq, Lq, Lkv), as weights_statistics() takes
  // them. Of the options, the mask, query_start and statistics count. Pairs
  // without weight in any head are shown as masked.
  TensorView<const float, 4> attn_weights{};
  // (B, Hq, Lkv), the norms of what the heads make of each key
  // (heads/norm_statistics.h). If all layers with heads have them, the page can
  // show attention weights times norms.
  TensorView<const float, 3> key_norms{};
  // (B, Hq, map_size(Lq), map_size(Lkv)): with more than kMostMapLength queries
  // or keys, the mean over a cell's pairs of attention weight times norm.
  // Without it such a page has no norms.
  TensorView<const float, 4> norm_map{};
  ViewedGradient gradient{};
  // Integrated gates (heads/integrated_gates.h) of all layers and layer by
  // layer, (Hq) each, or empty. The page has the statistic if all layers with
  // heads have it.
  std::span<const double> integrated{};
  std::span<const double> integrated_by_layer{};

  bool has_weights() const { return attn_weights.data() != nullptr; }
  const AttentionOptions& options(const AttentionOptions& of_all) const {
    return attention ? *attention : of_all;
  }
  // Whether no head of the layer is left.
  bool pruned() const {
    return num_heads != 0 && head_numbers.empty() &&
           query.extents() == Extents<4>{} && key.data() == nullptr &&
           !has_weights();
  }
};

// A mean over texts and its 95% confidence interval; NaN where there is none.
struct ViewedInterval {
  double mean = 0;
  double low = 0;
  double high = 0;
};

// A head of one model next to a head of another.
struct ViewedChange {
  HeadId head;
  HeadId other;
  std::optional<HeadId> match{};  // of all, the most similar one to one
  ViewedInterval similarity;      // of the attention maps, from 0 to 1
  // By Statistic: of `head` minus that of `other`.
  std::array<ViewedInterval, kStatistics> differences;
};

class LayerHeads;  // inspect/layer_heads.h

class ViewPage {
 public:
  // Errors: out_of_memory; shape_mismatch and bad_data for what goes through
  // all layers; bad_data for the target's value.
  static Result<ViewPage> create(ViewPageSettings settings);

  // All layers have the lengths and the head size of the first, or all have
  // attention weights. An error leaves the page unchanged. Options with an axis
  // of heads need layers with as many heads. Errors: also invalid_argument for
  // options of a layer in what all layers of a document share: scale, softcap,
  // query_start, the first key, T5's offsets, and whether there is a bias.
  Status add(const ViewedLayer& layer);
  // The same, and the heads for pictures of the layer. The views of the layer
  // and of the page's settings must outlive the result. Errors: those of add();
  // shape_mismatch for a layer without heads.
  Result<LayerHeads> add_heads(const ViewedLayer& layer);
  // A layer whose heads were all pruned: `num_heads` hatched heads. Errors:
  // invalid_argument for 0.
  Status add_pruned(std::size_t number, std::size_t num_heads);
  // Starts another document of the page: another text or model, or a variant of
  // one. Layers are then added to it. The title, the command, the language and
  // most_bytes of the page are those of the first document. An error leaves the
  // page unchanged. Errors: those of html() for the document so far, and of
  // create().
  Status next(ViewPageSettings settings);
  // What differs between two models, or between a model and a variant of it:
  // the page then lists the heads by how much they changed. Its documents are
  // texts in both, in turn: document 2n in one, 2n + 1 in the other.
  void set_changes(std::vector<ViewedChange> changes);
  // The page of the layers added so far. Errors: invalid_argument if there are
  // no layers ("layers") or the sequence is empty.
  Result<std::string> html() const;

 private:
  struct HEADWISE_HIDDEN Parts;
  explicit ViewPage(Hidden<Parts> parts) : parts_(std::move(parts)) {}
  Hidden<Parts> parts_;
};

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
