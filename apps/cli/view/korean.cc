// Korean of the help of the commands in this room.
#include <array>

#include "shell/translation_tables.h"

namespace headwise::cli {
namespace {

constexpr auto kTexts = std::to_array<Translation>({
    {"(B): number of queries; the rest is padding and is left out",
     "(B): 쿼리의 개수. 그 뒤는 패딩이므로 뺍니다"},
    {"(B, Hkv, Lkv, D), like --query", "(B, Hkv, Lkv, D), --query와 같은 방식"},
    {"(B, Hq, Lq, D), or (Hq, Lq, D), or for several layers (N, B, Hq, Lq, D)",
     "(B, Hq, Lq, D), (Hq, Lq, D) 또는 여러 레이어의 (N, B, Hq, Lq, D)"},
    {"(B, Lkv): true or 1 = a separator, such as [SEP]",
     "(B, Lkv): true 또는 1 = [SEP] 같은 구분 토큰"},
    {"A model and a text", "모델과 텍스트"},
    {"An ONNX model and its inputs", "ONNX 모델과 그 입력"},
    {"Attention weights", "어텐션 가중치"},
    {"Attribution", "어트리뷰션"},
    {"Means over the queries that have a key; shares go from 0 to 1:\n  "
     "entropy    -sum w ln w, in nats: 0 for one key, ln n for n equal "
     "weights\n  distance   mean distance to the keys, in tokens\n  largest    "
     "the largest attention weight\n  first, previous, self, next, separator   "
     "the share of that key\nCross-attention has no distance, previous, self "
     "and next.\n--attribution adds a number for each head or each "
     "token.\nWith --texts each text counts once, and each "
     "mean "
     "has a 95% "
     "confidence interval.\nWith "
     "--corpus the means are over the tokens of all sentences. "
     "Under mpirun the\nprocesses divide the sentences; the numbers are the "
     "same. To resume an\ninterrupted run with --out, run the same command "
     "again.\nWith --against: means over texts of --model minus --against, and "
     "how similar\nthe attention maps are, from 0 to 1 for equal maps, with "
     "their 95% confidence\ninterval; * = the 95% confidence "
     "interval excludes 0.",
     "볼 수 있는 키가 있는 쿼리에 대한 평균이며, 비율은 0에서 1 사이입니다.\n  "
     "entropy    -sum w ln w (nat): 키 하나에 집중하면 0, n개에 고르면 ln n\n  "
     "distance   어텐션 가중치로 평균한, 키까지의 거리(토큰 수)\n  largest    "
     "가장 큰 어텐션 가중치\n  first, previous, self, next, separator   그 "
     "키가 받는 비율\n크로스 어텐션에는 distance, previous, self, next가 "
     "없습니다.\n--attribution을 주면 헤드마다 또는 텍스트의 토큰마다 그 "
     "척도의 "
     "값도 보여 줍니다.\n--texts를 주면 텍스트마다 한 번씩 세어 평균하고 95% "
     "신뢰 "
     "구간을 붙입니다.\n--corpus를 주면 모든 문장의 토큰에 대한 평균입니다. "
     "mpirun으로 실행하면\n프로세스들이 문장을 나누며, 숫자는 같습니다. "
     "--out을 준 실행이 중단되면\n같은 명령을 다시 실행해 이어 "
     "갑니다.\n--against를 주면 텍스트에 대한 --model − --against의 평균과, "
     "어텐션 맵의\n유사도(0에서 1 사이, 같으면 1)를 95% 신뢰 구간과 함께 보여 "
     "줍니다.\n* = 차이의 신뢰 구간에 0이 들어 있지 않습니다."},
    {"ONNX model; each attention node is shown as a layer",
     "ONNX 모델. 어텐션 노드 하나를 레이어 하나로 보여 줍니다"},
    {"Two models", "두 모델"},
    {"a model folder, BERT-family or causal: config.json, vocab.txt, "
     "model.safetensors",
     "BERT 계열 또는 인과적 언어 모델의 폴더(config.json, vocab.txt, "
     "model.safetensors)"},
    {"also print a measure of heads or tokens: norms, gradient, integrated, "
     "integrated-by-layer, rollout or flow",
     "헤드나 토큰의 척도도 보여 줍니다: norms, gradient, integrated, "
     "integrated-by-layer, rollout, flow"},
    {"also show these on the page: gradient, integrated, integrated-by-layer, "
     "rollout, flow, such as gradient,rollout",
     "페이지에서 다음 척도도 보여 줍니다: gradient, integrated, "
     "integrated-by-layer, rollout, flow (예: gradient,rollout)"},
    {"compare --model with this model",
     "비교할 모델 폴더. 두 모델의 헤드 차이를 보여 줍니다"},
    {"computed by any program: .npy (B, H, Lq, Lkv), (H, Lq, Lkv) or (N, B, H, "
     "Lq, Lkv); .npz or .safetensors with an entry per layer, its number in "
     "the name",
     "다른 프로그램이 계산한 가중치: .npy (B, H, Lq, Lkv), (H, Lq, Lkv), (N, "
     "B, H, Lq, Lkv), 또는 이름에 레이어 번호가 있는 항목이 레이어마다 하나씩 "
     "든 .npz, .safetensors"},
    {"in place of TEXT, two sentences that the model reads as a pair: token "
     "type 0 and 1",
     "TEXT 대신, 모델이 한 쌍으로 읽는 두 문장: 토큰 타입 0과 1"},
    {"leave the components of queries and keys out of the page",
     "쿼리와 키의 성분을 페이지에서 뺍니다"},
    {"maximum tokens per text; longer texts are cut (default: the limit set in "
     "the "
     "model folder; at most: the model's positions)",
     "텍스트의 최대 토큰 수. 넘으면 자릅니다(기본값: 모델 폴더의 설정, 최대: "
     "모델의 위치 임베딩 수)"},
    {"one sentence per line: the means over all of them",
     "한 줄에 문장 하나: 모든 문장에 대한 평균"},
    {"one text per line, all in one page; -: standard input",
     "한 줄에 텍스트 하나씩, 모두 한 페이지에. -: 표준 입력"},
    {"one text per line, in place of TEXT: means over the texts with 95% "
     "confidence intervals",
     "한 줄에 텍스트 하나, TEXT 대신 씁니다. 텍스트에 대한 평균과 95% 신뢰 "
     "구간을 냅니다"},
    {"one token per line, one for each query (default: their numbers)",
     "한 줄에 토큰 하나, 쿼리와 같은 개수(기본값: 번호)"},
    {"only these layers, such as 0,2-4 (default: all)",
     "이 레이어만. 예: 0,2-4 (기본값: 전부)"},
    {"only this head, such as 0.3", "헤드 하나만. 예: 0.3"},
    {"only this node, by its name or its number (default: all)",
     "이 노드만. 이름이나 번호로 고릅니다(기본값: 전부)"},
    {"open the page in the browser (without --out: a temporary file)",
     "페이지를 브라우저에서 엽니다. --out이 없으면 임시 파일에 저장합니다"},
    {"pair heads one to one by the similarity of their maps (default: by layer "
     "and number)",
     "어텐션 맵이 유사한 헤드끼리 일대일로 대응시킵니다(기본값: 레이어와 "
     "번호가 같은 헤드)"},
    {"position of the token that rollout and flow go back from (default: 0; in "
     "a causal model the last), or after which a causal model predicts the "
     "token of --target (default: the last)",
     "롤아웃과 플로를 거슬러 올라갈 출력 토큰의 위치(기본값: 0, 인과 "
     "모델에서는 마지막). 인과적 언어 모델의 그래디언트에서는 --target의 "
     "토큰이 바로 "
     "뒤에 올 토큰의 위치(기본값: 마지막)"},
    {"print comma-separated values", "쉼표로 구분한 값(CSV)을 출력합니다"},
    {"print the statistics of each head; with --head also its attention "
     "weights",
     "헤드별 통계를 출력합니다. --head를 주면 그 헤드의 어텐션 가중치도 "
     "출력합니다"},
    {"print what each head does, in numbers",
     "헤드마다 하는 일을 숫자로 보여 줍니다"},
    {"put the components of queries and keys into the page, even if that makes "
     "it larger",
     "페이지가 커지더라도 쿼리와 키의 성분을 넣습니다"},
    {"sequence of the batch (default 0)", "배치에서 사용할 시퀀스(기본값 0)"},
    {"show each text also without these heads, such as 3.1,4.5",
     "각 텍스트를 이 헤드들을 뺐을 때와 함께 보여 줍니다(예: 3.1,4.5)"},
    {"show every head as a page, a picture or JSON",
     "모든 헤드를 페이지, 그림, JSON으로 보여 줍니다"},
    {"sort by this statistic, largest first; by norm, gradient, integrated or "
     "integrated-by-layer with that --attribution",
     "이 통계가 큰 순서로 정렬합니다. 해당 --attribution을 주면 norm, "
     "gradient, integrated, integrated-by-layer로도 정렬합니다"},
    {"sort the heads of the picture by this statistic, largest first: entropy, "
     "distance, largest, first, previous, self, next or separator",
     "그림의 헤드를 이 통계가 큰 순서로 정렬합니다: entropy, distance, "
     "largest, first, previous, self, next, separator"},
    {"take gradients of the logit of this label, or of this next token in a "
     "causal model (default: the predicted one)",
     "이 레이블의 로짓으로, 인과적 언어 모델에서는 다음에 올 이 토큰의 "
     "로짓으로 "
     "그래디언트를 구합니다(기본값: 예측한 레이블이나 토큰)"},
    {"the keys belong to another sequence; their positions are not compared",
     "키가 다른 시퀀스에 속하므로 위치를 비교하지 않습니다"},
    {"the same for the keys (default if there are as many keys as queries: "
     "--query-tokens)",
     "키의 토큰(개수가 쿼리와 같을 때의 기본값: --query-tokens)"},
    {"title of the page and the picture", "페이지와 그림의 제목"},
    {"what the model reads; -: standard input",
     "모델이 읽을 텍스트. -: 표준 입력"},
    {"write a picture of all heads, or of --head",
     "모든 헤드 또는 --head의 그림을 저장합니다"},
    {"write the page: one file that opens in any browser, without a network",
     "페이지를 저장합니다: 네트워크 없이 모든 브라우저에서 열리는 파일 하나"},
    {"write the same picture as PNG", "같은 그림을 PNG로 저장합니다"},
});
static_assert(is_sorted(kTexts), "sort the rows by their English");

}  // namespace

std::span<const Translation> korean_view() { return kTexts; }

}  // namespace headwise::cli
