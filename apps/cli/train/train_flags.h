// The options that both forms of `headwise train` have, as typed; an empty
// string or no value is an option that was not given.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace headwise::cli {

struct TrainFlags {
  std::optional<std::uint64_t> seed;
  std::optional<double> learning_rate;
  std::size_t threads = 0;              // 0: all
  std::string arithmetic;               // as typed
  std::optional<std::size_t> deadline;  // seconds
  std::string out;
  std::string resume;
  bool force = false;
  bool json = false;
};

}  // namespace headwise::cli
