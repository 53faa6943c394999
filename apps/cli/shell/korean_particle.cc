#include "korean_particle.h"

#include <cctype>

namespace headwise::cli {
namespace {

// What a word ends in. "으로/로" takes the second form after ㄹ, too.
enum class Ending { vowel, rieul, consonant };

Ending of_syllable(char32_t code) {
  constexpr char32_t kFirst = 0xAC00;
  constexpr char32_t kFinals = 28;  // final consonants; 0 is none, 8 is ㄹ
  const char32_t consonant = (code - kFirst) % kFinals;
  return consonant == 0   ? Ending::vowel
         : consonant == 8 ? Ending::rieul
                          : Ending::consonant;
}

bool is_one_of(char c, std::string_view letters) {
  return letters.find(c) != std::string_view::npos;
}

// Read as 영 (or 십, 백, 천, 만), 일, 이, 삼, 사, 오, 육, 칠, 팔, 구.
Ending of_digit(char digit) {
  return is_one_of(digit, "178")   ? Ending::rieul
         : is_one_of(digit, "036") ? Ending::consonant
                                   : Ending::vowel;
}

// model 모델, title 타이틀, json 제이슨, scoring 스코어링, step 스텝, block
// 블록; mask 마스크, test 테스트, correct 커렉트, png 피엔지.
Ending of_letters(std::string_view word) {
  const auto lower = [&](std::size_t from_end) {
    return word.size() < from_end
               ? ' '
               : static_cast<char>(std::tolower(
                     static_cast<unsigned char>(word[word.size() - from_end])));
  };
  const char last = lower(1);
  const char before = lower(2);
  if (last == 'l' || (last == 'e' && before == 'l')) {
    return Ending::rieul;
  }
  constexpr std::string_view kVowels = "aeiou";
  const bool stop = (is_one_of(last, "kpt") && is_one_of(before, kVowels)) ||
                    (last == 'k' && before == 'c');
  const bool nasal = is_one_of(last, "mn") || (last == 'g' && before == 'n' &&
                                               is_one_of(lower(3), kVowels));
  return stop || nasal ? Ending::consonant : Ending::vowel;
}

bool is_hangul_syllable(char32_t code) {
  return code >= 0xAC00 && code <= 0xD7A3;
}

// The code point of the three bytes that `word` ends in; 0 where it is shorter.
char32_t last_of_three_bytes(std::string_view word) {
  if (word.size() < 3) {
    return 0;
  }
  const std::string_view last = word.substr(word.size() - 3);
  const auto bits = [&](std::size_t n) {
    return static_cast<char32_t>(static_cast<unsigned char>(last[n]));
  };
  return (bits(0) & 0x0FU) << 12 | (bits(1) & 0x3FU) << 6 | (bits(2) & 0x3FU);
}

Ending ending_of(std::string_view word) {
  while (!word.empty() && is_one_of(word.back(), "\"')]}>")) {
    word.remove_suffix(1);
  }
  if (word.empty()) {
    return Ending::vowel;
  }
  const auto last = static_cast<unsigned char>(word.back());
  if (std::isdigit(last) != 0) {
    return of_digit(word.back());
  }
  if (std::isalpha(last) != 0) {
    return of_letters(word);
  }
  const char32_t code = last < 0x80 ? 0 : last_of_three_bytes(word);
  return is_hangul_syllable(code) ? of_syllable(code) : Ending::vowel;
}

}  // namespace

std::string with_particle(std::string_view word, std::string_view forms) {
  const std::size_t slash = forms.find('/');
  const std::string_view after_consonant = forms.substr(0, slash);
  const std::string_view after_vowel = forms.substr(slash + 1);
  const Ending ending = ending_of(word);
  const bool vowel =
      ending == Ending::vowel ||
      (ending == Ending::rieul && after_consonant.starts_with("으로"));
  return std::string(word) + std::string(vowel ? after_vowel : after_consonant);
}

}  // namespace headwise::cli
