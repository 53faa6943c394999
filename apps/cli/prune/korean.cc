// Korean of the help of the commands in this room.
#include <array>

#include "shell/translation_tables.h"

namespace headwise::cli {
namespace {

constexpr auto kTexts = std::to_array<Translation>({
    {"FILE has one example per line: label<TAB>text, or text alone. With "
     "labels the\nloss is that of the model's classifier (headwise train "
     "--model), or of one\ntrained on FILE. Without labels a head matters if "
     "it moves the embedding.\n  gradient    mean |d loss / d gate|, "
     "normalised per layer (Michel et al. 2019)\n  fisher      mean (d loss / "
     "d gate)^2 (Kwon et al. 2022)\n  ablation    the loss without the head "
     "minus the loss with it: exact, slow\n  entropy     minus the mean "
     "entropy of its attention weights\n  confidence  mean largest attention "
     "weight (Voita et al. 2019)\n  random      random numbers, for "
     "comparison\nUnder mpirun the processes divide the examples of each "
     "batch; "
     "the scores are the\nsame. To resume an interrupted run, run the same "
     "command again.",
     "FILE은 한 줄에 예제 하나입니다: 레이블<TAB>텍스트, 또는 텍스트만. "
     "레이블이\n있으면 모델의 분류기(headwise train --model)나 FILE로 학습한 "
     "분류기의 손실을\n쓰고, 없으면 문장 임베딩이 얼마나 움직이는지를 "
     "봅니다.\n  gradient    |d 손실 / d 게이트|의 평균, 레이어별 "
     "정규화(Michel et al. 2019)\n  fisher      (d 손실 / d 게이트)^2의 "
     "평균(Kwon et al. 2022)\n  ablation    헤드를 뺐을 때의 손실에서 원래 "
     "손실을 뺀 값: 정확하지만 느림\n  entropy     어텐션 가중치의 평균 "
     "엔트로피에 음의 부호를 붙인 값\n  confidence  가장 큰 어텐션 가중치의 "
     "평균(Voita et al. 2019)\n  random      비교용 무작위 점수\nmpirun으로 "
     "실행하면 각 배치의 예제를 프로세스들이 나누며, 점수는 같습니다.\n중단된 "
     "실행은 같은 명령을 다시 실행하면 이어집니다."},
    {"Heads are removed from the lowest score to the highest (headwise "
     "importance).\nEvery headwise command takes DIR as a model; transformers "
     "and other programs\nneed --export full-size. A causal model (headwise "
     "train --task induction) takes\n--heads; its accuracy is that on repeated "
     "words. The constant part of a removed\nhead's output goes into the "
     "output bias. Accuracy is measured on --data with the\nmodel's classifier "
     "(headwise train --model); without labels the report says how\nfar the "
     "embeddings move.\nTo resume an interrupted --max-drop or --curve, run "
     "the same command again.",
     "점수(headwise importance)가 낮은 헤드부터 제거합니다. DIR은 모든 "
     "headwise 명령에\n쓸 수 있는 모델 폴더입니다. transformers 등 다른 "
     "프로그램에서 쓰려면\n--export full-size를 주세요. 인과적 언어 모델(train "
     "--task induction)에는\n--heads를 쓰며, 정확도는 반복된 단어의 "
     "정확도입니다. 제거한 헤드의 출력에서\n상수 부분은 출력 바이어스에 "
     "합칩니다. 정확도는 --data에서 모델의\n분류기(headwise train --model)로 "
     "측정하며,\n레이블이 없는 텍스트로는 임베딩이 얼마나 움직이는지를 "
     "측정합니다. 중단된\n--max-drop과 --curve는 같은 명령을 다시 실행하면 "
     "이어집니다."},
    {"Number of heads", "제거할 헤드 수"},
    {"a BERT-family model folder, pruned or not",
     "BERT 계열 모델 폴더. 이미 가지치기한 모델도 됩니다"},
    {"a model folder, BERT-family or causal",
     "BERT 계열 또는 인과적 언어 모델 폴더"},
    {"do not add the constant part of removed heads to the output bias",
     "제거한 헤드의 상수 부분을 출력 바이어스에 더하지 않습니다"},
    {"draw the scores as a heat map", "점수를 히트맵으로 그립니다"},
    {"examples per batch (default 16)", "배치당 예제 수(기본값 16)"},
    {"fit the output projections to the outputs of the unpruned model on "
     "--data, by least squares",
     "--data에서 원래 모델의 출력에 맞도록 출력 투영을 최소제곱법으로 "
     "보정합니다"},
    {"how to score (default: gradient); see below",
     "점수를 매기는 방법(기본값 gradient). 아래 설명 참고"},
    {"instead of writing a model, plot the accuracy as heads are removed in "
     "steps of 10%",
     "모델을 저장하는 대신, 헤드를 10%씩 제거할 때의 정확도를 그립니다"},
    {"keep this number of heads", "남길 헤드 수"},
    {"maximum tokens per example (default: the model's limit)",
     "예제의 최대 토큰 수(기본값: 모델의 최대 토큰 수)"},
    {"maximum tokens per text (default: the model's limit)",
     "텍스트의 최대 토큰 수(기본값: 모델의 최대 토큰 수)"},
    {"measure how much each head matters",
     "헤드마다 얼마나 중요한지 측정합니다"},
    {"number of examples to use, spread over the file (default: all)",
     "사용할 예제 수. 파일 전체에서 고르게 뽑습니다(기본값: 전부)"},
    {"one example per line: label<TAB>text, or text alone",
     "한 줄에 예제 하나: 레이블<TAB>텍스트, 또는 텍스트만"},
    {"print JSON instead of a table", "표 대신 JSON을 출력합니다"},
    {"pruned (default): without the removed heads, for headwise; full-size: "
     "removed heads are zeros, so transformers can load the folder, but it is "
     "not smaller or faster",
     "pruned(기본값): 제거한 헤드가 없는 headwise용 폴더. full-size: 제거한 "
     "헤드를 0으로 남겨 transformers에서도 불러올 수 있지만, 크기와 속도는 "
     "그대로입니다"},
    {"remove as many heads as possible while accuracy on --data drops by at "
     "most this many percentage points",
     "--data의 정확도가 이 값(%p) 넘게 떨어지지 않는 한도에서 헤드를 최대한 "
     "많이 제거합니다"},
    {"remove heads from a model", "모델에서 헤드를 제거합니다"},
    {"remove these heads, such as 3.1,4.5; without --scores",
     "제거할 헤드. 예: 3.1,4.5. --scores 없이 씁니다"},
    {"remove this number or share of all heads", "제거할 헤드 수 또는 비율"},
    {"scores of this model, from headwise importance",
     "이 모델에 대해 headwise importance가 저장한 점수"},
    {"seed of --method random, and of the random directions used without "
     "labels (default 0)",
     "--method random의 시드이자, 레이블이 없을 때 쓰는 무작위 방향의 "
     "시드(기본값 0)"},
    {"seed of the random orders (default 0)", "무작위 순서의 시드(기본값 0)"},
    {"texts to measure accuracy on, one per line: label<TAB>text, or text "
     "alone",
     "정확도를 측정할 텍스트, 한 줄에 하나: 레이블<TAB>텍스트, 또는 텍스트만"},
    {"turn off this share of all heads, score the rest again, and repeat (0 to "
     "1, such as 0.1)",
     "전체 헤드 중 이 비율만큼 끄고 나머지의 점수를 다시 매기는 과정을 "
     "반복합니다(0~1, 예: 0.1)"},
    {"with --curve: number of random orders for comparison (default 0)",
     "--curve와 함께: 비교할 무작위 순서의 개수(기본값 0)"},
    {"write the pruned model to this folder; a model already there is replaced",
     "가지치기한 모델을 저장할 폴더. 이미 있는 모델은 바꿉니다"},
    {"write the scores as JSON", "점수를 JSON으로 저장합니다"},
    {"write to --out even if it holds other files (kept)",
     "--out에 다른 파일이 있어도 저장합니다. 다른 파일은 그대로 둡니다"},
});
static_assert(is_sorted(kTexts), "sort the rows by their English");

}  // namespace

std::span<const Translation> korean_prune() { return kTexts; }

}  // namespace headwise::cli
