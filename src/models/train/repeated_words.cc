#include "train/repeated_words.h"

#include <array>
#include <string>
#include <string_view>

#include "base/out_of_memory.h"
#include "train/draws.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::array<std::string_view, kRepeatedWords> kWords = {
    "apple", "arm",   "ball",  "bear",  "bell",  "bird",  "blue",  "boat",
    "book",  "bread", "cake",  "cat",   "chair", "cloud", "coat",  "cold",
    "corn",  "cup",   "dog",   "door",  "egg",   "fire",  "fish",  "flag",
    "fox",   "frog",  "gate",  "girl",  "gold",  "grass", "green", "hand",
    "hat",   "hill",  "horse", "ice",   "king",  "lake",  "lamp",  "leaf",
    "milk",  "moon",  "nest",  "owl",   "paper", "pen",   "rain",  "red",
    "ring",  "river", "road",  "rose",  "salt",  "sand",  "ship",  "shoe",
    "snow",  "song",  "star",  "stone", "sun",   "tree",  "wind",  "wolf"};

constexpr std::size_t kFewest = 8;  // different words of a text
constexpr std::size_t kMost = kLongestRepeated / 2;
constexpr TokenId kFirstWord = 4;  // after the special tokens

}  // namespace

std::vector<std::string> repeated_vocabulary() {
  std::vector<std::string> tokens = {"[PAD]", "[UNK]", "[CLS]", "[SEP]"};
  tokens.insert(tokens.end(), kWords.begin(), kWords.end());
  return tokens;
}

Result<RaggedTokens> repeated_texts(Seed seed, std::uint64_t first,
                                    std::size_t count) try {
  RaggedTokens texts(count);
  for (std::size_t n = 0; n < count; ++n) {
    Draws draws(seed, first + n);
    const std::size_t words = kFewest + draws.below(kMost - kFewest + 1);
    const auto different = draws.different(words, kRepeatedWords);
    for (int half = 0; half < 2; ++half) {
      for (const std::size_t word : different) {
        texts[n].push_back(kFirstWord + static_cast<TokenId>(word));
      }
    }
  }
  return texts;
} catch (...) {
  return caught_out_of_memory();
}

}  // namespace headwise::inline HEADWISE_ABI
