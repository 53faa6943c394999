#include "cache_flags.h"

#include <fmt/format.h>

#include <array>

#include "run_flags.h"
#include "shell/args.h"

namespace headwise::cli {
namespace {

constexpr const char* kPositions =
    "a layer rotates by the positions in the cache";
constexpr const char* kNoAddedKeys = "it takes no added keys";

// Options that a cache cannot do.
Outcome check_served(const RunFlags& flags) {
  struct Row {
    bool given;
    const char* option;
    const char* why;
  };
  const std::array<Row, 7> rows = {{
      {flags.is_layer() && !flags.rotary.query_positions.empty(),
       "--query-positions", kPositions},
      {flags.is_layer() && !flags.rotary.key_positions.empty(),
       "--key-positions", kPositions},
      {!flags.operation.bias_k.empty(), "--bias-k", kNoAddedKeys},
      {flags.operation.zero_attn, "--zero-attn", kNoAddedKeys},
      {!flags.d_output.empty(), "--d-output", "it has no backward pass"},
      {!flags.operation.dialect.empty(), "--dialect",
       "a dialect is about calls with all of their keys"},
      {flags.operation.empty_rows == "uniform", "--empty-rows uniform",
       "that averages all keys of the call, and a cache has those so far"},
  }};
  for (const Row& row : rows) {
    if (row.given) {
      return usage(message("{} cannot be used with --cache: {}", row.option,
                           Message(row.why)));
    }
  }
  return {};
}

Outcome check_page_size(const CacheFlags& cache) {
  if (!cache.page_size) {
    return {};
  }
  if (cache.kind != "paged") {
    return usage("--page-size needs --cache paged");
  }
  const std::size_t size = *cache.page_size;
  return size == 16 || size == 32 || size % 64 == 0
             ? Outcome()
             : usage("--page-size", message("is {}", size),
                     "16, 32 or a multiple of 64");
}

}  // namespace

void add_cache_options(const Arguments& cache, CacheFlags& flags) {
  cache
      .add_choice("--cache", flags.kind, {"contiguous", "paged"},
                  "run the call through a cache of keys and values; the last "
                  "query is then at the last key")
      .advanced();
  cache
      .add_choice("--cache-dtype", flags.dtype,
                  {"float32", "bfloat16", "float16", "int8"},
                  "type of the cached numbers (default float32)")
      .advanced();
  cache
      .add_count("--page-size", flags.page_size,
                 "tokens per page of --cache paged: 16, 32 or a multiple of 64 "
                 "(default 128)")
      .advanced();
  cache
      .add_count("--chunk", flags.chunk,
                 "queries at a time, 1: token by token (default: all); needs "
                 "--causal or --window LEFT,0")
      .advanced();
}

Outcome check_cache_flags(const RunFlags& flags) {
  const CacheFlags& cache = flags.cache;
  HEADWISE_TRY(check_page_size(cache));
  if (cache.given()) {
    return check_served(flags);
  }
  return !cache.dtype.empty() ? usage("--cache-dtype needs --cache")
         : cache.chunk        ? usage("--chunk needs --cache")
                              : Outcome();
}

}  // namespace headwise::cli
