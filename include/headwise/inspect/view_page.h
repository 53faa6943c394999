// The page that shows every head: one HTML file, opened from disk, with nothing
// fetched and nothing installed. docs/viewer-page.md says what is in it.
//
// A page shows one sequence, layer by layer. Up to kMostMapLength queries and
// keys it carries each head's attention weights in coded bytes; beyond, query,
// key and log-sum-exp, from which it computes the tiles in view.
//
// Errors: shape_mismatch and invalid_argument as attention()'s, and for labels
// that do not fit the layers and head numbers that do not fit the heads;
// bad_data for a query or key that is not finite, or beyond binary16 where the
// page carries it; unsupported for what the page cannot compute (a bias or
// additive scores beyond kMostMapLength, dropout); out_of_range once the page
// would pass `most_bytes`, with what would fit; out_of_memory.
//
// Example:
//   ViewPage page = ViewPage::create({.title = "Mine", .query_labels = tokens,
//                                     .key_labels = tokens}).value();
//   Status s = page.add({.number = 0, .query = q, .key = k});
//   std::string html = page.html().value();
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "headwise/attention/spec.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor_view.h"
#include "headwise/inspect/language.h"
#include "headwise/inspect/trace.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

inline constexpr std::size_t kMostMapLength = 1024;
inline constexpr std::size_t kMostPageBytes = std::size_t{512} << 20;

struct ViewPageSettings {
  std::string title;
  std::string command;  // that makes the page again
  std::optional<std::string> model{};
  std::optional<std::string> text{};
  bool cross = false;  // keys of another sequence than the queries
  Language language = Language::en;  // that it opens in; it holds both
  // Whether the components of query and key are in it, where it could do
  // without. With a bias or additive scores they never are.
  bool elements = true;
  // One for each query and key of the sequence; any text is safe.
  std::vector<std::string> query_labels{};
  std::vector<std::string> key_labels{};
  // Positions, ascending, of tokens such as [CLS] that the page can hide.
  std::vector<std::size_t> query_special{};
  std::vector<std::size_t> key_special{};
  // Of every layer. attn_weights and, of statistics, all but separators and
  // query_lengths are the page's own; queries from their length on are left
  // out of it. The views must outlive the page.
  AttentionOptions attention{};
  std::size_t sequence = 0;  // of the batch
  std::size_t most_bytes = kMostPageBytes;
};

struct ViewedLayer {
  std::size_t number = 0;
  TensorView<const float, 4> query;     // (B, Lq, Hq, D)
  TensorView<const float, 4> key;       // (B, Lkv, Hkv, D)
  std::span<const TracedStep> steps{};  // may be shapes alone
  // Of a layer from which heads were taken: the numbers that the query's heads
  // have in it, ascending, and how many heads there were. The page shows the
  // others hatched, in their places. None: all stay, numbered from 0.
  std::span<const std::size_t> head_numbers{};  // (Hq)
  std::size_t num_heads = 0;
};

class ViewPage {
 public:
  // Errors: out_of_memory.
  static Result<ViewPage> create(ViewPageSettings settings);
  ViewPage(const ViewPage&) = delete;
  ViewPage& operator=(const ViewPage&) = delete;
  ViewPage(ViewPage&& other) noexcept;
  ViewPage& operator=(ViewPage&& other) noexcept;
  ~ViewPage();

  // All layers have the lengths and the head size of the first. After an error
  // the page is as it was. Options with an axis of heads fit layers of as many
  // heads alone.
  Status add(const ViewedLayer& layer);
  // A layer of which no head stays: all `num_heads` are hatched. Errors:
  // invalid_argument for none.
  Status add_pruned(std::size_t number, std::size_t num_heads);
  // Of the layers that were added. Errors: invalid_argument without any, or for
  // an empty sequence.
  Result<std::string> html() const;

 private:
  struct Parts;
  explicit ViewPage(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
