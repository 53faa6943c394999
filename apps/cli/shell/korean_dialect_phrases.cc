// Korean of what is said of dialects and of their masks.
#include <array>

#include "korean_phrases.h"
#include "translation_tables.h"

namespace headwise::cli {
namespace {

constexpr auto kDialectPhrases = std::to_array<Translation>({
    {"--keys is needed: the mask does not say how many there are",
     "마스크에 키의 수가 없으므로 --keys가 필요합니다"},
    {"4 axes, or 3 without a batch", "축 4개, 배치가 없으면 3개"},
    {"a causal mask aligns {} in {} and {} in {}",
     "인과 마스크의 기준: {1}에서는 {*0}, {3}에서는 {*2}"},
    {"a fully masked row gives {} in {} and {} in {}",
     "키가 없는 행의 결과: {1}에서는 {*0}, {3}에서는 {*2}"},
    {"a mask of rank {} is {} in {} and {} in {}",
     "랭크 {0}인 마스크: {2}에서는 {1}, {4}에서는 {3}"},
    {"a mask or causal, not both", "마스크와 인과 마스크 중 하나"},
    {"a number of keys", "키의 개수"},
    {"added to the score", "점수에 더하는 값"},
    {"an element of the mask means {} in {} and {} in {}",
     "마스크 원소의 뜻: {1}에서는 {*0}, {3}에서는 {*2}"},
    {"attend", "어텐션 가능"},
    {"compute these scores in float32, or fill with -65504 in float16",
     "점수를 float32로 계산하거나, float16에서는 -65504로 채우세요"},
    {"give --mask or --key-padding", "--mask와 --key-padding 중 하나만 주세요"},
    {"has warnings: {}", "{s}에 경고가 있습니다: {0}"},
    {"in a key padding mask, True means {} in {} and {} in {}",
     "키 패딩 마스크에서 true의 뜻: {1}에서는 {*0}, {3}에서는 {*2}"},
    {"is given next to causal", "{s:이/가} 인과 마스크와 함께 주어졌습니다"},
    {"let every query see a key, such as its own, or ignore the output of "
     "these rows",
     "모든 쿼리가 자기 자신 등 키를 하나는 보게 하거나, 이 행을 이후 계산에서 "
     "빼세요"},
    {"let query i see the keys up to i + {}",
     "쿼리 i가 i + {0}번 키까지 보게 하세요"},
    {"mask these keys too, or use a separate causal mask",
     "이 키도 마스킹하거나, 인과 마스크를 따로 쓰세요"},
    {"masked", "마스킹"},
    {"masked keys get weight: masked scores are {} in {} and {} in {}",
     "마스킹된 키에도 가중치가 생깁니다. 마스킹된 점수: {1}에서는 {*0}, "
     "{3}에서는 {*2}"},
    {"masked scores become {}, which is -inf in float16",
     "마스킹된 점수는 {0}이며, float16에서는 -inf가 됩니다"},
    {"negate the mask, or name the dialect that it was made for",
     "마스크를 반전하거나, 마스크를 만든 방언을 지정하세요"},
    {"no query may attend to its own key: the mask looks inverted",
     "어떤 쿼리도 자기 위치의 키를 보지 못합니다. 마스크가 뒤집힌 것 같습니다"},
    {"pad on the left, or expect padding on the right",
     "왼쪽에 패딩하거나, 패딩의 위치를 오른쪽으로 지정하세요"},
    {"pad on the right, or expect padding on the left",
     "오른쪽에 패딩하거나, 패딩의 위치를 왼쪽으로 지정하세요"},
    {"padding is after the tokens, but expected before them",
     "패딩이 토큰 앞에 있어야 하는데 뒤에 있습니다"},
    {"padding is before the tokens, but expected after them",
     "패딩이 토큰 뒤에 있어야 하는데 앞에 있습니다"},
    {"refused", "받지 않음"},
    {"replaced with {}", "대신 {0}"},
    {"some queries have no key; with {} their rows give {}",
     "키가 없는 쿼리가 있습니다. {0}에서 그 행의 결과: {*1}"},
    {"some rows have no key and few keys are visible: the mask looks inverted",
     "키가 없는 행이 있고 보이는 키가 적습니다. 마스크가 뒤집힌 것 같습니다"},
    {"the first query with the first key", "첫 쿼리와 첫 키"},
    {"the first query with the first key after the cache",
     "첫 쿼리와 캐시 다음의 첫 키"},
    {"the last query with the last key", "마지막 쿼리와 마지막 키"},
    {"the mask has finite numbers below -65504, which are -inf in float16",
     "-65504보다 작은 유한한 수가 있습니다. float16에서는 -inf가 됩니다"},
    {"the mask is causal from the top left, but has {} more keys than queries: "
     "with a cache, queries miss the newest keys",
     "왼쪽 위를 기준으로 한 인과 마스크인데 키가 쿼리보다 {0}개 많습니다. "
     "캐시가 있으면 쿼리가 최근 키를 보지 못합니다"},
    {"the mask is causal, but lets a query see keys after it",
     "인과 마스크인데 쿼리가 자기 뒤의 키를 볼 수 있습니다"},
    {"the mean of all values", "모든 밸류의 평균"},
    {"their own numbers plus {}", "원래 값에 {0:을/를} 더한 값"},
    {"two names separated by a comma, from {}",
     "{0} 중에서 쉼표로 이은 이름 두 개"},
    {"use -inf, a bool mask, or -65504 in float16",
     "-inf나 bool 마스크를 쓰거나, float16에서는 -65504를 쓰세요"},
    {"what it gives without a mask", "마스크가 없을 때의 결과"},
    {"{} and {} differ", "{0:과/와} {1}의 결과가 다릅니다"},
    {"{} caps scores before the mask and {} after it, which leaves weight on "
     "masked keys",
     "{0:은/는} 마스크 전에, {1:은/는} 마스크 뒤에 점수를 제한합니다. 뒤에 "
     "하면 마스킹된 키에도 가중치가 남습니다"},
    {"{} does not take this mask: it {}, expected {}",
     "{0:은/는} 이 마스크를 받지 않습니다({*1}, 기대한 것: {*2})"},
    {"{} returns the mean over the heads and {} the weights of each head",
     "{0:은/는} 헤드들의 평균을, {1:은/는} 헤드별 가중치를 돌려줍니다"},
    {"{} returns the weights after dropout and {} before it",
     "{0:은/는} 드롭아웃 뒤의 가중치를, {1:은/는} 드롭아웃 전의 가중치를 "
     "돌려줍니다"},
    {"{}, as the mask has it", "마스크와 같은 {0}"},
    {"{}, or {} with returned weights", "{*0}, 가중치를 반환하면 {*1}"},
});
static_assert(is_sorted(kDialectPhrases));

}  // namespace

std::span<const Translation> korean_dialect_phrases() {
  return kDialectPhrases;
}

}  // namespace headwise::cli
