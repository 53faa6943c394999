#include <algorithm>
#include <string>

#include "base/check.h"
#include "base/out_of_memory.h"
#include "headwise/heads/hooked_model.h"
#include "headwise/models/text_model.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kHookedLanguage = "hooked_model";

// For each sequence, the row of its last token.
Result<std::vector<std::size_t>> last_rows(const RaggedTokens& ids) {
  std::vector<std::size_t> rows;
  std::size_t row = 0;
  for (std::size_t n = 0; n < ids.size(); ++n) {
    if (ids[n].empty()) {
      return argument_error(kHookedLanguage, "ids[" + std::to_string(n) + "]",
                            "has no tokens", "at least 1");
    }
    row += ids[n].size();
    rows.push_back(row - 1);
  }
  return rows;
}

Result<Tensor<float, 2>> rows_of_tokens(TensorView<const float, 2> x,
                                        const std::vector<std::size_t>& rows) {
  HEADWISE_ASSIGN(auto taken,
                  Tensor<float, 2>::create_unset({rows.size(), x.extent(1)}));
  for (std::size_t n = 0; n < rows.size(); ++n) {
    for (std::size_t e = 0; e < x.extent(1); ++e) {
      taken(n, e) = x(rows[n], e);
    }
  }
  return taken;
}

class HookedLanguage final : public HookedModel {
 public:
  explicit HookedLanguage(const LanguageModel& model) : model_(model) {}

  std::vector<std::vector<std::size_t>> heads() const override {
    return heads_left(model_);
  }

  bool causal() const override { return true; }

  Result<Tensor<float, 2>> hidden(const RaggedTokens& ids,
                                  const ModelPass& pass) const override {
    return model_.hidden(ids, pass);
  }

  Result<Tensor<float, 2>> outputs(const RaggedTokens& ids,
                                   TensorView<const float, 2> hidden,
                                   const Executor* executor) const override {
    return catching_out_of_memory([&]() -> Result<Tensor<float, 2>> {
      HEADWISE_ASSIGN(const auto rows, last_rows(ids));
      HEADWISE_ASSIGN(const auto last, rows_of_tokens(hidden, rows));
      return model_.unembed(last.view(), executor);
    });
  }

  Status differentiate(const RaggedTokens& ids, const ModelPass& pass,
                       OutputGradient d_outputs) const override {
    return catching_out_of_memory([&]() -> Status {
      HEADWISE_ASSIGN(const auto rows, last_rows(ids));
      const auto d_logits =
          [&](TensorView<const float, 2> all) -> Result<Tensor<float, 2>> {
        HEADWISE_ASSIGN(const auto logits, rows_of_tokens(all, rows));
        HEADWISE_ASSIGN(const auto d, d_outputs(logits));
        HEADWISE_ASSIGN(auto d_all, Tensor<float, 2>::create(all.extents()));
        for (std::size_t n = 0; n < rows.size(); ++n) {
          std::copy_n(&d(n, 0), d.extent(1), &d_all(rows[n], 0));
        }
        return d_all;
      };
      const auto gradients = model_.gate_gradients(ids, pass, d_logits);
      return gradients ? ok() : Status(gradients.error());
    });
  }

 private:
  const LanguageModel& model_;
};

}  // namespace

std::unique_ptr<HookedModel> hooked_language(const LanguageModel& model) {
  return std::make_unique<HookedLanguage>(model);
}

}  // namespace headwise::inline HEADWISE_ABI
