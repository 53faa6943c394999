// Korean of what errors say of the ranks of a group.
#include <array>

#include "korean_phrases.h"
#include "translation_tables.h"

namespace headwise::cli {
namespace {

constexpr auto kPhrases = std::to_array<Translation>({
    {"a rank below {}", "{0}보다 작은 랭크"},
    {"at {}", "위치: {*0}"},
    {"each transfer once", "전송마다 한 번씩만 끝내야 합니다."},
    {"is {} on rank {}", "{s:이/가} 랭크 {1}에서 {0}입니다"},
    {"on rank {}", "랭크 {0}에서 일어났습니다"},
    {"on rank {}, at {}", "랭크 {0}에서 일어났습니다. 위치: {*1}"},
    {"rank {} did not answer within {} s",
     "랭크 {0:이/가} {1}초 안에 응답하지 않았습니다"},
    {"rank {} has ended", "랭크 {0:이/가} 끝났습니다"},
    {"rank {} sent {} bytes", "랭크 {0:이/가} {1}바이트를 보냈습니다"},
    {"rank {} waits for itself", "랭크 {0:이/가} 자기 자신을 기다립니다"},
    {"was finished before", "{s:은/는} 이미 끝났습니다"},
    {"{}, as on rank 0", "랭크 0과 같은 {0}"},
});
static_assert(is_sorted(kPhrases));

}  // namespace

std::span<const Translation> korean_rank_phrases() { return kPhrases; }

}  // namespace headwise::cli
