// Korean of the help of the commands in this room.
#include <array>

#include "shell/translation_tables.h"

namespace headwise::cli {
namespace {

constexpr auto kTexts = std::to_array<Translation>({
    {"Elements keep their type and are moved, never computed: converting back "
     "is\nbit-identical. Tensors outside attention layers are copied "
     "unchanged, and so is\nthe metadata from .safetensors to .safetensors. "
     "With --layer, other layers are\nleft out. OUT is replaced as a whole or "
     "not at all.\n\n--to onnx writes one layer as a model of opset 23. "
     "Inputs: query (B, L, E); also\nkey and value with --cross-attention or "
     "if their sizes differ. Output: output.",
     "원소의 자료형과 값은 바꾸지 않고 배치만 바꾸므로, 변환했다가 "
     "되돌리면\n비트 단위로 동일합니다. 어텐션 레이어가 아닌 텐서와, "
     ".safetensors에서\n.safetensors로 갈 때의 메타데이터는 그대로 옮깁니다.\n"
     "--layer를 주면 다른 레이어는 옮기지 않습니다. OUT은 원자적으로 "
     "교체되며,\n일부만 쓰인 파일은 남지 않습니다.\n\n--to onnx는 레이어 "
     "하나를 opset 23 모델로 씁니다. 입력은 query (B, L,\nE)이고, "
     "--cross-attention을 주거나 크기가 다르면 key와 value도 있습니다. "
     "출력은\noutput입니다."},
    {"For an ONNX model, lists the attention nodes: the pattern that matched, "
     "and the\nheads, sizes and scale found in the file. ? marks a size "
     "that "
     "depends on\nthe inputs.",
     "ONNX 모델이면 어텐션 노드를 보여 줍니다. 일치한 패턴과, 파일에 나온 헤드 "
     "수,\n크기, 스케일입니다. 입력에 따라 정해지는 크기는 ?로 표시합니다."},
    {"Layout", "레이아웃"},
    {"ONNX model", "ONNX 모델"},
    {"Selection", "선택"},
    {"a .safetensors, .safetensors.index.json or .npz file, or a folder with a "
     "model or with NAME.npy files",
     ".safetensors, .safetensors.index.json, .npz 파일, 또는 모델이나 NAME.npy "
     "파일이 있는 폴더"},
    {"a .safetensors, .safetensors.index.json, .npz, .npy or .onnx file, or a "
     "folder with a model or with NAME.npy files",
     ".safetensors, .safetensors.index.json, .npz, .npy, .onnx 파일, 또는 "
     "모델이나 NAME.npy 파일이 있는 폴더"},
    {"add an input attn_mask (1 or batch, 1 or heads, length, key length); "
     "bool: true = may attend; float: added to the scores",
     "입력 attn_mask (1 또는 배치, 1 또는 헤드 수, 쿼리 길이, 키 길이)를 "
     "추가합니다. bool의 true는 볼 수 있음을 뜻하고, 실수는 점수에 더합니다"},
    {"convert attention layers to another library's layout or to ONNX",
     "어텐션 레이어를 다른 라이브러리의 레이아웃이나 ONNX로 변환합니다"},
    {"expected layout of FILE; if it does not fit, the output says why: "
     "headwise, headwise-causal, torch-mha, torch-mha-split, bert, distilbert, "
     "d2l, d2l-dense, keras, flax (default: detected)",
     "FILE의 예상 레이아웃. 맞지 않으면 이유를 알려 줍니다: headwise, "
     "headwise-causal, torch-mha, torch-mha-split, bert, distilbert, d2l, "
     "d2l-dense, keras, "
     "flax (기본값: 자동으로 찾음)"},
    {"key and value are inputs of the model (default: only if their sizes "
     "differ)",
     "key와 value도 모델의 입력으로 둡니다(기본값: 크기가 다를 때만)"},
    {"layout of IN (default: detected)",
     "IN의 레이아웃(기본값: 자동으로 찾음)"},
    {"layout of OUT: headwise, headwise-causal, torch-mha, torch-mha-split, "
     "bert, distilbert, d2l, d2l-dense, keras, flax, or onnx",
     "OUT의 레이아웃: headwise, headwise-causal, torch-mha, torch-mha-split, "
     "bert, distilbert, d2l, d2l-dense, keras, flax 또는 onnx"},
    {"leave out tensors outside attention layers",
     "어텐션 레이어가 아닌 텐서를 뺍니다"},
    {"list every tensor, including those of numbered layers",
     "번호가 붙은 레이어까지 모든 텐서를 나열합니다"},
    {"list the tensors, attention layers and heads of a file",
     "파일의 텐서, 어텐션 레이어, 헤드를 보여 줍니다"},
    {"number of query heads, if OUT needs it and neither IN nor its "
     "config.json has it",
     "쿼리 헤드 수. OUT에 필요하지만 IN에도 config.json에도 없을 때 "
     "지정합니다"},
    {"number of rotary positions stored in the model (default 2048)",
     "모델에 저장하는 로터리 위치의 수(기본값 2048)"},
    {"number of that layer in OUT (default: as in IN)",
     "OUT에서 그 레이어의 번호(기본값: IN과 같음)"},
    {"only this layer (default: all)", "이 레이어만(기본값: 전부)"},
    {"output file, .safetensors, .npz or .onnx",
     "출력 파일. .safetensors, .npz 또는 .onnx"},
    {"prefix of the names in FILE, or its beginning (default: detected)",
     "FILE의 이름 앞 접두사 또는 그 앞부분(기본값: 자동으로 찾음)"},
    {"prefix of the names in IN, or its beginning (default: detected)",
     "IN의 이름 앞 접두사 또는 그 앞부분(기본값: 자동으로 찾음)"},
    {"prefix of the names in OUT, one of those the layout knows, such as bert. "
     "or \"\" (default: as in IN)",
     "OUT에서 이름 앞에 붙일 접두사. 레이아웃에 있는 것만 됩니다. 예: bert. "
     "또는 \"\" (기본값: IN과 같음)"},
    {"query i attends to keys 0 to i", "쿼리 i는 키 0부터 i까지 봅니다"},
    {"same as --num-heads", "--num-heads와 같습니다"},
});
static_assert(is_sorted(kTexts), "sort the rows by their English");

}  // namespace

std::span<const Translation> korean_convert() { return kTexts; }

}  // namespace headwise::cli
