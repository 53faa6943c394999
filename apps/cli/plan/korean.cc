// Korean of the help of the command in this room, and of its words.
#include <array>

#include "shell/translation_tables.h"

namespace headwise::cli {
namespace {

constexpr auto kTexts = std::to_array<Translation>({
    {"Call", "호출"},
    {"Division", "분할"},
    {"Rates", "속도"},
    {"Times are estimates from the rates that you give; nothing is "
     "measured.\nheadwise bench measures the rate of a machine.",
     "시간은 주어진 속도로 추정한 값이며, 측정하지 않습니다. 머신의 "
     "속도는\nheadwise bench로 측정합니다."},
    {"a query sees LEFT keys before it and RIGHT after it (inf: no limit), and "
     "the first KEEP_FIRST keys (default 0)",
     "쿼리는 앞의 키 LEFT개와 뒤의 키 RIGHT개(inf: 제한 없음), 그리고 처음 "
     "KEEP_FIRST개 키(기본값 0)를 봅니다"},
    {"a query sees no later key", "쿼리는 뒤에 오는 키를 보지 않습니다"},
    {"bandwidth of a rank's link in GB/s, per direction (default 12.5: 100 "
     "Gbit/s)",
     "한 랭크의 링크 대역폭(GB/s), 방향마다(기본값 12.5: 100 Gbit/s)"},
    {"divide tokens (context) or heads; auto (default): heads if there are "
     "enough and they balance as well",
     "토큰(context)이나 헤드(heads)를 나눕니다. auto(기본값): 헤드가 충분하고 "
     "그만큼 고르게 나뉘면 헤드를 나눕니다"},
    {"features of a head (default 128)", "헤드의 특징 수(기본값 128)"},
    {"heads of keys and values (default: as --num-heads)",
     "키와 밸류의 헤드 수(기본값: --num-heads와 같음)"},
    {"include the backward pass (default: forward only)",
     "역전파까지 포함합니다(기본값: 순전파만)"},
    {"latency of a message in microseconds (default 10)",
     "메시지의 지연 시간(마이크로초, 기본값 10)"},
    {"number of processes, usually one per machine",
     "프로세스 수, 보통 머신마다 하나"},
    {"number of sequences (default 1)", "시퀀스 수(기본값 1)"},
    {"pieces per sequence and rank, by context; more pieces reduce waiting "
     "under --causal (default 2 if the work varies along the sequence, else 1)",
     "컨텍스트로 나눌 때 한 시퀀스에서 랭크마다 갖는 조각 수. --causal에서는 "
     "많을수록 덜 기다립니다(기본값: 시퀀스를 따라 작업량이 달라지면 2, 아니면 "
     "1)"},
    {"plan how to divide attention among several machines",
     "어텐션을 여러 머신에 나누는 방법을 계획합니다"},
    {"print one JSON object", "JSON 객체 하나를 출력합니다"},
    {"query heads (default 32)", "쿼리 헤드 수(기본값 32)"},
    {"speed of attention on a rank in GFLOP/s, as headwise bench prints it "
     "(default 1000)",
     "한 랭크의 어텐션 속도(GFLOP/s), headwise bench가 출력하는 값(기본값 "
     "1000)"},
    {"tokens of a sequence", "시퀀스의 토큰 수"},
    {"type of the tensors (default float32)", "텐서의 자료형(기본값 float32)"},
});
static_assert(is_sorted(kTexts), "sort the rows by their English");

}  // namespace

std::span<const Translation> korean_plan() { return kTexts; }

}  // namespace headwise::cli
