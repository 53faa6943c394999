// Korean of the frame of help (commands, headings, footers) and of progress
// bars.
#include <array>

#include "translation_tables.h"

namespace headwise::cli {
namespace {

constexpr auto kTexts = std::to_array<Translation>({
    {"--data has no labels", "--data에 레이블이 없습니다"},
    {"A model and a text", "모델과 텍스트"},
    {"Axes: B sequences, Hq = H heads of queries, Hkv heads of keys and "
     "values, Lq\nqueries, Lkv keys (with --offsets those of the longest "
     "sequence), D size of a\nhead, Dv of a value's, E of a token's vector. "
     "Without B: one sequence.",
     "축: B 시퀀스, Hq = H 쿼리 헤드, Hkv 키와 밸류의 헤드, Lq 쿼리, "
     "Lkv\n키(--offsets를 쓰면 가장 긴 시퀀스 기준), D 헤드의 크기, Dv 밸류 "
     "헤드의 크기, E\n토큰 벡터의 크기. B가 없으면 시퀀스 하나입니다."},
    {"Built-in jobs (--example NAME):\n  self-attention   10 token sequences "
     "of 1 to 20 tokens, 8 heads\n  masked           5 token sequences, "
     "padding and causal masks, 2 heads\n  encoder-decoder  5 target sequences "
     "attend to 5 source sequences\n  single-head      vectors, 1 head, no "
     "batch, no output projection\n  unbatched        vectors, 8 heads, no "
     "batch\n  valid-lengths    vectors, 5 heads, keys beyond each length "
     "hidden",
     "내장 예제(--example NAME):\n  self-attention   토큰 1~20개짜리 시퀀스 "
     "10개, 헤드 8개\n  masked           토큰 시퀀스 5개, 패딩 마스크와 인과 "
     "마스크, 헤드 2개\n  encoder-decoder  타깃 시퀀스 5개가 소스 시퀀스 5개에 "
     "어텐션을 적용합니다\n  single-head      벡터, 헤드 1개, 배치 없음, 출력 "
     "투영 없음\n  unbatched        벡터, 헤드 8개, 배치 없음\n  valid-lengths "
     "   벡터, 헤드 5개, 유효 길이를 넘는 키는 가립니다"},
    {"Choice", "선택"},
    {"Display program version information and exit", "버전을 출력합니다"},
    {"Dropout", "드롭아웃"},
    {"Each line of FILE is one text. Each line of the result has the label, "
     "its\nprobability and the text, separated by tabs, in the order of FILE. "
     "Train DIR\nwith: headwise train --model MODEL --data examples.tsv --out "
     "DIR",
     "FILE은 한 줄에 텍스트 하나입니다. 결과의 각 줄은 레이블, 확률, 텍스트를 "
     "탭으로\n구분하며 FILE의 순서와 같습니다. DIR은 이렇게 "
     "학습합니다:\nheadwise train --model MODEL --data examples.tsv --out DIR"},
    {"Elements keep their type and are moved, never computed: there and back "
     "again is\nthe same bit for bit. Tensors that belong to no attention "
     "layer are carried over\nas they are, as is the metadata from "
     ".safetensors to .safetensors; of other\nlayers than that of --layer "
     "nothing is. OUT is replaced whole or not at all.",
     "원소는 형을 바꾸지 않고 옮기기만 하며 계산하지 않으므로, 변환했다가 "
     "되돌리면\n비트까지 같습니다. 어텐션 레이어가 아닌 텐서와, "
     ".safetensors에서 .safetensors로\n갈 때의 메타데이터는 그대로 옮깁니다. "
     "--layer를 주면 다른 레이어는 옮기지\n않습니다. OUT은 전부 바뀌거나 전혀 "
     "바뀌지 않습니다."},
    {"Examples", "예제"},
    {"FILE has one example a line: label<TAB>text, or text alone. With labels "
     "the loss\nis that of the model's classifier (headwise train --model), or "
     "of one trained on\nFILE; without, what matters is how far a sentence's "
     "embedding moves.\n  gradient    mean |d loss / d gate|, of length 1 a "
     "layer (Michel et al. 2019)\n  fisher      mean (d loss / d gate)^2 (Kwon "
     "et al. 2022)\n  ablation    the loss without the head less that with it: "
     "exact, slow\n  entropy     less the mean entropy of its attention "
     "weights\n  confidence  its mean largest attention weight (Voita et al. "
     "2019)\n  random      numbers that mean nothing, to compare with\nAn "
     "interrupted run is gone on with by the same command.",
     "FILE은 한 줄에 예제 하나입니다: 레이블<TAB>텍스트, 또는 텍스트만. "
     "레이블이\n있으면 모델의 분류기(headwise train --model)나 FILE로 학습한 "
     "분류기의 손실을\n쓰고, 없으면 문장 임베딩이 얼마나 움직이는지를 "
     "봅니다.\n  gradient    |d 손실 / d 게이트|의 평균, 레이어별 길이 "
     "1(Michel et al. 2019)\n  fisher      (d 손실 / d 게이트)^2의 평균(Kwon "
     "et al. 2022)\n  ablation    헤드를 뺐을 때의 손실에서 원래 손실을 뺀 값: "
     "정확하지만 느림\n  entropy     어텐션 가중치의 평균 엔트로피에 음의 "
     "부호를 붙인 값\n  confidence  가장 큰 어텐션 가중치의 평균(Voita et al. "
     "2019)\n  random      비교용 무작위 점수\n중단된 실행은 같은 명령을 다시 "
     "실행하면 이어집니다."},
    {"Gradients", "그래디언트"},
    {"Heads are removed in the order of their scores (headwise importance). "
     "Every\nheadwise command takes DIR as a model; transformers and other "
     "programs need\n--export full-size. The constant part of a removed head's "
     "output goes into the\noutput bias. Accuracy is that of the model's "
     "classifier (headwise train --model)\non --data; for texts without labels "
     "the report says how far the embeddings move.\nTo resume an interrupted "
     "--max-drop or --curve, run the same command again.",
     "점수(headwise importance)가 낮은 헤드부터 제거합니다. DIR은 모든 "
     "headwise 명령에\n쓸 수 있는 모델 폴더입니다. transformers 등 다른 "
     "프로그램에서 쓰려면\n--export full-size를 주세요. 제거한 헤드의 출력에서 "
     "상수 부분은 출력 바이어스에\n합칩니다. 정확도는 --data에서 모델의 "
     "분류기(headwise train --model)로 측정하며,\n레이블이 없는 텍스트로는 "
     "임베딩이 얼마나 움직이는지를 측정합니다. 중단된\n--max-drop과 --curve는 "
     "같은 명령을 다시 실행하면 이어집니다."},
    {"How many", "제거할 개수"},
    {"Input", "입력"},
    {"Layer", "레이어"},
    {"Layout", "레이아웃"},
    {"Masks (any of them together)", "마스크(함께 쓸 수 있음)"},
    {"Means over the queries that have a key; shares go from 0 to 1:\n  "
     "entropy    -sum w ln w, in nats: 0 for one key, ln n for n alike\n  "
     "distance   how many keys away, by attention weight\n  largest    the "
     "largest attention weight\n  first, previous, self, next, separator   the "
     "share of that key\nCross-attention has no distance, previous, self and "
     "next.",
     "볼 수 있는 키가 있는 쿼리에 대한 평균이며, 비율은 0에서 1 사이입니다.\n  "
     "entropy    -sum w ln w (nat): 키 하나에 집중하면 0, n개에 고르면 ln n\n  "
     "distance   어텐션 가중치로 평균한, 키까지의 거리(토큰 수)\n  largest    "
     "가장 큰 어텐션 가중치\n  first, previous, self, next, separator   그 "
     "키가 받는 비율\n크로스 어텐션에는 distance, previous, self, next가 "
     "없습니다."},
    {"Multi-head attention, every step and every head visible.",
     "모든 단계와 모든 헤드를 볼 수 있는 멀티 헤드 어텐션."},
    {"OPTIONS", "옵션"},
    {"On generated sequences", "생성한 시퀀스로 학습"},
    {"On your own sentences", "내 문장으로 학습"},
    {"Options", "옵션"},
    {"Output", "출력"},
    {"Positionals", "위치 인자"},
    {"Print this help message and exit", "이 도움말을 출력합니다"},
    {"REQUIRED", "필수"},
    {"SUBCOMMAND", "명령"},
    {"Scores", "점수"},
    {"Subcommands", "명령"},
    {"Tensors", "텐서"},
    {"Usage", "사용법"},
    {"after", "제거 후"},
    {"attention on your own tensors (.npy)",
     "내 텐서(.npy)로 어텐션을 계산합니다"},
    {"batches", "배치"},
    {"before", "제거 전"},
    {"classify", "분류"},
    {"config.json is no JSON object", "config.json이 JSON 객체가 아닙니다"},
    {"config.json says no num_attention_heads and no n_heads",
     "config.json에 num_attention_heads도 n_heads도 없습니다"},
    {"correct", "출력 보정"},
    {"default: list the commands", "도움말을 볼 명령(기본값: 명령 목록)"},
    {"embed", "임베딩"},
    {"encode", "인코딩"},
    {"examples", "예제"},
    {"find the labels of texts with a model",
     "모델로 텍스트의 레이블을 예측합니다"},
    {"heads", "헤드"},
    {"importance", "중요도"},
    {"language of help and messages (default: from LC_ALL, LC_MESSAGES or "
     "LANG)",
     "도움말과 메시지의 언어(기본값: LC_ALL, LC_MESSAGES, LANG에서 결정)"},
    {"layers", "레이어"},
    {"measure how much each head matters",
     "헤드마다 얼마나 중요한지 측정합니다"},
    {"padding", "패딩"},
    {"points", "점"},
    {"print every option", "모든 옵션을 출력합니다"},
    {"print the common options", "자주 쓰는 옵션을 출력합니다"},
    {"print the version", "버전을 출력합니다"},
    {"probe", "분류기 학습"},
    {"prune", "가지치기"},
    {"rounds", "회"},
    {"run multi-head attention step by step and show it",
     "멀티 헤드 어텐션을 한 단계씩 실행하며 보여 줍니다"},
    {"see every head: a page, pictures, JSON",
     "모든 헤드를 페이지, 그림, JSON으로 봅니다"},
    {"sentences", "문장"},
    {"sequences", "시퀀스"},
    {"show the help of a command", "명령의 도움말을 보여 줍니다"},
    {"standard input", "표준 입력"},
    {"steps", "스텝"},
    {"take the heads that matter least out of a model",
     "중요도가 낮은 헤드를 모델에서 제거합니다"},
    {"tensors, attention layers and heads of a file of parameters",
     "파라미터 파일의 텐서, 어텐션 레이어, 헤드를 보여 줍니다"},
    {"test", "평가"},
    {"texts", "텍스트"},
    {"the model has no classifier, which headwise train --model gives it",
     "모델에 분류기가 없습니다(headwise train --model로 만들 수 있습니다)"},
    {"the same with padding and causal masks",
     "패딩 마스크와 인과 마스크를 적용해서"},
    {"the speed of attention here", "이 컴퓨터에서 어텐션 속도를 측정합니다"},
    {"there is no --data", "--data가 없습니다"},
    {"there is no config.json next to it", "config.json이 없습니다"},
    {"timing", "시간 측정"},
    {"train", "학습"},
    {"train a small model, or a classifier out of yours",
     "작은 모델을, 또는 내 모델로 분류기를 학습합니다"},
    {"train a small model, see what it learns",
     "작은 모델을 학습하고 무엇을 배우는지 보기"},
    {"turn sentences into embeddings with a model",
     "모델로 문장을 임베딩으로 변환합니다"},
    {"version, compiler, instruction sets, threads",
     "버전, 컴파일러, 명령어 집합, 스레드 수를 출력합니다"},
    {"view", "페이지 작성"},
    {"watch a batch go through attention",
     "배치 하나가 어텐션을 거치는 과정 보기"},
    {"what each head does, in numbers",
     "헤드마다 하는 일을 숫자로 보여 줍니다"},
    {"write attention layers as another library has them",
     "어텐션 레이어를 다른 라이브러리의 형식으로 저장합니다"},
});
static_assert(is_sorted(kTexts));

}  // namespace

std::span<const Translation> korean_help() { return kTexts; }

}  // namespace headwise::cli
