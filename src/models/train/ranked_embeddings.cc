#include "train/ranked_embeddings.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "distribute/exchange_all.h"
#include "distribute/or_tell.h"

namespace headwise::inline HEADWISE_ABI {

Result<Tensor<float, 2>> ranked_embeddings(
    Communicator* group, const SentenceEncoder& encoder,
    std::span<const std::string_view> texts, const SentenceOptions& options) {
  if (group == nullptr || group->ranks() == 1) {
    HEADWISE_ASSIGN(auto done, encoder.encode(texts, options));
    return std::move(done.embeddings);
  }
  const std::size_t ranks = group->ranks();
  const auto first_of = [&](std::size_t rank) {
    return texts.size() / ranks * rank + std::min(rank, texts.size() % ranks);
  };
  const std::size_t first = first_of(group->rank());
  SentenceEmbeddings own;
  const Status encoded = group->busy_with([&]() -> Status {
    HEADWISE_ASSIGN(
        own, encoder.encode(
                 texts.subspan(first, first_of(group->rank() + 1) - first),
                 options));
    return ok();
  });
  HEADWISE_TRY(group->agree(encoded));
  return or_tell(group, [&]() -> Result<Tensor<float, 2>> {
    const std::size_t size = encoder.embedding_size();
    HEADWISE_ASSIGN(auto all,
                    Tensor<float, 2>::create_unset({texts.size(), size}));
    std::vector<std::span<float>> parts;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      parts.push_back(all.elements().subspan(
          first_of(rank) * size, (first_of(rank + 1) - first_of(rank)) * size));
    }
    std::ranges::copy(std::as_const(own.embeddings).elements(),
                      parts[group->rank()].begin());
    HEADWISE_TRY(exchange_all(*group, parts));
    return all;
  });
}

}  // namespace headwise::inline HEADWISE_ABI
