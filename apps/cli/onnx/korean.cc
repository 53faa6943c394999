// Korean of the help of the commands in this room.
#include <array>

#include "shell/translation_tables.h"

namespace headwise::cli {
namespace {

constexpr auto kTexts = std::to_array<Translation>({
    {"--data has the inputs in the order of the graph: input_0.pb or "
     "input_0.npy and\n"
     "so on, or .npz files with arrays of these names or of the names in the "
     "graph.\n"
     "If it has expected outputs (output_0.pb, ...), the outputs are compared "
     "with\n"
     "them, and the exit code is 1 if one differs by more than 1e-7 plus 1e-3 "
     "of the\n"
     "expected value. --out gets output_0.npy and so on, in the order of the "
     "graph;\n"
     "16-bit outputs are written as float32.",
     "--data에는 그래프의 첫 번째 입력인 input_0.pb 또는 input_0.npy와 그다음 "
     "입력들이\n있거나, 이 이름이나 그래프 안의 이름으로 된 배열이 든 .npz "
     "파일이 있습니다.\n출력(output_0.pb, ...)이 있으면 비교하며, 1e-7에 "
     "기대값의 1e-3을 더한 것보다\n많이 다르면 종료 코드가 1입니다. --out에는 "
     "그래프의 순서대로 output_0.npy\n등을 씁니다. 16비트 출력은 float32로 "
     "씁니다."},
    {"DIR has a folder per case, with model.onnx and test_data_set_0 and so "
     "on, as\nONNX's node tests have them. float32 outputs must agree within a "
     "tenth of the\ntolerance of these tests, which is 1e-7 plus 1e-3 of the "
     "expected value; 16-bit\noutputs within the tolerance itself. The exit "
     "code is 1 if a case fails.",
     "DIR에는 ONNX의 노드 테스트처럼 사례마다 model.onnx와 test_data_set_0 "
     "등이 든\n폴더가 있습니다. float32 출력은 그 테스트의 허용 오차(1e-7에 "
     "기대값의 1e-3을\n더한 것)의 10분의 1 안에서, 16비트 출력은 허용 오차 "
     "안에서 같아야 합니다. 사례가\n하나라도 실패하면 종료 코드는 1입니다."},
    {"an .onnx file", ".onnx 파일"},
    {"folder for the outputs, made if missing",
     "출력을 쓸 폴더. 없으면 만듭니다"},
    {"folder of the cases", "사례가 든 폴더"},
    {"folder with the inputs, or a .npz file", "입력이 든 폴더 또는 .npz 파일"},
    {"memory limit for intermediate tensors, in MiB (default: 16, plus 16 "
     "times the inputs and the model's tensors)",
     "중간 텐서의 메모리 한도(MiB, 기본값: 입력과 모델 텐서의 16배에 16을 더한 "
     "값)"},
    {"run a folder of test cases and print which pass",
     "폴더의 테스트 사례를 실행하고 통과 여부를 보여 줍니다"},
    {"run an ONNX model of attention and compare its outputs",
     "어텐션 ONNX 모델을 실행하고 출력을 비교합니다"},
    {"suite of test cases", "테스트 사례의 종류"},
});
static_assert(is_sorted(kTexts), "sort the rows by their English");

}  // namespace

std::span<const Translation> korean_onnx() { return kTexts; }

}  // namespace headwise::cli
