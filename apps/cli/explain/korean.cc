// Korean of the help of the command in this room.
#include <array>

#include "shell/translation_tables.h"

namespace headwise::cli {
namespace {

constexpr auto kTexts = std::to_array<Translation>({
    {"Built-in examples (--example NAME):\n  self-attention   10 token "
     "sequences of 1 to 20 tokens, 8 heads\n  masked           5 token "
     "sequences, padding and causal masks, 2 heads\n  encoder-decoder  5 "
     "target sequences attend to 5 source sequences\n  single-head      "
     "vectors, 1 head, no batch, no output projection\n  unbatched        "
     "vectors, 8 heads, no batch\n  valid-lengths    vectors, 5 heads, keys "
     "beyond each length masked",
     "내장 예제(--example NAME):\n  self-attention   토큰 1~20개짜리 시퀀스 "
     "10개, 헤드 8개\n  masked           토큰 시퀀스 5개, 패딩 마스크와 인과 "
     "마스크, 헤드 2개\n  encoder-decoder  타깃 시퀀스 5개가 소스 시퀀스 5개를 "
     "봅니다(크로스 어텐션)\n  single-head      벡터, 헤드 1개, 배치 없음, "
     "출력 투영 없음\n  unbatched        벡터, 헤드 8개, 배치 없음\n  "
     "valid-lengths    벡터, 헤드 5개, 유효 길이를 넘는 키는 마스킹합니다"},
    {"Input", "입력"},
    {"a BERT-family model folder (config.json, vocab.txt, model.safetensors); "
     "--layer selects the layer",
     "BERT 계열 모델 폴더(config.json, vocab.txt, model.safetensors). 레이어는 "
     "--layer로 고릅니다"},
    {"a built-in example, listed below (default: the first)",
     "내장 예제. 아래 목록 참고(기본값: 첫 번째 예제)"},
    {"draw every head of one sequence as a heat map",
     "시퀀스 하나의 모든 헤드를 히트맵으로 그립니다"},
    {"layer of --params or --model (default 0)",
     "--params나 --model의 레이어(기본값 0)"},
    {"number of heads (default 8, or as in --params)",
     "헤드 수(기본값 8, --params를 주면 파일의 값)"},
    {"padding id (default 0)", "패딩의 id(기본값 0)"},
    {"print all shapes, without computing", "계산하지 않고 모양만 출력합니다"},
    {"print one whole step or parameter (w_q.weight)",
     "단계나 파라미터(w_q.weight) 하나를 모두 출력합니다"},
    {"read the parameters from a folder of .npy files, a .npz or a "
     ".safetensors: w_q.weight, w_q.bias, the same for w_k, w_v and w_o, "
     "w_score.weight for additive scoring, q_norm.weight and k_norm.weight for "
     "--qk-norm, and embedding.weight",
     "파라미터 파일: w_q.weight, w_q.bias와 w_k, w_v, w_o의 같은 이름, 가산 "
     "점수의 w_score.weight, --qk-norm의 q_norm.weight와 k_norm.weight, "
     "embedding.weight. .npy 폴더, .npz 또는 .safetensors"},
    {"rows of the embedding (default 100)", "임베딩의 행 수(기본값 100)"},
    {"run multi-head attention and show every step",
     "멀티 헤드 어텐션을 실행하며 모든 단계를 보여 줍니다"},
    {"seed of the random parameters (default 0)",
     "무작위로 만드는 파라미터의 시드(기본값 0)"},
    {"sequence of --picture and --decode (default 0)",
     "--picture와 --decode에 쓸 시퀀스(기본값 0)"},
    {"show the step that decodes the last token of one sequence (--sequence): "
     "its key and value are appended to a cache of the tokens before",
     "시퀀스 하나(--sequence)의 마지막 토큰을 디코딩하는 스텝을 보여 줍니다. "
     "새 토큰의 키와 밸류를 이전 토큰들의 캐시에 덧붙입니다"},
    {"size of a token's vector (default 512)", "토큰 벡터의 크기(기본값 512)"},
    {"the mask to apply (default none)", "적용할 마스크(기본값 none)"},
    {"the sentence for --model", "--model에 입력할 문장"},
    {"token ids of the queries; --tokens then gives the keys and values",
     "쿼리의 토큰 id. 이때 --tokens는 키와 밸류가 됩니다"},
    {"token ids: JSON [[62, 13], [60]], or one sequence per line",
     "토큰 id: JSON [[62, 13], [60]] 또는 한 줄에 시퀀스 하나"},
    {"vectors that become keys (default: --query)",
     "키가 될 벡터(기본값: --query와 같음)"},
    {"vectors that become values (default: --key)",
     "밸류가 될 벡터(기본값: --key와 같음)"},
    {"vectors, not token ids: (B, L, E) or (L, E)",
     "토큰 id 대신 벡터: (B, L, E) 또는 (L, E)"},
    {"which tokens are padding: those beyond the length (default), or any with "
     "the padding id",
     "패딩의 기준: 길이를 넘는 위치(기본값) 또는 패딩 id"},
    {"write the output, or the tensor of --step",
     "출력 또는 --step의 텐서를 저장합니다"},
});
static_assert(is_sorted(kTexts), "sort the rows by their English");

}  // namespace

std::span<const Translation> korean_explain() { return kTexts; }

}  // namespace headwise::cli
