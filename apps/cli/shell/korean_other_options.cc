// Korean of the options of models, files and benchmarks.
#include <array>

#include "translation_tables.h"

namespace headwise::cli {
namespace {

constexpr auto kTexts = std::to_array<Translation>({
    {"a .safetensors, a .safetensors.index.json, a .npz, a .npy, or a folder "
     "with one of a model or with NAME.npy files",
     ".safetensors, .safetensors.index.json, .npz, .npy, 또는 모델 파일이나 "
     "NAME.npy가 있는 폴더"},
    {"a .safetensors, a .safetensors.index.json, a .npz, or a folder with one "
     "of a model or with NAME.npy files",
     ".safetensors, .safetensors.index.json, .npz, 또는 모델 파일이나 "
     "NAME.npy가 있는 폴더"},
    {"a folder of BERT's family", "BERT 계열 모델 폴더"},
    {"a folder of BERT's family, pruned before or not",
     "BERT 계열 모델 폴더. 이미 가지치기한 모델도 됩니다"},
    {"a folder of BERT's family, to become a classifier",
     "분류기로 만들 BERT 계열 모델 폴더"},
    {"a linear classifier of the model's embeddings (default), or all "
     "parameters",
     "모델 임베딩 위의 선형 분류기만(기본값) 또는 모든 파라미터"},
    {"a model folder with a classifier, as headwise train --model writes it",
     "headwise train --model이 저장한, 분류기가 있는 모델 폴더"},
    {"add a heading, and a column for each label's probability",
     "제목 줄과 레이블마다의 확률 열을 더합니다"},
    {"as many go as cost no more than these points of accuracy on --data",
     "--data의 정확도가 이만큼(%p)까지만 떨어지도록 가장 많이 제거합니다"},
    {"before the names in OUT, one that the layout has, such as bert. or \"\" "
     "(default: as IN has it)",
     "OUT에서 이름 앞에 붙일, 그 형식에 있는 접두사. 예: bert. 또는 \"\" "
     "(기본값: IN과 같음)"},
    {"beside --curve: so many random orders to compare with",
     "--curve와 함께: 비교할 무작위 순서의 개수"},
    {"cpu or cuda, a Hopper GPU (default cpu)",
     "cpu 또는 cuda(Hopper GPU). 기본값 cpu"},
    {"cut longer texts (default, and at most: the model's)",
     "텍스트의 최대 토큰 수. 넘으면 자릅니다(기본값이자 최댓값: 모델의 값)"},
    {"default gradient; see below",
     "측정 방법(기본값 gradient). 아래 설명 참고"},
    {"draw the accuracy of every tenth of the heads instead",
     "모델 대신, 헤드를 10%씩 제거할 때의 정확도를 그립니다"},
    {"examples at a time (default 16)", "한 번에 처리할 예제 수(기본값 16)"},
    {"fit the output projections to the whole model on --data, by least "
     "squares",
     "--data에서 원래 모델의 출력에 맞도록 출력 투영을 최소제곱법으로 "
     "보정합니다"},
    {"go on from the checkpoint in this folder; gives the same bits as not "
     "having stopped",
     "이 폴더의 체크포인트에서 이어서 학습합니다. 결과 비트는 중단하지 않은 "
     "것과 같습니다"},
    {"heads of queries, where OUT's shapes need them and neither IN nor its "
     "config.json has them",
     "쿼리 헤드 수. OUT의 모양에 필요하지만 IN에도 config.json에도 없을 때 "
     "줍니다"},
    {"leave out the tensors of no attention layer",
     "어텐션 레이어가 아닌 텐서를 뺍니다"},
    {"leave the output bias as it is", "출력 바이어스를 바꾸지 않습니다"},
    {"list every tensor, those of numbered layers too",
     "번호가 붙은 레이어까지 모든 텐서를 나열합니다"},
    {"made where it is missing; of a task checkpoint.npz, params.npz, "
     "tokens.txt, curve.svg; of --model a model folder, with --train all "
     "checkpoint.npz",
     "결과 폴더. 없으면 만듭니다. 과제: checkpoint.npz, params.npz, "
     "tokens.txt, curve.svg. --model: 모델 폴더, --train all이면 "
     "checkpoint.npz도"},
    {"measure accuracy on these examples (default: on those of --data)",
     "정확도를 측정할 예제(기본값: --data의 예제)"},
    {"measure these of --list, or all",
     "측정할 워크로드(--list의 이름 또는 all)"},
    {"measurements (default 10)", "측정 횟수(기본값 10)"},
    {"number of lines to score on, spread over the file (default: all)",
     "점수를 잴 줄 수. 파일 전체에서 고르게 뽑습니다(기본값: 전부)"},
    {"of --device cuda: bfloat16 (default) or float16",
     "--device cuda의 자료형: bfloat16(기본값) 또는 float16"},
    {"of AdamW (default 0.003; of --train all 2e-05)",
     "AdamW의 학습률(기본값 0.003, --train all은 2e-05)"},
    {"of a text (default: the model's)",
     "텍스트의 최대 토큰 수(기본값: 모델의 값)"},
    {"of an example (default: the model's)",
     "예제의 최대 토큰 수(기본값: 모델의 값)"},
    {"of parameters, sequences and the order of examples (default 0)",
     "파라미터, 시퀀스, 예제 순서의 시드(기본값 0)"},
    {"of random orders (default 0)", "무작위 순서의 시드(기본값 0)"},
    {"of random, and of what stands for labels (default 0)",
     "random 방법과 레이블을 대신하는 방향의 시드(기본값 0)"},
    {"of training, those before --resume included (default 400)",
     "학습 스텝 수, --resume 이전 스텝 포함(기본값 400)"},
    {"one example a line: label, tab, text",
     "한 줄에 예제 하나: 레이블, 탭, 텍스트"},
    {"one example a line: label<TAB>text, or text alone",
     "한 줄에 예제 하나: 레이블<TAB>텍스트, 또는 텍스트만"},
    {"one object a line", "한 줄에 JSON 객체 하나를 출력합니다"},
    {"one sentence a line (default -: standard input)",
     "한 줄에 문장 하나(기본값 -: 표준 입력)"},
    {"one text a line (default -: standard input)",
     "한 줄에 텍스트 하나(기본값 -: 표준 입력)"},
    {"print JSON, one object a line", "한 줄에 하나씩 JSON으로 출력합니다"},
    {"print a line of JSON a sentence", "문장마다 JSON 한 줄을 출력합니다"},
    {"print one JSON object a line, with the probabilities of all labels",
     "한 줄에 JSON 객체 하나씩, 모든 레이블의 확률과 함께 출력합니다"},
    {"print the JSON, not a table", "표 대신 JSON을 출력합니다"},
    {"pruned (default): removed heads are gone, for headwise; full-size: they "
     "are zeros, so that transformers loads the folder, and nothing gets "
     "smaller or faster",
     "pruned(기본값): headwise용으로 헤드를 없앱니다. full-size: 0으로 남겨 "
     "transformers에서도 읽을 수 있지만 크기와 속도는 그대로입니다"},
    {"recall (default): which value has this key, by self-attention; reverse: "
     "the source from its end, by an encoder-decoder",
     "recall(기본값): 셀프 어텐션으로 키에 맞는 값 찾기. reverse: "
     "인코더-디코더로 소스를 거꾸로 출력하기"},
    {"so many heads go, or such a share", "제거할 헤드 수 또는 비율"},
    {"so many heads stay", "남길 헤드 수"},
    {"texts to measure with, one a line: label<TAB>text, or text alone",
     "측정에 쓸 텍스트, 한 줄에 하나: 레이블<TAB>텍스트, 또는 텍스트만"},
    {"the file to write, .safetensors or .npz by its ending",
     "저장할 파일. 확장자가 .safetensors 또는 .npz여야 합니다"},
    {"the folder of the pruned model", "가지치기한 모델을 저장할 폴더"},
    {"the number of that layer in OUT (default: as in IN)",
     "OUT에서 그 레이어의 번호(기본값: IN과 같음)"},
    {"the scores, as JSON", "점수를 JSON으로 저장합니다"},
    {"the scores, as a heat map", "점수를 히트맵으로 저장합니다"},
    {"the workloads and their sizes", "워크로드와 크기의 목록을 출력합니다"},
    {"this layer alone (default: all)", "이 레이어만(기본값: 전부)"},
    {"threads, at most the number of processors (default 1)",
     "스레드 수, 최대 프로세서 수까지(기본값 1)"},
    {"turn this share of all heads off, score the others anew, and so on "
     "(Michel et al.: 0.1)",
     "전체 헤드 중 이 비율만큼 끄고 나머지의 점수를 다시 재기를 "
     "되풀이합니다(Michel et al.: 0.1)"},
    {"what compares a query and a key: q.k (default), or w . tanh(q + k)",
     "쿼리와 키의 비교 방식: q.k(기본값) 또는 w . tanh(q + k)"},
    {"what headwise importance wrote about this model",
     "이 모델에 대해 headwise importance가 저장한 점수"},
    {"what is beyond is cut off a text (default: the model's)",
     "텍스트의 최대 토큰 수. 넘으면 자릅니다(기본값: 모델의 값)"},
    {"whose names and shapes FILE has, and why not where it has others: "
     "headwise, torch-mha, torch-mha-split, bert, distilbert, d2l, d2l-dense, "
     "keras, flax (default: the one that fits)",
     "FILE의 이름과 모양의 형식. 맞지 않으면 이유를 알려 줍니다: headwise, "
     "torch-mha, torch-mha-split, bert, distilbert, d2l, d2l-dense, keras, "
     "flax (기본값: 맞는 형식을 찾음)"},
    {"whose names and shapes IN has (default: the one that fits)",
     "IN의 이름과 모양의 형식(기본값: 맞는 형식을 찾음)"},
    {"whose names and shapes OUT has: headwise, torch-mha, torch-mha-split, "
     "bert, distilbert, d2l, d2l-dense, keras, flax",
     "OUT의 이름과 모양의 형식: headwise, torch-mha, torch-mha-split, bert, "
     "distilbert, d2l, d2l-dense, keras, flax"},
    {"with --train all: examples a step (default 16)",
     "--train all: 스텝마다 쓸 예제 수(기본값 16)"},
    {"with --train all: times that each example is taken, those before "
     "--resume included (default 3)",
     "--train all: 에포크 수, --resume 이전 에포크 포함(기본값 3)"},
    {"write the embeddings: (sentences, size)",
     "임베딩 (sentences, size)를 저장합니다"},
    {"write the lines to this file (default: print them)",
     "결과를 이 파일에 저장합니다(기본값: 출력)"},
    {"write to --out even if it holds an earlier result, which is replaced, or "
     "other files, which stay",
     "--out에 이전 결과가 있으면 바꾸고, 다른 파일이 있으면 그대로 둔 채 "
     "저장합니다"},
    {"write to --out even if it holds other files, which stay",
     "--out에 다른 파일이 있어도 그대로 둔 채 저장합니다"},
});
static_assert(is_sorted(kTexts));

}  // namespace

std::span<const Translation> korean_other_options() { return kTexts; }

}  // namespace headwise::cli
