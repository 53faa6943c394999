// The heads of a text in a model, layer by layer, as a page shows them
// (inspect/view_page.h): one pass of the model gives the queries and keys, the
// steps of the layer and the norms of its keys.
//
// Example: a page of every head.
//   auto model = read_text_model("all-MiniLM-L6-v2").value();
//   auto text = TextView::create(*model, "The cat sat on the mat.").value();
//   ViewPage page = ViewPage::create(text.settings("The cat")).value();
//   Status s = text.visit({}, [&](const ViewedLayer& layer) {
//     return page.add(layer);
//   });
//   s = write_file_atomically("page.html", page.html().value());
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headwise/attention/spec.h"
#include "headwise/base/function_ref.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/inspect/view_page.h"
#include "headwise/models/text_model.h"
#include "headwise/run/executor.h"
#include "headwise/steps/tokens.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// Which layers are shown, and what of them besides queries and keys.
struct TextViewPass {
  std::span<const std::size_t> layers{};  // ascending; empty: all
  bool steps = true;
  bool norms = true;     // of keys: ViewedLayer::key_norms
  bool norm_map = true;  // with norms, and as ViewedLayer::norm_map says
};

class TextView {
 public:
  // A text of more than TextModelShape::max_tokens tokens is cut there: cut().
  // `head_gates`, by layer: the factors of the heads (steps/head_gates.h), or
  // empty. No executor: Executor::default_executor(). The model and the
  // executor must outlive the view. Errors: those of TextModel::encode();
  // invalid_argument for a text without tokens; out_of_range for ids that the
  // vocabulary does not have; out_of_memory.
  static Result<TextView> create(const TextModel& model, std::string_view text,
                                 const Executor* executor = nullptr);
  static Result<TextView> create(const TextModel& model, ModelTokens tokens,
                                 std::vector<Tensor<float, 1>> head_gates = {},
                                 const Executor* executor = nullptr);

  // How many tokens of the text were left out.
  std::size_t cut() const { return cut_; }
  const std::vector<std::string>& labels() const { return labels_; }
  // The tokens such as [CLS] (is_special()), ascending.
  const std::vector<std::size_t>& special() const { return special_; }
  const std::vector<TokenId>& token_types() const { return token_types_; }
  // Of every layer. They look into this object.
  AttentionOptions options() const;
  OperationOptions operation_options() const;
  // Those of a page of this text, which look into this object.
  ViewPageSettings settings(std::string title) const;

  // Calls `see` with each layer after the model has run it; a layer without
  // heads has only its number and num_heads. Views are valid during the call.
  // Errors: those of TextModel::run() and of `see`; out_of_range for layers
  // that the model does not have, invalid_argument where they do not ascend;
  // unsupported for steps of a model in bf16; out_of_memory.
  Status visit(const TextViewPass& pass,
               FunctionRef<Status(const ViewedLayer&)> see) const;

 private:
  explicit TextView(const TextModel& model) : model_(&model) {}

  const TextModel* model_;
  const Executor* executor_ = nullptr;
  RaggedTokens ids_{};  // one sequence
  std::vector<TokenId> token_types_{};
  std::size_t cut_ = 0;
  std::vector<std::string> labels_{};
  std::vector<std::size_t> special_{};
  Tensor<bool, 2> separators_{};  // (1, L)
  std::vector<Tensor<float, 1>> head_gates_{};
};

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
