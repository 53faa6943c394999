// Korean of the help of the command in this room.
#include <array>

#include "shell/translation_tables.h"

namespace headwise::cli {
namespace {

constexpr auto kTrainTexts = std::to_array<Translation>({
    {"On generated sequences", "생성한 시퀀스로 학습"},
    {"On your own sentences", "내 문장으로 학습"},
    {"Under mpirun the processes divide the texts and the parameters of "
     "--model; the\nfiles are the same. Each needs the model and the data; "
     "rank 0 writes --out.",
     "mpirun으로 실행하면 프로세스들이 --model의 텍스트와 파라미터를 나눠 "
     "맡습니다.\n결과 파일은 같습니다. 모든 프로세스에 모델과 데이터가 "
     "있어야 하며,\n--out은 랭크 0이 씁니다."},
    {"how queries and keys are compared: q.k (default), or w . tanh(q + k)",
     "쿼리와 키의 비교 방식: q.k(기본값) 또는 w . tanh(q + k)"},
    {"learning rate of AdamW (default 0.003; with --train all 2e-05)",
     "AdamW의 학습률(기본값 0.003, --train all은 2e-05)"},
    {"maximum tokens per text; longer texts are cut (default: the model's "
     "limit)",
     "텍스트의 최대 토큰 수. 넘으면 자릅니다(기본값: 모델의 최대 토큰 수)"},
    {"measure accuracy on these examples (default: --data)",
     "정확도를 측정할 예제(기본값: --data의 예제)"},
    {"number of training steps, including those before --resume (default 400; "
     "induction 1200)",
     "학습 스텝 수, --resume 이전 스텝 포함(기본값 400, induction 1200)"},
    {"one example per line: label, tab, text",
     "한 줄에 예제 하나: 레이블, 탭, 텍스트"},
    {"output folder, created if missing. A task writes checkpoint.npz, "
     "params.npz, tokens.txt and curve.svg, induction instead a model folder "
     "and texts.txt; --model writes a model folder, with --train all also "
     "checkpoint.npz",
     "결과 폴더. 없으면 만듭니다. 과제: checkpoint.npz, params.npz, "
     "tokens.txt, curve.svg. induction: 모델 폴더와 texts.txt. --model: 모델 "
     "폴더, --train all이면 checkpoint.npz도"},
    {"print JSON, one object per line", "한 줄에 하나씩 JSON으로 출력합니다"},
    {"recall (default): find the value of a key with self-attention; reverse: "
     "reverse a sequence with an encoder-decoder; induction: continue words "
     "that come twice with a causal model of two layers",
     "recall(기본값): 셀프 어텐션으로 키에 맞는 값 찾기. reverse: "
     "인코더-디코더로 시퀀스를 거꾸로 출력하기. induction: 2레이어 디코더로 "
     "반복된 단어 예측하기"},
    {"resume from the checkpoint in this folder; the result has the same bits "
     "as an uninterrupted run",
     "이 폴더의 체크포인트에서 이어서 학습합니다. 결과는 중단 없이 학습했을 "
     "때와 비트 단위까지 같습니다"},
    {"seed of the parameters, the sequences and the order of examples (default "
     "0)",
     "파라미터, 시퀀스, 예제 순서의 시드(기본값 0)"},
    {"the BERT-family model folder to start from",
     "시작할 BERT 계열 모델 폴더"},
    {"train a small model, or turn your own into a classifier",
     "작은 모델을 학습하거나, 내 모델을 분류기로 만듭니다"},
    {"train only a linear classifier on the embeddings (default), or all "
     "parameters",
     "임베딩 위의 선형 분류기만(기본값) 또는 모든 파라미터를 학습합니다"},
    {"with --train all: examples per step (default 16)",
     "--train all: 스텝마다 쓸 예제 수(기본값 16)"},
    {"with --train all: number of epochs, including those before --resume "
     "(default 3)",
     "--train all: 에포크 수, --resume 이전 에포크 포함(기본값 3)"},
    {"write to --out even if it holds an earlier result (replaced) or other "
     "files (kept)",
     "--out에 이전 결과나 다른 파일이 있어도 저장합니다. 이전 결과는 바꾸고 "
     "다른 파일은 그대로 둡니다"},
});
static_assert(is_sorted(kTrainTexts), "sort the rows by their English");

}  // namespace

std::span<const Translation> korean_train() { return kTrainTexts; }

}  // namespace headwise::cli
