// The options of `headwise train`, as typed; an empty string or no value is an
// option that was not given.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "shell/command_line.h"

namespace headwise::cli {

struct TrainFlags {
  CommandLine line;

  // Of both forms.
  std::optional<std::uint64_t> seed;
  std::optional<double> learning_rate;
  std::size_t threads = 0;              // 0: all
  std::string arithmetic;               // as typed
  std::optional<std::size_t> deadline;  // seconds
  std::string out;
  std::string resume;
  bool force = false;
  bool json = false;

  // --task
  std::string task;
  std::string scoring;
  std::optional<std::size_t> steps;  // not given: that of the task

  // --model
  std::string model;
  std::string data;
  std::string test;
  std::string train;  // "probe" (or ""), "all"
  std::optional<std::size_t> max_tokens;
  std::optional<std::size_t> batch;
  std::optional<std::size_t> epochs;

  bool has_model() const { return !model.empty(); }
  bool trains_all() const { return train == "all"; }
};

// Of a task whose --steps are not given.
inline constexpr std::size_t kTaskSteps = 400;

}  // namespace headwise::cli
