// Korean of the help of the commands in this room.
#include <array>

#include "shell/translation_tables.h"

namespace headwise::cli {
namespace {

constexpr auto kTexts = std::to_array<Translation>({
    {"FILE has one example per line: label<TAB>text, or text alone. With "
     "labels the\neffects are those on loss and accuracy of the model's "
     "classifier (headwise train\n--model). Without labels they are the "
     "distances that embeddings move, divided by\ntheir lengths; for a causal "
     "model, loss and accuracy of the next token, also on\nrepeats only: "
     "tokens that continue an earlier occurrence of the same token.\n--sort "
     "takes loss, accuracy, loss_on_repeats, accuracy_on_repeats or "
     "distance.\nWhat replaces the output of a head, before the output "
     "projection:\n  zero     0, as head gates of 0 do\n  mean     its mean "
     "over all tokens of FILE\n  uniform  the mean of its values: equal "
     "attention to every visible token\nThe interaction of a pair is its "
     "effect minus the effects of both heads alone;\n--pairs shows that of "
     "--sort, largest first.\nEffects are paired by example; intervals are "
     "Student's t intervals.",
     "FILE은 한 줄에 예제 하나입니다: 레이블<TAB>텍스트, 또는 텍스트만. "
     "레이블이\n있으면 모델의 분류기(headwise train --model)의 손실과 정확도에 "
     "미치는 효과를\n측정하고, 없으면 임베딩이 움직인 거리를 임베딩의 길이로 "
     "나눈 값을 측정합니다.\n인과적 언어 모델에서는 다음 토큰의 손실과 "
     "정확도를 측정하고, 반복된 토큰(앞에\n나온 것과 같은 토큰을 이어 쓰는 "
     "토큰)만의 손실과 정확도도 측정합니다.\n--sort에는 loss, accuracy, "
     "loss_on_repeats, accuracy_on_repeats, distance 중\n하나를 줍니다. 출력 "
     "투영 전에 헤드의 출력을 다음으로 바꿉니다:\n  zero     0. 헤드 게이트가 "
     "0일 때와 같음\n  mean     FILE의 모든 토큰에 대한 평균\n  uniform  "
     "밸류의 평균: 볼 수 있는 모든 토큰에 고르게 주목\n쌍의 상호작용은 쌍의 "
     "효과에서 두 헤드 각각의 효과를 뺀 값입니다. --pairs는\n--sort로 고른 "
     "효과의 상호작용을 큰 것부터 보여 줍니다. 효과는 예제별로 "
     "짝지어\n계산하며, 구간은 스튜던트 t 구간입니다."},
    {"The effect of a head is what changes in the clean text when the head "
     "gets its\ncontext from the corrupted text: in every token and, if the "
     "texts have the same\nnumber of tokens, up to 64, in one position at a "
     "time (activation patching). A\nmodel with a classifier is measured by "
     "the log odds of --label, a causal model\nby those of the next token, any "
     "other by how far its embedding moves towards\nthat of the corrupted "
     "text. --approximate takes all effects from one gradient\n(attribution "
     "patching); it is fast, and exact only where the model is "
     "linear.\n--compare shows both.",
     "헤드의 효과는 그 헤드의 컨텍스트를 변형 텍스트에서 가져올 때 원본 "
     "텍스트의\n출력이 달라지는 정도입니다. 모든 토큰에서 한꺼번에 바꾸고, 두 "
     "텍스트의 토큰 수가\n같고 64개 이하면 한 위치씩도 바꿉니다(activation "
     "patching). 분류기가 있는 모델은\n--label의 로그 오즈로, 인과적 언어 "
     "모델은 다음 토큰의 로그 오즈로, 나머지는\n임베딩이 변형 텍스트의 임베딩 "
     "쪽으로 얼마나 움직이는지로 측정합니다.\n--approximate는 모든 효과를 "
     "그래디언트 하나로 근사합니다(attribution patching).\n빠르지만 "
     "모델이 선형인 곳에서만 정확합니다. --compare는 둘 다 보여 줍니다."},
    {"a model folder: BERT-family or causal, pruned or not",
     "모델 폴더: BERT 계열 또는 인과적 언어 모델. 이미 가지치기한 모델도 "
     "됩니다"},
    {"ablate each head by itself", "헤드를 하나씩 제거합니다"},
    {"ablate each pair of heads, and show how they interact",
     "헤드를 두 개씩 제거하고 상호작용을 보여 줍니다"},
    {"ablate these heads together, such as 3.1,4.5; with --each or --pairs: "
     "only these heads",
     "이 헤드들을 함께 제거합니다(예: 3.1,4.5). --each나 --pairs와 함께 쓰면 "
     "이 헤드들만 다룹니다"},
    {"approximate all effects by one gradient",
     "모든 효과를 그래디언트 하나로 근사합니다"},
    {"copy heads from a corrupted text into a clean one",
     "변형 텍스트의 헤드를 원본 텍스트로 옮겨 봅니다"},
    {"do not patch single positions", "한 위치씩 바꾸는 실행을 생략합니다"},
    {"label of the classifier, or next token of a causal model (default: the "
     "one predicted for --clean)",
     "분류기의 레이블, 또는 인과적 언어 모델의 다음 토큰(기본값: --clean에 "
     "대해 "
     "예측한 것)"},
    {"measure what a model does without some of its heads",
     "헤드 일부를 뺐을 때 모델이 어떻게 달라지는지 측정합니다"},
    {"number of rows, largest effects first (default: 20 in the table, all in "
     "JSON and CSV)",
     "효과가 큰 순서로 보여 줄 행 수(기본값: 표는 20, JSON과 CSV는 전부)"},
    {"show exact and approximate effects",
     "정확한 효과와 근사한 효과를 함께 보여 줍니다"},
    {"sort by this effect, most harmful first (default: loss or distance); "
     "see below",
     "이 효과를 기준으로, 가장 해로운 것부터 정렬합니다(기본값: loss 또는 "
     "distance). 아래 설명 참고"},
    {"the text that is run with a patched head; -: standard input",
     "헤드를 바꿔서 실행할 원본 텍스트. -: 표준 입력"},
    {"the text that the context of the head comes from",
     "헤드의 컨텍스트를 가져올 변형 텍스트"},
    {"what replaces a head (default: zero); see below",
     "헤드를 무엇으로 바꿀지(기본값 zero). 아래 설명 참고"},
});
static_assert(is_sorted(kTexts), "sort the rows by their English");

}  // namespace

std::span<const Translation> korean_intervene() { return kTexts; }

}  // namespace headwise::cli
