#include "examples.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "example_files.h"
#include "headwise/interop/npy.h"

namespace headwise::cli {
namespace {

// Ten sequences of 1 to 20 tokens.
const RaggedTokens kTenSequences = {
    {62, 13, 47, 39, 78, 33, 56, 13, 39, 29, 44, 86, 71, 36, 18, 75},
    {60, 96, 51, 32, 90},
    {35, 45, 48, 65, 91, 99, 92, 10, 3, 21, 54},
    {75, 51},
    {66, 88, 98, 47},
    {21, 39, 10, 64, 21},
    {98},
    {77, 65, 51, 77, 19, 15, 35, 19, 23, 97,
     50, 46, 53, 42, 45, 91, 66, 3,  43, 10},
    {70, 64, 98, 25, 99, 53, 4, 13, 69, 62, 66, 76, 15, 75, 45, 34},
    {20, 64, 81, 35, 76, 85, 1, 62, 8, 45, 99, 77, 19, 43}};

// Five source sequences and the five target sequences they are read for.
const RaggedTokens kSource = {{62, 13, 47, 39, 78, 33, 56, 13},
                              {60, 96, 51, 32, 90},
                              {35, 45, 48, 65, 91, 99, 92, 10, 3, 21},
                              {66, 88, 98, 47},
                              {77, 65, 51, 77, 19, 15, 35, 19, 23}};
const RaggedTokens kTarget = {{33, 11, 49, 10},
                              {88, 34, 5, 29, 99, 45, 11, 25},
                              {67, 25, 15, 90, 54, 4, 92, 10, 46, 20, 88, 19},
                              {16, 58, 91, 47, 12, 5, 8},
                              {71, 63, 62, 7, 9, 11, 55, 91, 32, 48}};

Result<Tensor<float, 3>> read_example(const Example& example,
                                      std::string_view tensor) {
  std::string name = fmt::format("{}_{}.npy", example.name, tensor);
  std::ranges::replace(name, '-', '_');
  HEADWISE_ASSIGN(auto array, parse_npy(example_file(name), name));
  if (array.shape.size() == 2) {
    array.shape.insert(array.shape.begin(), 1);
  }
  return to_float<3>(array, "explain", name);
}

}  // namespace

std::span<const Example> examples() {
  static const std::vector<Example> all = {
      {.name = "self-attention",
       .about = "10 token sequences of 1 to 20 tokens, 8 heads",
       .embed_dim = 512,
       .num_heads = 8,
       .mask_kind = "none",
       .tokens = kTenSequences},
      {.name = "masked",
       .about = "5 token sequences, padding and causal masks, 2 heads",
       .embed_dim = 8,
       .num_heads = 2,
       .mask_kind = "padding+causal",
       .tokens = kSource},
      {.name = "encoder-decoder",
       .about = "5 target sequences attend to 5 source sequences",
       .embed_dim = 8,
       .num_heads = 2,
       .mask_kind = "padding",
       .tokens = kSource,
       .target = kTarget},
      {.name = "single-head",
       .about = "vectors, 1 head, no batch, no output projection",
       .embed_dim = 32,
       .num_heads = 1,
       .mask_kind = "none",
       .batched = false,
       .out_proj = false,
       .vectors = true},
      {.name = "unbatched",
       .about = "vectors, 8 heads, no batch",
       .embed_dim = 32,
       .num_heads = 8,
       .mask_kind = "none",
       .batched = false,
       .vectors = true},
      {.name = "valid-lengths",
       .about = "vectors, 5 heads, keys beyond each length masked",
       .embed_dim = 100,
       .num_heads = 5,
       .mask_kind = "none",
       .bias = false,
       .vectors = true,
       .key_lengths = {3, 2}},
  };
  return all;
}

Result<Vectors> vectors_of(const Example& example) {
  HEADWISE_ASSIGN(auto query, read_example(example, "query"));
  HEADWISE_ASSIGN(auto key, read_example(example, "key"));
  HEADWISE_ASSIGN(auto value, read_example(example, "value"));
  return Vectors{std::move(query), std::move(key), std::move(value)};
}

}  // namespace headwise::cli
