// Korean of the help of the command in this room.
#include <array>

#include "shell/translation_tables.h"

namespace headwise::cli {
namespace {

constexpr auto kTexts = std::to_array<Translation>({
    {"Patterns; scores go from 0 to 1 and are means over texts:\n  previous, "
     "next, self, first, separator   attention on that token\n  duplicate    "
     "on other occurrences of the same token\n  induction    on the token "
     "after an earlier occurrence of the same token\n  positional   attention "
     "that depends on the distance alone\nWithout --texts the texts are random "
     "tokens, each text repeated once: in these\nonly a copy predicts the next "
     "token.",
     "패턴. 점수는 0에서 1까지이며 텍스트에 대한 평균입니다:\n  previous, "
     "next, self, first, separator   그 토큰에 대한 어텐션\n  duplicate    "
     "같은 토큰이 나온 다른 위치에 대한 어텐션\n  induction    앞에 나온 같은 "
     "토큰의 다음 토큰에 대한 어텐션\n  positional   거리에만 달려 있는 "
     "어텐션\n--texts가 없으면 무작위 토큰을 늘어놓고\n한 번 더 반복한 "
     "텍스트를 씁니다. 이런 텍스트에서는 "
     "앞부분을 복사해야만 다음\n토큰을 예측할 수 있습니다."},
    {"a model folder: config.json, vocab.txt, model.safetensors",
     "모델 폴더(config.json, vocab.txt, model.safetensors)"},
    {"find the heads that match a pattern", "패턴에 맞는 헤드를 찾습니다"},
    {"one text per line (default: random tokens, repeated)",
     "한 줄에 텍스트 하나(기본값: 한 번 반복한 무작위 토큰)"},
    {"print the best N heads (default: 10 in the table, all with --json and "
     "--csv)",
     "점수가 높은 헤드 N개를 출력합니다(기본값: 표는 10개, --json과 --csv는 "
     "모두)"},
    {"seed of the random tokens (default 0)", "무작위 토큰의 시드(기본값 0)"},
    {"the pattern to find, one of those below",
     "찾을 패턴. 아래 목록에서 고릅니다"},
});
static_assert(is_sorted(kTexts), "sort the rows by their English");

}  // namespace

std::span<const Translation> korean_heads() { return kTexts; }

}  // namespace headwise::cli
