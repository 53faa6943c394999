// The heads of attention weights that another program computed.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "headwise/interop/file_subject.h"
#include "operation/operation_inputs.h"
#include "operation/option_errors.h"
#include "shell/outcome.h"
#include "shell/say.h"
#include "tensor_heads.h"
#include "viewed_heads.h"
#include "weights_file.h"

namespace headwise::cli {
namespace {

constexpr std::string_view kArgument = "attn_weights";

class ViewedWeights : public TensorHeads {
 public:
  explicit ViewedWeights(const ViewedFlags& flags)
      : TensorHeads(flags), path_(flags.attn_weights) {}
  static Result<std::unique_ptr<ViewedHeads>> read(const ViewedFlags& flags);

  AttentionOptions options() const override { return operation_->options(); }
  Status visit(SeenParts parts, const SeeLayer& see) const override;

 private:
  // As of queries and keys with one feature.
  Extents<4> query_extents() const override {
    const auto [B, H, Lq, Lkv] = file_.layers.front().attn_weights.extents();
    return {B, Lq, H, 1};
  }
  Extents<4> key_extents() const override {
    const auto [B, H, Lq, Lkv] = file_.layers.front().attn_weights.extents();
    return {B, Lkv, H, 1};
  }
  Status choose_layers(const std::string& list);
  void count_uneven_rows();
  Error about(std::size_t layer, const Error& error) const;

  std::string path_;
  WeightsFile file_;  // the layers that are shown
  std::optional<OperationInputs> operation_;
};

Status ViewedWeights::choose_layers(const std::string& list) {
  std::vector<std::size_t> there;
  for (const LayerOfWeights& layer : file_.layers) {
    there.push_back(layer.number);
  }
  if (list.empty()) {
    layers_ = std::move(there);
    return ok();
  }
  HEADWISE_ASSIGN(auto wanted, parse_layers(list, there.back() + 1));
  for (const std::size_t number : wanted) {
    if (!std::ranges::binary_search(there, number)) {
      return bad_option("--layers", list,
                        message("layers of --attn-weights: {}",
                                fmt::format("{}", fmt::join(there, ", "))));
    }
  }
  layers_ = std::move(wanted);
  std::erase_if(file_.layers, [&](const LayerOfWeights& layer) {
    return !std::ranges::binary_search(layers_, layer.number);
  });
  return ok();
}

// Of all sequences and heads; `query_lengths` (B), or no view.
std::size_t rows_of(const LayerOfWeights& layer,
                    TensorView<const std::int64_t, 1> query_lengths) {
  const auto [B, H, Lq, Lkv] = layer.attn_weights.extents();
  if (query_lengths.data() == nullptr) {
    return B * H * Lq;
  }
  std::int64_t queries = 0;
  for (std::size_t b = 0; b < B; ++b) {
    queries += query_lengths(b);
  }
  return H * static_cast<std::size_t>(queries);
}

void ViewedWeights::count_uneven_rows() {
  const OperationOptions options = operation_options();
  UnevenWeights all;
  for (const LayerOfWeights& layer : file_.layers) {
    UnevenRows rows =
        uneven_rows(layer.attn_weights, options.statistics.query_lengths);
    const bool farther = std::abs(rows.sum - 1) > std::abs(all.rows.sum - 1);
    all.zero += rows_of(layer, options.statistics.query_lengths) - rows.rows;
    rows.rows += all.rows.rows;
    rows.uneven += all.rows.uneven;
    if (farther) {
      all.rows = rows;
      all.layer = layer.number;
    } else {
      all.rows.rows = rows.rows;
      all.rows.uneven = rows.uneven;
    }
  }
  if (file_.nan_rows != 0) {
    all.zero -= std::min(all.zero, file_.nan_rows);
    const auto& [layer, sequence, head, query] = file_.first_nan;
    all.nan =
        say("{} row{} NaN and shown without a key; the first is layer "
            "{}, sequence {}, head {}, query {}\n",
            file_.nan_rows, file_.nan_rows == 1 ? " is" : "s are", layer,
            sequence, head, query);
  }
  text_.uneven = all;
}

// An error of the library about the weights that says in which layer of the
// file they are.
Error ViewedWeights::about(std::size_t layer, const Error& error) const {
  const ErrorDetails& details = error.details();
  if (!details.argument.starts_with(kArgument)) {
    return error;
  }
  std::string entry = fmt::format("layer {}", layer);
  if (details.argument != kArgument) {
    entry +=
        fmt::format(", element {}", details.argument.substr(kArgument.size()));
  }
  return FileSubject{"--attn-weights", path_, std::move(entry)}.error(
      error.code(), details.given, details.expected);
}

Status ViewedWeights::visit(SeenParts /*parts*/, const SeeLayer& see) const {
  for (const LayerOfWeights& layer : file_.layers) {
    if (const Status s =
            see({{.number = layer.number, .attn_weights = layer.attn_weights},
                 KeptHeads::all(layer.attn_weights.extent(1))});
        !s) {
      return about(layer.number, s.error());
    }
  }
  return ok();
}

Result<std::unique_ptr<ViewedHeads>> ViewedWeights::read(
    const ViewedFlags& flags) {
  auto seen = std::make_unique<ViewedWeights>(flags);
  HEADWISE_ASSIGN(seen->file_, read_weights_file(flags.attn_weights));
  HEADWISE_TRY(seen->choose_layers(flags.layers));
  HEADWISE_ASSIGN(seen->operation_,
                  OperationInputs::read(flags.operation, seen->file_.batched,
                                        seen->query_extents()[2]));
  HEADWISE_TRY(seen->read_statistics(flags, seen->file_.batched));
  const auto shape = seen->check();
  if (!shape) {
    return in_option_words(shape.error(), flags.operation);
  }
  HEADWISE_TRY(
      seen->read_labels(flags, *shape, !flags.relating_option().empty()));
  seen->count_uneven_rows();
  return std::unique_ptr<ViewedHeads>(std::move(seen));
}

}  // namespace

Result<std::unique_ptr<ViewedHeads>> read_viewed_weights(
    const ViewedFlags& flags) {
  return ViewedWeights::read(flags);
}

}  // namespace headwise::cli
