// Korean of words that reports and progress bars print by themselves.
#include <array>

#include "translation_tables.h"

namespace headwise::cli {
namespace {

constexpr auto kWordTexts = std::to_array<Translation>({
    {"Display program version information and exit", "버전을 출력합니다"},
    {"Print this help message and exit", "이 도움말을 출력합니다"},
    {"ablate", "헤드 제거"},
    {"after", "제거 후"},
    {"axes", "축"},
    {"batches", "배치"},
    {"before", "제거 전"},
    {"by heads", "헤드로"},
    {"classify", "분류"},
    {"correct", "출력 보정"},
    {"embed", "임베딩"},
    {"encode", "인코딩"},
    {"examples", "예제"},
    {"flow", "플로"},
    {"gathered", "모두 모음"},
    {"heads", "헤드"},
    {"importance", "중요도"},
    {"layers", "레이어"},
    {"padding", "패딩"},
    {"patch", "헤드 바꾸기"},
    {"patches", "번"},
    {"pipelined", "파이프라인"},
    {"points", "점"},
    {"probe", "분류기 학습"},
    {"prune", "가지치기"},
    {"rounds", "회"},
    {"sentences", "문장"},
    {"sequences", "시퀀스"},
    {"stats", "통계"},
    {"steps", "스텝"},
    {"test", "평가"},
    {"texts", "텍스트"},
    {"the same with padding and causal masks",
     "패딩 마스크와 인과 마스크를 적용해서"},
    {"timing", "시간 측정"},
    {"tokens", "토큰"},
    {"train", "학습"},
    {"train a small model, see what it learns",
     "작은 모델을 학습하고 무엇을 배우는지 보기"},
    {"view", "페이지 작성"},
});
static_assert(is_sorted(kWordTexts), "sort the rows by their English");

}  // namespace

std::span<const Translation> korean_words() { return kWordTexts; }

}  // namespace headwise::cli
