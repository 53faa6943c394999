// Texts that only a model with an induction head can continue: some words, all
// different, in a random order, and then the same words once more.
//
//   cold sand bird milk cold sand bird milk
//
// Nothing says what the first half will be. In the second half, which begins
// when the first word comes again, each word follows the one that it followed
// before. A text has 2 x 8 to 2 x 16 words of kRepeatedWords, so that how far
// back the earlier one lies differs from text to text.
//
// Source: Olsson et al. 2022, arXiv:2209.11895 ("repeated random tokens").
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "headwise/base/random.h"
#include "headwise/base/result.h"
#include "headwise/steps/tokens.h"
#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI {

inline constexpr std::size_t kRepeatedWords = 64;
inline constexpr std::size_t kRepeatedTokens = kRepeatedWords + 4;
inline constexpr std::size_t kLongestRepeated = 32;  // words of a text

// The tokens by id: four special ones, and then the words.
std::vector<std::string> repeated_vocabulary();

// `count` texts of this seed, from number `first` on, as ids of that
// vocabulary. Each depends only on the seed and on its number. Errors:
// out_of_memory.
Result<RaggedTokens> repeated_texts(Seed seed, std::uint64_t first,
                                    std::size_t count);

}  // namespace headwise::inline HEADWISE_ABI
