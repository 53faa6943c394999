// Korean of what errors say of the ranks of a group.
#include <array>

#include "korean_phrases.h"
#include "translation_tables.h"

namespace headwise::cli {
namespace {

constexpr auto kPhrases = std::to_array<Translation>({
    {"MPI allows no threads", "MPI가 스레드를 허용하지 않습니다"},
    {"MPI is finalised already", "MPI가 이미 종료되었습니다"},
    {"MPI is not initialised", "MPI가 초기화되지 않았습니다"},
    {"MPI_Init_thread() with MPI_THREAD_FUNNELED",
     "MPI_THREAD_FUNNELED를 준 MPI_Init_thread()"},
    {"SHA-256 of the model", "모델의 SHA-256"},
    {"SHA-256 of the text", "텍스트의 SHA-256"},
    {"SHA-256 of {}", "{0}의 SHA-256"},
    {"a build with -DHEADWISE_MPI=ON",
     "-DHEADWISE_MPI=ON으로 빌드해야 합니다."},
    {"a call between MPI_Init_thread() and MPI_Finalize()",
     "MPI_Init_thread()와 MPI_Finalize() 사이에서 불러야 합니다."},
    {"a communicator of this process", "이 프로세스의 커뮤니케이터"},
    {"a file that every process can read",
     "모든 프로세스가 읽을 수 있는 파일이어야 합니다."},
    {"a folder that all processes share",
     "모든 프로세스가 공유하는 폴더여야 합니다."},
    {"a parameter of the model", "모델의 파라미터"},
    {"a positive multiple of {}", "{0}의 양의 배수"},
    {"a rank below {}", "{0}보다 작은 랭크"},
    {"a rank did not answer within {} ms",
     "어떤 랭크가 {0}밀리초 안에 응답하지 않았습니다"},
    {"a regular file: every process writes a part of it",
     "일반 파일이어야 합니다. 프로세스마다 일부를 저장합니다."},
    {"adding up the gradient of the bias", "바이어스 그래디언트 합산"},
    {"at {}", "위치: {*0}"},
    {"cuts at multiples of {}", "{0}의 배수에서 나뉘어야 합니다."},
    {"each key head and its query heads on one rank",
     "키 헤드와 이를 읽는 쿼리 헤드는 한 랭크에 있어야 합니다."},
    {"each token on one rank", "토큰은 저마다 한 랭크에만 있어야 합니다."},
    {"each transfer once", "전송마다 한 번씩만 끝내야 합니다."},
    {"exchanging gradients", "그래디언트 교환"},
    {"exchanging outputs", "출력 교환"},
    {"exchanging queries, keys and values", "쿼리, 키, 밸류 교환"},
    {"exchanging tokens for heads", "토큰과 헤드 교환"},
    {"gathering keys", "키 모으기"},
    {"has its parts in {}, where this process does not see the files of rank 0",
     "{s}의 부분 파일 폴더 {*0}에서 이 프로세스가 랭크 0의 파일을 볼 수 "
     "없습니다"},
    {"headwise was built without MPI", "headwise를 MPI 없이 빌드했습니다"},
    {"is MPI_COMM_NULL", "{s:이/가} MPI_COMM_NULL입니다"},
    {"is cut at token {} of a sequence",
     "{s:이/가} 시퀀스의 토큰 {0}에서 나뉩니다"},
    {"is not a division of sequence {} of {} tokens",
     "{s:은/는} 토큰 {1}개인 시퀀스 {0:을/를} 나눈 것이 아닙니다"},
    {"is not a division of {} key heads among {} ranks",
     "{s:은/는} 키 헤드 {0}개를 랭크 {1}개에 나눈 것이 아닙니다"},
    {"is {} on rank {}", "{s:이/가} 랭크 {1}에서 {0}입니다"},
    {"keys {}", "키 {*0}"},
    {"lacks row {}", "{s}에 행 {0:이/가} 없습니다"},
    {"no mask", "마스크 없음"},
    {"none in a call of several ranks",
     "여러 랭크가 함께 하는 호출에서는 요청할 수 없습니다."},
    {"on rank {}", "랭크 {0}에서 일어났습니다"},
    {"on rank {}, at {}", "랭크 {0}에서 일어났습니다. 위치: {*1}"},
    {"queries {}", "쿼리 {*0}"},
    {"rank {} did not answer within {} s",
     "랭크 {0:이/가} {1}초 안에 응답하지 않았습니다"},
    {"rank {} has ended", "랭크 {0:이/가} 끝났습니다"},
    {"rank {} is out of reach: {}", "랭크 {0}에 연결할 수 없습니다: {1}"},
    {"rank {} sent {} bytes", "랭크 {0:이/가} {1}바이트를 보냈습니다"},
    {"rank {} waits for itself", "랭크 {0:이/가} 자기 자신을 기다립니다"},
    {"the call", "호출"},
    {"the start", "시작"},
    {"was finished before", "{s:은/는} 이미 끝났습니다"},
    {"{} cannot be used by several processes",
     "{0:은/는} 여러 프로세스로 실행할 때 쓸 수 없습니다"},
    {"{}, as on rank 0", "랭크 0과 같은 {0}"},
    {"{}, {}, digest {}", "{0}, {*1}, 요약값 {2}"},
});
static_assert(is_sorted(kPhrases));

}  // namespace

std::span<const Translation> korean_rank_phrases() { return kPhrases; }

}  // namespace headwise::cli
