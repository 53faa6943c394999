// The sentence encoder's forward pass of training, and its backward pass.
#include <string>
#include <utility>

#include "base/check.h"
#include "base/out_of_memory.h"
#include "headwise/models/sentence_encoder.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kSentenceTraining = "sentence_encoder";

// Calls body(n, first row, tokens) for each sentence.
template <class Body>
void for_each_sentence(const std::vector<std::size_t>& lengths,
                       const Body& body) {
  std::size_t row = 0;
  for (std::size_t n = 0; n < lengths.size(); ++n) {
    body(n, row, lengths[n]);
    row += lengths[n];
  }
}

TensorView<const float, 2> rows_from(TensorView<const float, 2> hidden,
                                     std::size_t row, std::size_t count) {
  return {&hidden(row, 0), {count, hidden.extent(1)}};
}

}  // namespace

Result<SentencesSaved> SentenceEncoder::forward_for_backward(
    const RaggedTokens& ids, const ModelPass& pass) const {
  return catching_out_of_memory([&]() -> Result<SentencesSaved> {
    std::vector<std::size_t> lengths;
    for (std::size_t n = 0; n < ids.size(); ++n) {
      if (ids[n].empty()) {
        return argument_error(kSentenceTraining,
                              "tokens[" + std::to_string(n) + "]",
                              "has no tokens", "at least 1");
      }
      lengths.push_back(ids[n].size());
    }
    HEADWISE_ASSIGN(auto saved, encoder_.forward_for_backward(ids, pass));
    HEADWISE_ASSIGN(auto embeddings, Tensor<float, 2>::create_unset(
                                         {ids.size(), embedding_size()}));
    const auto hidden = saved.hidden();
    for_each_sentence(
        lengths, [&](std::size_t n, std::size_t row, std::size_t tokens) {
          embed(rows_from(hidden, row, tokens), settings_.normalize,
                {&embeddings(n, 0), embeddings.extent(1)});
        });
    return SentencesSaved{std::move(saved), std::move(lengths),
                          std::move(embeddings)};
  });
}

Result<ModelGradients> SentenceEncoder::backward(
    SentencesSaved& saved, TensorView<const float, 2> d_embeddings,
    ModelWanted wanted, ParamTerms* terms) const {
  return catching_out_of_memory([&]() -> Result<ModelGradients> {
    HEADWISE_TRY(
        check_shape(kSentenceTraining, "d_embeddings", d_embeddings.extents(),
                    "(sentences, embedding_size)", saved.embeddings.extents()));
    const auto hidden = saved.encoder.hidden();
    HEADWISE_ASSIGN(auto d_hidden,
                    Tensor<float, 2>::create_unset(hidden.extents()));
    std::vector<float> d_embedding(embedding_size());
    for_each_sentence(
        saved.lengths, [&](std::size_t n, std::size_t row, std::size_t tokens) {
          for (std::size_t e = 0; e < d_embedding.size(); ++e) {
            d_embedding[e] = d_embeddings(n, e);
          }
          embed_backward(rows_from(hidden, row, tokens), settings_.normalize,
                         d_embedding,
                         {&d_hidden(row, 0), {tokens, hidden.extent(1)}});
        });
    return encoder_.backward(saved.encoder, d_hidden, wanted, terms);
  });
}

}  // namespace headwise::inline HEADWISE_ABI
