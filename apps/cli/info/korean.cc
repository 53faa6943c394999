// Korean of the help of the command in this room.
#include <array>

#include "shell/translation_tables.h"

namespace headwise::cli {
namespace {

constexpr auto kTexts = std::to_array<Translation>({
    {"print version, compiler, instruction sets and threads",
     "버전, 컴파일러, 명령어 집합, 스레드 수를 출력합니다"},
});
static_assert(is_sorted(kTexts), "sort the rows by their English");

}  // namespace

std::span<const Translation> korean_info() { return kTexts; }

}  // namespace headwise::cli
