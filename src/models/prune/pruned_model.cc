#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "base/check.h"
#include "base/out_of_memory.h"
#include "headwise/models/text_model.h"
#include "headwise/models/write_model.h"
#include "headwise/prune/remove_heads.h"
#include "prune/correct_outputs.h"
#include "prune/full_size.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::size_t kCalibrationTexts = 256;

// Empty where no head is gone.
HeadsLeft kept_lists(const Transformer& pruned) {
  HeadsLeft left = heads_left(pruned);
  const bool all = std::ranges::all_of(left, [&](const auto& heads) {
    return heads.size() == pruned.shape().num_heads;
  });
  return all ? HeadsLeft() : left;
}

Status write_full_size(const std::string& source, const std::string& folder,
                       const Transformer& pruned, bool keep_other_files) {
  HEADWISE_ASSIGN(const auto whole, full_size_attention(pruned));
  return write_model(source, folder,
                     {.params = whole.params(),
                      .kept_heads = HeadsLeft(),
                      .keep_other_files = keep_other_files});
}

}  // namespace

Status correct_on_texts(Transformer& pruned, const SentenceEncoder& whole,
                        std::span<const std::string_view> texts,
                        const SentenceOptions& options) try {
  std::vector<std::string_view> some;
  const std::size_t count = std::min(kCalibrationTexts, texts.size());
  for (std::size_t n = 0; n < count; ++n) {
    some.push_back(texts[n * texts.size() / count]);
  }
  HEADWISE_ASSIGN(const auto tokens,
                  whole.tokenize(some, {.max_tokens = options.max_tokens,
                                        .executor = options.executor}));
  return correct_outputs(
      pruned, whole.encoder(), tokens.ids,
      {.progress = options.progress, .executor = options.executor});
} catch (...) {
  return caught_out_of_memory();
}

Status write_pruned(const std::string& source, const std::string& folder,
                    const Transformer& pruned,
                    const WritePrunedOptions& options) try {
  if (options.full_size) {
    return write_full_size(source, folder, pruned, options.keep_other_files);
  }
  return write_model(source, folder,
                     {.params = pruned.attention_params(),
                      .kept_heads = kept_lists(pruned),
                      .keep_other_files = options.keep_other_files});
} catch (...) {
  return caught_out_of_memory();
}

Result<double> mean_cosine(TensorView<const float, 2> a,
                           TensorView<const float, 2> b) try {
  HEADWISE_TRY(check_shape("mean_cosine", "b", b.extents(), "the shape of a",
                           a.extents()));
  double sum = 0;
  const auto [texts, size] = a.extents();
  for (std::size_t n = 0; n < texts; ++n) {
    double ab = 0;
    double aa = 0;
    double bb = 0;
    for (std::size_t e = 0; e < size; ++e) {
      const double x = a(n, e);
      const double y = b(n, e);
      ab += x * y;
      aa += x * x;
      bb += y * y;
    }
    sum += ab / std::sqrt(aa * bb);
  }
  return sum / static_cast<double>(texts);
} catch (...) {
  return caught_out_of_memory();
}

}  // namespace headwise::inline HEADWISE_ABI
