// Korean of the help of the commands in this room.
#include <array>

#include "shell/translation_tables.h"

namespace headwise::cli {
namespace {

constexpr auto kTexts = std::to_array<Translation>({
    {"Choice", "선택"},
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
    {"Layout", "레이아웃"},
    {"a .safetensors, a .safetensors.index.json, a .npz, a .npy, or a folder "
     "with one of a model or with NAME.npy files",
     ".safetensors, .safetensors.index.json, .npz, .npy, 또는 모델 파일이나 "
     "NAME.npy가 있는 폴더"},
    {"a .safetensors, a .safetensors.index.json, a .npz, or a folder with one "
     "of a model or with NAME.npy files",
     ".safetensors, .safetensors.index.json, .npz, 또는 모델 파일이나 "
     "NAME.npy가 있는 폴더"},
    {"before the names in OUT, one that the layout has, such as bert. or \"\" "
     "(default: as IN has it)",
     "OUT에서 이름 앞에 붙일, 그 형식에 있는 접두사. 예: bert. 또는 \"\" "
     "(기본값: IN과 같음)"},
    {"heads of queries, where OUT's shapes need them and neither IN nor its "
     "config.json has them",
     "쿼리 헤드 수. OUT의 모양에 필요하지만 IN에도 config.json에도 없을 때 "
     "줍니다"},
    {"leave out the tensors of no attention layer",
     "어텐션 레이어가 아닌 텐서를 뺍니다"},
    {"list every tensor, those of numbered layers too",
     "번호가 붙은 레이어까지 모든 텐서를 나열합니다"},
    {"tensors, attention layers and heads of a file of parameters",
     "파라미터 파일의 텐서, 어텐션 레이어, 헤드를 보여 줍니다"},
    {"the file to write, .safetensors or .npz by its ending",
     "저장할 파일. 확장자가 .safetensors 또는 .npz여야 합니다"},
    {"the number of that layer in OUT (default: as in IN)",
     "OUT에서 그 레이어의 번호(기본값: IN과 같음)"},
    {"this layer alone (default: all)", "이 레이어만(기본값: 전부)"},
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
    {"write attention layers as another library has them",
     "어텐션 레이어를 다른 라이브러리의 형식으로 저장합니다"},
});
static_assert(is_sorted(kTexts));

}  // namespace

std::span<const Translation> korean_convert() { return kTexts; }

}  // namespace headwise::cli
