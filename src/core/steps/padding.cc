#include "headwise/steps/padding.h"

#include "base/out_of_memory.h"

namespace headwise::inline HEADWISE_ABI {

Result<PaddedTokens> pad(const RaggedTokens& tokens,
                         const PaddingOptions& options,
                         const Progress& progress) try {
  const std::size_t B = tokens.size();
  const std::size_t L = max_sequence_length(tokens);
  auto ids = Tensor<TokenId, 2>::create({B, L});
  auto lengths = Tensor<std::int64_t, 1>::create({B});
  auto padding_mask = Tensor<bool, 2>::create({B, L});
  if (!ids || !lengths || !padding_mask) {
    return Error{ErrorCode::out_of_memory};
  }
  for (std::size_t b = 0; b < B; ++b) {
    if (progress) {
      progress(b, B);
    }
    const auto& sequence = tokens[b];
    (*lengths)(b) = static_cast<std::int64_t>(sequence.size());
    for (std::size_t t = 0; t < L; ++t) {
      const bool inside = t < sequence.size();
      const TokenId id = inside ? sequence[t] : options.pad_id;
      (*ids)(b, t) = id;
      (*padding_mask)(b, t) = options.padding_by == PaddingBy::length
                                  ? inside
                                  : id != options.pad_id;
    }
  }
  if (progress) {
    progress(B, B);
  }
  return PaddedTokens{*std::move(ids), *std::move(lengths),
                      *std::move(padding_mask)};
} catch (...) {
  return caught_out_of_memory();
}

}  // namespace headwise::inline HEADWISE_ABI
