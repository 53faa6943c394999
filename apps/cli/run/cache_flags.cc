#include "cache_flags.h"

namespace headwise::cli {

std::vector<OptionRow> cache_options(CacheFlags& flags) {
  return {{"--cache", &flags.kind, choice({"contiguous", "paged"}),
           "run the call through a cache of keys and values; the last query "
           "is then at the last key",
           advanced()},
          {"--cache-dtype", &flags.dtype,
           choice({"float32", "bfloat16", "float16", "int8"}),
           "type of the cached numbers (default float32)", advanced()},
          {"--page-size", &flags.page_size, count(),
           "tokens per page of --cache paged: 16, 32 or a multiple of 64 "
           "(default 128)",
           advanced()},
          {"--chunk", &flags.chunk, count(),
           "queries at a time, 1: token by token (default: all); needs "
           "--causal or --window LEFT,0",
           advanced()}};
}

}  // namespace headwise::cli
