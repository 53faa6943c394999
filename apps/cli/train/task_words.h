// What `headwise train` says about each task.
#pragma once

#include <string>
#include <vector>

#include "headwise/train/task_run.h"
#include "shell/say.h"

namespace headwise::cli {

struct TaskWords {
  std::string_view about;    // one line
  std::string_view pattern;  // what a head does that has learned the task
};

const TaskWords& words_of(Task task);

// As --task takes them.
std::vector<std::string> task_names();

}  // namespace headwise::cli
