#include "inspect/grid_words.h"

namespace headwise::inline HEADWISE_ABI {

std::string layer_name(std::size_t layer, Language language) {
  const std::string number = std::to_string(layer);
  return language == Language::ko ? number + "번 층" : "layer " + number;
}

std::string head_name(std::size_t head, Language language) {
  const std::string number = std::to_string(head);
  return language == Language::ko ? number + "번 헤드" : "head " + number;
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
          "each head up to its own largest, colours by the square root",
      .scale_end = "largest",
  };
  static constexpr GridWords kKorean = {
      .largest = "최댓값",
      .pruned = "잘라 냄",
      .masked = "가려짐",
      .scale = "어텐션 가중치. 행은 쿼리, 열은 키",
      .scale_note = "헤드마다 가장 큰 값까지, 제곱근에 따른 색",
      .scale_end = "최댓값",
  };
  return language == Language::ko ? kKorean : kEnglish;
}

}  // namespace headwise::inline HEADWISE_ABI
