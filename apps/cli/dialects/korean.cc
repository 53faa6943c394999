// Korean of the help of the commands in this room.
#include <array>

#include "shell/translation_tables.h"

namespace headwise::cli {
namespace {

constexpr auto kTexts = std::to_array<Translation>({
    {"(B): attend to this number of keys, from the first",
     "(B): 앞에서부터 볼 수 있는 키의 개수"},
    {"(B, Lkv): the key padding mask that both are given",
     "(B, Lkv): 둘 다에 주는 키 패딩 마스크"},
    {"Dialects: torch-mha, torch-sdpa, keras, jax, flax, onnx-1.23, "
     "onnx-1.21,\nort-contrib, flash-attention, transformers, d2l, fill-1e12, "
     "fill-1e10.\nPass the sizes that the mask's shape does not "
     "determine.\nExit code: 0 "
     "without warnings, 1 with warnings.",
     "방언: torch-mha, torch-sdpa, keras, jax, flax, onnx-1.23, "
     "onnx-1.21,\nort-contrib, flash-attention, transformers, d2l, fill-1e12, "
     "fill-1e10.\n마스크에 없는 크기는 옵션으로 줍니다.\n종료 코드: 경고가 "
     "없으면 0, 있으면 1."},
    {"The tensors are (B, H, L, D) for both, or as --layout says. Exit code: 0 "
     "if\nboth give the same, 1 if they differ.",
     "두 라이브러리 모두 텐서는 (B, H, L, D)이거나 --layout을 따릅니다. 종료 "
     "코드:\n결과가 같으면 0, 다르면 1."},
    {"ask both for a causal mask", "둘 다 인과 마스크를 씁니다"},
    {"ask both to return the attention weights",
     "둘 다 어텐션 가중치를 돌려주게 합니다"},
    {"axes of the files: bhld (default) or blhd",
     "파일의 축 순서입니다. 기본값에서는 헤드가 길이보다 앞에 옵니다"},
    {"find the step at which two libraries give different attention",
     "두 라이브러리의 어텐션 결과가 처음 달라지는 단계를 찾습니다"},
    {"key padding mask (B, Lkv), instead of --mask",
     "키 패딩 마스크 (B, Lkv), --mask 대신"},
    {"number of keys", "키의 수"},
    {"number of keys from a cache (default 0)",
     "키 가운데 캐시에 있던 키의 수(기본값 0)"},
    {"number of queries (default 1)", "쿼리의 수(기본값 1)"},
    {"number of query heads (default 1)", "쿼리 헤드의 수(기본값 1)"},
    {"number of sequences (default 1)", "시퀀스의 수(기본값 1)"},
    {"replace scores by X * tanh(score / X)",
     "점수를 X * tanh(점수 / X)로 바꿉니다"},
    {"the library that the mask is for", "마스크를 받을 라이브러리"},
    {"the mask", "마스크"},
    {"the mask that both libraries are given", "두 라이브러리에 주는 마스크"},
    {"the two dialects to compare, of those that lint-mask --help lists",
     "비교할 두 방언(lint-mask --help에 나오는 이름)"},
    {"warn about masks that silently change a result",
     "오류 없이 결과만 달라지게 하는 잘못된 마스크를 찾아 경고합니다"},
    {"where padding is expected (default right)",
     "패딩이 있어야 하는 쪽(기본값: 오른쪽)"},
});
static_assert(is_sorted(kTexts), "sort the rows by their English");

}  // namespace

std::span<const Translation> korean_dialects() { return kTexts; }

}  // namespace headwise::cli
