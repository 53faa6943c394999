// The options of `headwise train`, as typed; an empty string or no value is an
// option that was not given.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace headwise::cli {

// Those of both forms.
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

// Of a task whose --steps are not given.
inline constexpr std::size_t kTaskSteps = 400;

// --task
struct TaskFlags : TrainFlags {
  std::string task;
  std::string scoring;
  std::optional<std::size_t> steps;  // not given: that of the task
};

// --model
struct SentenceFlags : TrainFlags {
  std::string model;
  std::string data;
  std::string test;
  std::string train;  // "probe" (or ""), "all"
  std::optional<std::size_t> max_tokens;
  std::optional<std::size_t> batch;
  std::optional<std::size_t> epochs;

  bool trains_all() const { return train == "all"; }
};

}  // namespace headwise::cli
