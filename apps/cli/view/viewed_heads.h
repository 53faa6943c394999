// The heads that a command looks at: of a text in a model, of an ONNX model, of
// tensors, or of attention weights.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headwise/attention/spec.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor_view.h"
#include "headwise/inspect/view_page.h"
#include "headwise/inspect/weights_statistics.h"
#include "headwise/models/text_model.h"
#include "headwise/steps/tokens.h"
#include "kept_heads.h"
#include "viewed_flags.h"

namespace headwise::cli {

// A node of an ONNX model, shown as a layer.
struct ViewedNode {
  std::size_t layer = 0;  // its number
  std::string name{};     // "enc (Attention)"
};

// Rows of all layers and sequences whose attention weights do not sum to 1.
struct UnevenWeights {
  UnevenRows rows{};
  std::size_t layer = 0;  // of the row whose sum is farthest from 1
  std::size_t zero = 0;   // rows without a weight, which rows.rows leaves out
  std::string nan{};      // which rows were NaN, a line; empty: none
};

// What is known before a layer is computed.
struct ViewedText {
  std::optional<std::string> model{};
  std::optional<std::string> text{};
  std::optional<std::string> variant{};  // "without 3.1"
  std::vector<ViewedNode> nodes{};       // those that are shown
  std::string read{};  // of tensors: what their files were read as, in lines
  std::size_t cut_tokens = 0;   // of the text, beyond max_tokens
  std::size_t empty_lines = 0;  // left out of the file of the text
  std::size_t max_tokens = 0;
  std::string max_tokens_from{};  // "--max-tokens", "max_seq_length of DIR"
  std::size_t most_tokens = 0;    // that --max-tokens can ask for
  std::optional<UnevenWeights> uneven{};  // of --attn-weights
  std::optional<std::size_t> sequence{};  // of --sequence, default 0
  std::size_t sequences = 1;              // of the batch
  bool causal = false;                    // the mask of a model
  bool cross = false;  // keys of another sequence: their positions
                       // are not those of the queries
  // Of a pair of sentences: the token type of each token.
  std::vector<TokenId> token_types{};
  // Of the sequence that is shown.
  std::vector<std::string> query_labels{};
  std::vector<std::string> key_labels{};
  std::vector<std::size_t> query_special{};
  std::vector<std::size_t> key_special{};
};

// A layer and the numbers of its heads, which ViewedLayer only looks at.
struct NumberedLayer : ViewedLayer {
  KeptHeads heads;       // where none stays, there are no tensors
  bool of_text = false;  // in a model
};
// What visit() shows of each layer besides its heads.
struct SeenParts {
  bool steps = false;  // of its attention
  bool norms = false;  // of the keys of a text in a model
  bool norm_map = false;
};
using SeeLayer = std::function<Status(const NumberedLayer&)>;

// Of values and outputs where only statistics are wanted.
inline Extents<4> without_features(Extents<4> extents) {
  extents[3] = 0;
  return extents;
}

class ViewedHeads {
 public:
  virtual ~ViewedHeads() = default;

  const ViewedText& text() const { return text_; }
  // The numbers of the layers that visit() shows, ascending.
  const std::vector<std::size_t>& layers() const { return layers_; }
  // That of a text; null for heads from elsewhere.
  virtual const TextModel* text_model() const { return nullptr; }
  // Of every layer; the latter with its separators and query lengths. They look
  // into this object.
  virtual AttentionOptions options() const = 0;
  virtual OperationOptions operation_options() const = 0;
  // Shows each layer.
  virtual Status visit(SeenParts parts, const SeeLayer& see) const = 0;

 protected:
  ViewedText text_;
  std::vector<std::size_t> layers_;
};

// "0: enc (Attention), 1: dec (Attention)"; only the first 24. `before` is
// written before each number.
std::string nodes_text(const std::vector<ViewedNode>& nodes,
                       std::string_view before = "");
// The line under a title: the text or the nodes.
std::optional<std::string> subtitle_of(const ViewedText& text);

// How many tokens were cut off, at which limit and how to raise it; empty where
// none were.
std::string cut_text(const ViewedText& text);
// Which rows do not sum to 1; empty where all do.
std::string uneven_text(const ViewedText& text);
// Lines on what a page or a picture of the text leaves out or cannot show;
// empty where there is none.
std::string left_out_text(const ViewedText& text);

// Errors: invalid_argument for options that do not go together, with the name
// of the option; those of the files, of the model and of the text.
Result<std::unique_ptr<ViewedHeads>> read_viewed_heads(
    const ViewedFlags& flags);

// The same for each document of a page: one for each text of --texts, one
// without it; with --ablate a variant follows each, with --against the same
// text in the other model.
using ManyHeads = std::vector<std::unique_ptr<ViewedHeads>>;
Result<ManyHeads> read_viewed_documents(const ViewedFlags& flags);

// invalid_argument if the documents are the three parts of an encoder-decoder.
Status check_one_part(const ManyHeads& documents);

// For each model a line if its vocabulary lacks words of the texts.
void warn_of_unknown(std::span<const std::unique_ptr<ViewedHeads>> documents,
                     std::ostream& err);

// The kinds of them.
Result<ManyHeads> read_viewed_sentences(const ViewedFlags& flags);
Result<std::unique_ptr<ViewedHeads>> read_viewed_nodes(
    const ViewedFlags& flags);
Result<std::unique_ptr<ViewedHeads>> read_viewed_tensors(
    const ViewedFlags& flags);
Result<std::unique_ptr<ViewedHeads>> read_viewed_weights(
    const ViewedFlags& flags);

// The layers below `count` that `list` names: "0,2-4", all where it is empty.
// Errors: invalid_argument.
Result<std::vector<std::size_t>> parse_layers(const std::string& list,
                                              std::size_t count);

}  // namespace headwise::cli
