// Korean of the help of the command in this room.
#include <array>

#include "shell/translation_tables.h"

namespace headwise::cli {
namespace {

constexpr auto kTexts = std::to_array<Translation>({
    {"benchmark attention on this machine",
     "이 머신에서 어텐션 속도를 측정합니다"},
    {"cpu (default), or cuda: a Hopper GPU",
     "cpu(기본값) 또는 cuda: Hopper GPU"},
    {"element type for --device cuda: bfloat16 (default) or float16",
     "--device cuda의 자료형: bfloat16(기본값) 또는 float16"},
    {"list the workloads and their sizes",
     "워크로드와 크기의 목록을 출력합니다"},
    {"number of measurements (default 10)", "측정 횟수(기본값 10)"},
    {"number of threads, at most the number of processors (default 1)",
     "스레드 수, 최대 프로세서 수까지(기본값 1)"},
    {"print one JSON object per line", "한 줄에 JSON 객체 하나를 출력합니다"},
    {"workloads to measure: names from --list, or all",
     "측정할 워크로드: --list의 이름 또는 all(전부)"},
});
static_assert(is_sorted(kTexts), "sort the rows by their English");

}  // namespace

std::span<const Translation> korean_bench() { return kTexts; }

}  // namespace headwise::cli
