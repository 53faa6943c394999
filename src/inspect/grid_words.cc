#include "inspect/grid_words.h"

namespace headwise::inline HEADWISE_ABI {

std::string layer_name(std::size_t layer, Language language) {
  const std::string number = std::to_string(layer);
  return language == Language::ko ? "레이어 " + number : "layer " + number;
}

std::string head_name(std::size_t head, Language language) {
  const std::string number = std::to_string(head);
  return language == Language::ko ? "헤드 " + number : "head " + number;
}

std::string full_name(std::size_t layer, std::size_t head, Language language) {
  const std::string between = language == Language::ko ? " " : ", ";
  return layer_name(layer, language) + between + head_name(head, language);
}

const GridWords& grid_words(Language language) {
  static constexpr GridWords kEnglish = {
      .largest = "largest",
      .pruned = "pruned",
      .masked = "masked",
      .scale = "attention weight; rows are queries, columns are keys",
      .scale_note =
          "scaled per head; colour follows the square root of the weight",
      .scale_end = "largest",
  };
  static constexpr GridWords kKorean = {
      .largest = "최댓값",
      .pruned = "가지치기됨",
      .masked = "마스킹됨",
      .scale = "어텐션 가중치(행은 쿼리, 열은 키)",
      .scale_note = "헤드별 최댓값 기준, 색은 가중치의 제곱근에 비례",
      .scale_end = "최댓값",
  };
  return language == Language::ko ? kKorean : kEnglish;
}

}  // namespace headwise::inline HEADWISE_ABI
