// Korean of what errors say of the ranks of a group.
#include <array>

#include "korean_phrases.h"
#include "translation_tables.h"

namespace headwise::cli {
namespace {

constexpr auto kPhrases = std::to_array<Translation>({
    {"a positive multiple of {}", "{0}의 양의 배수"},
    {"a rank below {}", "{0}보다 작은 랭크"},
    {"at {}", "위치: {*0}"},
    {"cuts at multiples of {}", "{0}의 배수에서 나뉘어야 합니다."},
    {"each key head and its query heads on one rank",
     "키 헤드와 이를 읽는 쿼리 헤드는 한 랭크에 있어야 합니다."},
    {"each token on one rank", "토큰은 저마다 한 랭크에만 있어야 합니다."},
    {"each transfer once", "전송마다 한 번씩만 끝내야 합니다."},
    {"exchanging outputs", "출력 교환"},
    {"exchanging queries, keys and values", "쿼리, 키, 값 교환"},
    {"gathering keys", "키 모으기"},
    {"is cut at token {} of a sequence",
     "{s:이/가} 시퀀스의 토큰 {0}에서 나뉩니다"},
    {"is not a division of sequence {} of {} tokens",
     "{s:은/는} 토큰 {1}개인 시퀀스 {0:을/를} 나눈 것이 아닙니다"},
    {"is not a division of {} key heads among {} ranks",
     "{s:은/는} 키 헤드 {0}개를 랭크 {1}개에 나눈 것이 아닙니다"},
    {"is {} on rank {}", "{s:이/가} 랭크 {1}에서 {0}입니다"},
    {"keys {}", "키 {*0}"},
    {"no mask", "마스크 없음"},
    {"none in a call of several ranks",
     "여러 랭크가 함께 하는 호출에서는 요청할 수 없습니다."},
    {"on rank {}", "랭크 {0}에서 일어났습니다"},
    {"on rank {}, at {}", "랭크 {0}에서 일어났습니다. 위치: {*1}"},
    {"queries {}", "쿼리 {*0}"},
    {"rank {} did not answer within {} s",
     "랭크 {0:이/가} {1}초 안에 응답하지 않았습니다"},
    {"rank {} has ended", "랭크 {0:이/가} 끝났습니다"},
    {"rank {} sent {} bytes", "랭크 {0:이/가} {1}바이트를 보냈습니다"},
    {"rank {} waits for itself", "랭크 {0:이/가} 자기 자신을 기다립니다"},
    {"the call", "호출"},
    {"the start", "시작"},
    {"was finished before", "{s:은/는} 이미 끝났습니다"},
    {"{}, as on rank 0", "랭크 0과 같은 {0}"},
    {"{}, {}, digest {}", "{0}, {*1}, 요약값 {2}"},
});
static_assert(is_sorted(kPhrases));

}  // namespace

std::span<const Translation> korean_rank_phrases() { return kPhrases; }

}  // namespace headwise::cli
