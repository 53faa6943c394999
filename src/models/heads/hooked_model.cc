#include "headwise/heads/hooked_model.h"

#include <string>
#include <utility>

#include "base/check.h"
#include "base/out_of_memory.h"
#include "headwise/models/text_model.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kHookedModel = "hooked_model";

class HookedSentences final : public HookedModel {
 public:
  HookedSentences(const SentenceEncoder& encoder, const LabelProbe* probe)
      : encoder_(encoder), probe_(probe) {}

  std::vector<std::vector<std::size_t>> heads() const override {
    return heads_left(encoder_.encoder());
  }

  bool causal() const override { return false; }

  Result<Tensor<float, 2>> hidden(const RaggedTokens& ids,
                                  const ModelPass& pass) const override {
    return catching_out_of_memory([&]() -> Result<Tensor<float, 2>> {
      return encoder_.encoder().hidden(ids, pass);
    });
  }

  Result<Tensor<float, 2>> outputs(const RaggedTokens& ids,
                                   TensorView<const float, 2> hidden,
                                   const Executor*) const override {
    HEADWISE_ASSIGN(auto embeddings,
                    Tensor<float, 2>::create_unset(
                        {ids.size(), encoder_.embedding_size()}));
    std::size_t row = 0;
    for (std::size_t n = 0; n < ids.size(); ++n) {
      if (ids[n].empty()) {
        return argument_error(kHookedModel, "ids[" + std::to_string(n) + "]",
                              "has no tokens", "at least 1");
      }
      encoder_.embed({&hidden(row, 0),
                      {ids[n].size(), hidden.extent(1)},
                      hidden.strides()},
                     encoder_.settings().normalize,
                     {&embeddings(n, 0), embeddings.extent(1)});
      row += ids[n].size();
    }
    return outputs_of(std::move(embeddings));
  }

  Status differentiate(const RaggedTokens& ids, const ModelPass& pass,
                       OutputGradient d_outputs) const override {
    return catching_out_of_memory([&]() -> Status {
      HEADWISE_ASSIGN(auto saved, encoder_.forward_for_backward(ids, pass));
      HEADWISE_ASSIGN(auto embeddings, saved.embeddings.clone());
      HEADWISE_ASSIGN(const auto outputs, outputs_of(std::move(embeddings)));
      HEADWISE_ASSIGN(auto d, d_outputs(outputs));
      if (probe_ != nullptr) {
        const auto [sequences, labels] = d.extents();
        const auto d_logits =
            std::move(d).with_extents<3>({1, sequences, labels});
        HEADWISE_ASSIGN(auto back, probe_->linear().backward_input(d_logits));
        d = std::move(back).without_batch();
      }
      const auto gradients = encoder_.backward(saved, d, ModelWanted::gates);
      return gradients ? ok() : Status(gradients.error());
    });
  }

 private:
  Result<Tensor<float, 2>> outputs_of(Tensor<float, 2> embeddings) const {
    return probe_ == nullptr ? Result<Tensor<float, 2>>(std::move(embeddings))
                             : probe_->logits(embeddings);
  }

  const SentenceEncoder& encoder_;
  const LabelProbe* probe_;
};

}  // namespace

std::unique_ptr<HookedModel> hooked_sentences(const SentenceEncoder& encoder,
                                              const LabelProbe* probe) {
  return std::make_unique<HookedSentences>(encoder, probe);
}

}  // namespace headwise::inline HEADWISE_ABI
