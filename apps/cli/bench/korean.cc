// Korean of the help of the command in this room.
#include <array>

#include "shell/translation_tables.h"

namespace headwise::cli {
namespace {

constexpr auto kTexts = std::to_array<Translation>({
    {"cpu or cuda, a Hopper GPU (default cpu)",
     "cpu 또는 cuda(Hopper GPU). 기본값 cpu"},
    {"measure these of --list, or all",
     "측정할 워크로드(--list의 이름 또는 all)"},
    {"measurements (default 10)", "측정 횟수(기본값 10)"},
    {"of --device cuda: bfloat16 (default) or float16",
     "--device cuda의 자료형: bfloat16(기본값) 또는 float16"},
    {"one object a line", "한 줄에 JSON 객체 하나를 출력합니다"},
    {"the speed of attention here", "이 컴퓨터에서 어텐션 속도를 측정합니다"},
    {"the workloads and their sizes", "워크로드와 크기의 목록을 출력합니다"},
    {"threads, at most the number of processors (default 1)",
     "스레드 수, 최대 프로세서 수까지(기본값 1)"},
});
static_assert(is_sorted(kTexts));

}  // namespace

std::span<const Translation> korean_bench() { return kTexts; }

}  // namespace headwise::cli
