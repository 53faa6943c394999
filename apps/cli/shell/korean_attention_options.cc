// Korean of the options of attention.
#include <array>

#include "translation_tables.h"

namespace headwise::cli {
namespace {

constexpr auto kTexts = std::to_array<Translation>({
    {"(B + 1): a ragged batch, (rows, H, D); sequence b has the rows from "
     "offsets[b] to offsets[b + 1]",
     "(B + 1): 길이가 다른 시퀀스를 이어 붙인 배치 (rows, H, D). 시퀀스 b는 "
     "offsets[b]부터 offsets[b + 1] 앞까지의 행입니다"},
    {"(B + 1): those of the queries, where they are cut otherwise than the "
     "keys",
     "(B + 1): 쿼리의 경계. 키와 다를 때 줍니다"},
    {"(B) or (B, Lq): how many keys are seen, the first ones",
     "(B) 또는 (B, Lq): 앞에서부터 볼 수 있는 키의 개수"},
    {"(B): dropout follows a sequence's id, not its place in the batch",
     "(B): 드롭아웃이 배치 안의 위치가 아니라 시퀀스 id를 따릅니다"},
    {"(B): queries from there on are padding, and left out",
     "(B): 이 위치부터의 쿼리는 패딩으로 보고 뺍니다"},
    {"(B): the first key that is seen, for sequences padded on the left",
     "(B): 볼 수 있는 첫 키. 왼쪽에 패딩이 있는 시퀀스용"},
    {"(B, H, Lq, Lkv): the attention weights to keep instead of drawing them; "
     "they grow by 1/(1-P)",
     "(B, H, Lq, Lkv): 무작위 대신 유지할 어텐션 가중치. 1/(1-P)배로 커집니다"},
    {"(B, Hkv, Lkv, D)", "(B, Hkv, Lkv, D)"},
    {"(B, Hkv, Lkv, D), likewise", "(B, Hkv, Lkv, D), --query와 같은 방식"},
    {"(B, Hkv, Lkv, Dv)", "(B, Hkv, Lkv, Dv)"},
    {"(B, Hq, Lq, D), or (Hq, Lq, D)", "(B, Hq, Lq, D) 또는 (Hq, Lq, D)"},
    {"(B, Hq, Lq, D), or (Hq, Lq, D), or of several layers (N, B, Hq, Lq, D)",
     "(B, Hq, Lq, D), (Hq, Lq, D) 또는 여러 레이어의 (N, B, Hq, Lq, D)"},
    {"(B, Lkv): ids that do not decrease; a query sees the keys of its own "
     "document",
     "(B, Lkv): 줄어들지 않는 문서 id. 쿼리는 같은 문서의 키만 봅니다"},
    {"(B, Lkv): true or 1 = a separator, such as [SEP]",
     "(B, Lkv): true 또는 1 = [SEP] 같은 구분 토큰"},
    {"(B, Lkv): true or 1 = may attend, 0 = padding",
     "(B, Lkv): true 또는 1 = 어텐션 가능, 0 = 패딩"},
    {"(B, Lq): the queries' ids (default: those of --documents)",
     "(B, Lq): 쿼리의 문서 id(기본값: --documents와 같음)"},
    {"(H): scores lose slope * distance; auto: the usual slopes",
     "(H): 점수에서 기울기 * 거리를 뺍니다. auto: 표준 기울기"},
    {"(H, D): w of --scoring additive, D being the size of the hidden layer",
     "(H, D): --scoring additive의 w. D는 은닉층의 크기입니다"},
    {"a built-in job, listed below (default: the first)",
     "내장 예제. 아래 목록 참고(기본값: 첫째)"},
    {"a folder of BERT's family: config.json, vocab.txt, model.safetensors",
     "BERT 계열 모델 폴더(config.json, vocab.txt, model.safetensors)"},
    {"a folder of BERT's family: config.json, vocab.txt, model.safetensors; "
     "shows its layer --layer",
     "BERT 계열 모델 폴더(config.json, vocab.txt, model.safetensors). 그중 "
     "--layer 레이어를 보여 줍니다"},
    {"a picture of all heads, or of --head", "모든 헤드 또는 --head의 그림"},
    {"cut longer texts, at most at the model's positions (default: the limit "
     "that its folder sets)",
     "텍스트의 최대 토큰 수. 넘으면 자릅니다(기본값: 모델 폴더의 설정, 최대: "
     "모델의 위치 수)"},
    {"dense: true or 1 = may attend, 0 = masked",
     "전체 마스크: true 또는 1 = 어텐션 가능, 0 = 마스킹"},
    {"draw every head of one sequence as heat maps",
     "시퀀스 하나의 모든 헤드를 히트맵으로 그립니다"},
    {"drop attention weights with probability P",
     "어텐션 가중치를 확률 P로 드롭합니다"},
    {"factor on q.k (default 1/sqrt(D))",
     "q.k에 곱할 스케일(기본값 1/sqrt(D))"},
    {"floats added to the scores; -inf masks",
     "점수에 더할 실수. -inf면 마스킹"},
    {"heads (default 8; of --params: what the file says)",
     "헤드 수(기본값 8, --params를 주면 파일의 값)"},
    {"heads of keys and values (default: --num-heads)",
     "키와 밸류의 헤드 수(기본값: --num-heads)"},
    {"heads of the layer", "레이어의 헤드 수"},
    {"id of padding (default 0)", "패딩의 id(기본값 0)"},
    {"leave the components of query and key out of the page",
     "쿼리와 키의 성분을 페이지에서 뺍니다"},
    {"likewise of the keys (default for as many keys as queries: "
     "--query-tokens)",
     "키의 토큰(개수가 쿼리와 같을 때의 기본값: --query-tokens)"},
    {"of page and picture", "페이지와 그림의 제목"},
    {"of parameters drawn at random (default 0)",
     "무작위로 만드는 파라미터의 시드(기본값 0)"},
    {"one head alone, such as 0.3", "헤드 하나만. 예: 0.3"},
    {"one token a line, as many as queries (default: their numbers)",
     "한 줄에 토큰 하나, 쿼리와 같은 개수(기본값: 번호)"},
    {"open the page in the browser; without --out it is a temporary file",
     "페이지를 브라우저에서 엽니다. --out이 없으면 임시 파일에 저장합니다"},
    {"per-head (default), their mean (B, Lq, Lkv), or as they are after "
     "dropout",
     "헤드별(기본값), 헤드의 평균 (B, Lq, Lkv) 또는 드롭아웃을 적용한 값"},
    {"print JSON", "JSON으로 출력합니다"},
    {"print comma separated values", "쉼표로 구분한 값(CSV)을 출력합니다"},
    {"print each head's numbers; of --head its attention weights",
     "헤드마다의 숫자를 출력합니다. --head를 주면 그 어텐션 가중치도 "
     "출력합니다"},
    {"print every shape and compute nothing",
     "계산하지 않고 모양만 출력합니다"},
    {"print one step's whole tensor", "한 단계의 텐서 전체를 출력합니다"},
    {"query i sees LEFT keys before i + query start and RIGHT after it; inf: "
     "all there are",
     "쿼리 i는 i + query start의 앞 LEFT개와 뒤 RIGHT개 키를 봅니다. inf: "
     "전부"},
    {"query i sees the keys up to i + query start",
     "쿼리 i는 키 i + query start까지만 봅니다"},
    {"read the parameters: w_q.weight, w_q.bias, the same of w_k, w_v, w_o, "
     "w_score.weight of additive scoring, and embedding.weight, in a folder of "
     ".npy, a .npz or a .safetensors",
     "파라미터 파일: w_q.weight, w_q.bias와 w_k, w_v, w_o의 같은 이름, 가산 "
     "점수의 w_score.weight, embedding.weight. .npy 폴더, .npz 또는 "
     ".safetensors"},
    {"rows of the embedding (default 100)", "임베딩의 행 수(기본값 100)"},
    {"run the layer: w_q.weight, w_q.bias, the same of w_k, w_v, w_o, "
     "w_score.weight of additive scoring, in a folder of .npy, a .npz or a "
     ".safetensors; query, key and value are then (B, L, E)",
     "레이어를 실행합니다: w_q.weight, w_q.bias와 w_k, w_v, w_o의 같은 이름, "
     "가산 점수의 w_score.weight. .npy 폴더, .npz 또는 .safetensors. 이때 "
     "쿼리, 키, 밸류는 (B, L, E)입니다"},
    {"scores become X * tanh(score / X), before any bias",
     "바이어스를 더하기 전에 점수를 X * tanh(점수 / X)로 바꿉니다"},
    {"size of a token's vector (default 512)", "토큰 벡터의 크기(기본값 512)"},
    {"that by the attention weights, as --attn-weights would write them",
     "어텐션 가중치에 대한 그래디언트. --attn-weights가 저장하는 모양입니다"},
    {"the axes of --bias, such as H,Lq,Lkv or B,1,Lkv (default: B,H,Lq,Lkv)",
     "--bias의 축. 예: H,Lq,Lkv 또는 B,1,Lkv (기본값: B,H,Lq,Lkv)"},
    {"the axes of --mask, such as B,1,Lkv or Lq,Lkv (default: B,H,Lq,Lkv)",
     "--mask의 축. 예: B,1,Lkv 또는 Lq,Lkv (기본값: B,H,Lq,Lkv)"},
    {"the axes of the files: bhld (default), or blhd (default with --offsets)",
     "파일의 축 순서: bhld(기본값) 또는 blhd(--offsets를 쓸 때의 기본값)"},
    {"the gradient of a loss by the output, of its shape",
     "출력에 대한 손실의 그래디언트. 출력과 모양이 같습니다"},
    {"the largest of this number first", "이 값이 큰 순서로 정렬합니다"},
    {"the page: one file, opened from disk in any browser",
     "페이지: 브라우저로 바로 열 수 있는 파일 하나"},
    {"the picture's heads by this number, the largest first",
     "그림의 헤드를 이 값이 큰 순서로 정렬합니다"},
    {"the same in pixels", "같은 그림을 픽셀로"},
    {"the same of the queries; --tokens are then the keys and values",
     "쿼리의 토큰 id. 이때 --tokens는 키와 밸류가 됩니다"},
    {"the sequence that --heads draws (default 0)",
     "--heads로 그릴 시퀀스(기본값 0)"},
    {"these layers alone, such as 0,2-4 (default: all)",
     "이 레이어만. 예: 0,2-4 (기본값: 전부)"},
    {"threads to use (default: all)", "사용할 스레드 수(기본값: 전부)"},
    {"token ids: JSON [[62, 13], [60]], or one sequence a line",
     "토큰 id: JSON [[62, 13], [60]] 또는 한 줄에 시퀀스 하나"},
    {"what a layer of --model attends to", "--model의 레이어로 살펴볼 문장"},
    {"what a query gives that sees no key (default zero)",
     "볼 수 있는 키가 없는 쿼리의 결과(기본값 zero)"},
    {"what compares a query and a key: q.k, or w . tanh(q + k) (default dot, "
     "or what the parameters are for)",
     "쿼리와 키의 비교 방식: q.k 또는 w . tanh(q + k) (기본값: dot 또는 "
     "파라미터에 맞는 방식)"},
    {"what is padding: beyond the length (default), or any pad id",
     "패딩의 기준: 길이를 넘는 위치(기본값) 또는 패딩 id"},
    {"what the model reads; -: standard input",
     "모델이 읽을 텍스트. -: 표준 입력"},
    {"where query 0 stands among the keys (default 0); bottom-right: the last "
     "query at the last key; F.npy: (B), one number a sequence",
     "키를 기준으로 한 쿼리 0의 위치(기본값 0). bottom-right: 마지막 쿼리를 "
     "마지막 키에 맞춤. F.npy: (B), 시퀀스마다 하나"},
    {"which are dropped (default 0)", "드롭아웃의 시드(기본값 0)"},
    {"which layer of --params, a file of several (default 0)",
     "레이어가 여럿인 --params에서 쓸 레이어(기본값 0)"},
    {"which layer of --params, a file of several, or of --model (default 0)",
     "레이어가 여럿인 --params나 --model에서 쓸 레이어(기본값 0)"},
    {"which of the batch (default 0)", "배치에서 볼 시퀀스(기본값 0)"},
    {"who may attend to whom (default none)", "마스크의 종류(기본값 none)"},
    {"whose names and shapes --params has: headwise, torch-mha, "
     "torch-mha-split, bert, distilbert, d2l, d2l-dense, keras, flax (default: "
     "the one that fits)",
     "--params의 이름과 모양의 형식: headwise, torch-mha, torch-mha-split, "
     "bert, distilbert, d2l, d2l-dense, keras, flax (기본값: 맞는 형식을 "
     "찾음)"},
    {"write d_query.npy, d_key.npy, d_value.npy, d_bias.npy, d_alibi.npy and "
     "those of the parameters, such as d_w_q.weight.npy, into this folder",
     "d_query.npy, d_key.npy, d_value.npy, d_bias.npy, d_alibi.npy와 "
     "d_w_q.weight.npy 같은 파라미터의 그래디언트를 이 폴더에 저장합니다"},
    {"write the attention weights (B, H, Lq, Lkv)",
     "어텐션 가중치 (B, H, Lq, Lkv)를 저장합니다"},
    {"write the log-sum-exp of the scores (B, H, Lq), natural log",
     "점수의 log-sum-exp (B, H, Lq)를 자연로그로 저장합니다"},
    {"write the output, in the layout of the query",
     "출력을 쿼리와 같은 축 순서로 저장합니다"},
    {"write the output, or the tensor of --step",
     "출력 또는 --step의 텐서를 저장합니다"},
    {"write which attention weights --dropout kept (B, H, Lq, Lkv), true = "
     "kept, as --keep-mask reads it",
     "--dropout이 유지한 어텐션 가중치 (B, H, Lq, Lkv)를 저장합니다(true = "
     "유지). --keep-mask로 다시 읽을 수 있습니다"},
});
static_assert(is_sorted(kTexts));

}  // namespace

std::span<const Translation> korean_attention_options() { return kTexts; }

}  // namespace headwise::cli
