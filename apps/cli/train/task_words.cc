#include "task_words.h"

#include "headwise/train/induction_run.h"

namespace headwise::cli {

const TaskWords& words_of(Task task) {
  static constexpr TaskWords kRecall = {
      "8 pairs, then 4 questions: a pair is the token 10 * key + value, a "
      "question 100 + key",
      "question 103 attends to the pair with key 3 (30 to 39)"};
  static constexpr TaskWords kReverse = {
      "10 symbols to output in reverse: a token is 10 * place + symbol, a "
      "decoder token 100 + place",
      "query 100 attends to the last key, query 109 to the first"};
  return task == Task::recall ? kRecall : kReverse;
}

std::vector<std::string> task_names() {
  std::vector<std::string> names;
  for (const Task task : kTasks) {
    names.emplace_back(name_of(task));
  }
  names.emplace_back(kInductionTask);
  return names;
}

}  // namespace headwise::cli
