#include "task_words.h"

#include "headwise/train/induction_run.h"

namespace headwise::cli {

const TaskWords& words_of(Task task) {
  static constexpr TaskWords kRecall = {
      {"8 pairs, then 4 questions: a pair is the token 10 * key + value, a "
       "question 100 + key",
       "쌍 8개와 질문 4개. 쌍은 토큰 10 * 키 + 값이고, 질문은 100 + 키입니다"},
      {"question 103 attends to the pair with key 3 (30 to 39)",
       "질문 103이 키 3의 쌍(30~39)에 주목합니다"}};
  static constexpr TaskWords kReverse = {
      {"10 symbols to output in reverse: a token is 10 * place + symbol, a "
       "decoder token 100 + place",
       "기호 10개를 거꾸로 출력합니다. 토큰은 10 * 위치 + 기호이고, 디코더의 "
       "토큰은 100 + 위치입니다"},
      {"query 100 attends to the last key, query 109 to the first",
       "쿼리 100이 마지막 키에, 109가 첫 키에 주목합니다"}};
  return task == Task::recall ? kRecall : kReverse;
}

std::vector<std::string> task_names() {
  std::vector<std::string> names;
  for (const Task task : all_tasks()) {
    names.emplace_back(name_of(task));
  }
  names.emplace_back(kInductionTask);
  return names;
}

}  // namespace headwise::cli
