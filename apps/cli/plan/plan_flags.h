// The options of headwise plan, as they are typed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace headwise::cli {

struct PlanFlags {
  std::size_t ranks = 0;
  std::size_t length = 0;
  std::size_t batch = 1;
  std::size_t heads = 32;
  std::optional<std::uint64_t> kv_heads;  // none: as many as heads
  std::size_t head_dim = 128;
  bool causal = false;
  std::string window;  // empty: not given
  std::string dtype = "float32";
  bool backward = false;
  std::string parallel = "auto";
  std::optional<std::uint64_t> pieces_per_rank;
  double rate = 1000;       // GFLOP/s of a rank
  double bandwidth = 12.5;  // GB/s of a link
  double latency = 10;      // us of a message
  bool json = false;
};

}  // namespace headwise::cli
