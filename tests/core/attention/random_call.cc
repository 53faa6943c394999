#include "attention/random_call.h"

#include <cstdlib>
#include <ostream>

namespace headwise::testing_support {
namespace {

// Uniform in [low, high]; shrinks to low. (rapidcheck's own ranges grow with
// the number of the case, and start with the smallest.)
std::size_t any(std::size_t low, std::size_t high) {
  return *rc::gen::resize(rc::kNominalSize,
                          rc::gen::inRange<std::size_t>(low, high + 1));
}

std::size_t any_keys() {
  switch (any(0, 3)) {
    case 0:
      return any(0, 20);
    case 1:
      return any(1, 60);
    default:
      return any(120, 135);
  }
}

RandomCall draw() {
  RandomCall call;
  for (bool& on : call.features) {
    on = any(0, 9) >= 7;  // three in ten, so that two meet in one of eleven
  }
  if (call.has(Feature::uniform_rows)) {
    call.features[static_cast<std::size_t>(Feature::nan_rows)] = false;
  }
  const bool large = any(0, 1) == 1;
  call.Lkv = large ? any(257, 400) : any_keys();
  call.Lq = large ? any(49, 100) : any(1, 50);
  call.B = any(1, large ? 2 : 3);
  const bool uneven = call.has(Feature::uneven_groups);
  call.Hkv = any(1, large && !uneven ? 1 : kMostKeyHeads);
  call.group = call.has(Feature::grouped_heads) ? any(2, large ? 2 : 3) : 1;
  for (std::size_t g = 0; uneven && g < call.Hkv; ++g) {
    call.more[g] = any(0, large ? 1 : 2);
  }
  call.D = any(1, 20) * (any(0, 3) == 3 ? 4 : 1);
  call.Dv = call.D;
  if (call.has(Feature::unequal_sizes)) {
    call.Dv = any(1, 20);
    call.Dv += call.Dv == call.D ? 1 : 0;
  }
  call.range = any(0, kRanges.size() - 1);
  call.bias_form = any(0, kBiasForms - 1);
  call.start_form = any(0, 2);
  call.weights_form = any(0, 3);
  constexpr std::array kTypes = {DType::float32, DType::bfloat16,
                                 DType::float16};
  call.dtype = kTypes[any(0, kTypes.size() - 1)];
  call.scores_stage = any(0, 4);
  call.rotary_form = any(0, 7);
  if (call.has(Feature::rotary)) {  // a rotated number has more bits
    call.dtype = DType::float32;
  }
  const bool all_in_bf16 = std::getenv("HEADWISE_RANDOM_BF16") != nullptr;
  call.arithmetic =
      any(0, 3) == 3 || all_in_bf16 ? Arithmetic::bf16 : Arithmetic::exact;
  call.threads = any(1, 3);
  call.stream = static_cast<std::uint32_t>(any(0, 100000)) * 32;
  return call;
}

}  // namespace

rc::Gen<RandomCall> random_call() { return rc::gen::exec(draw); }

rc::Gen<RandomCall> random_exact_call() {
  return rc::gen::map(random_call(), [](RandomCall call) {
    call.arithmetic = Arithmetic::exact;
    return call;
  });
}

std::ostream& operator<<(std::ostream& to, const RandomCall& call) {
  to << "B " << call.B << ", Hkv " << call.Hkv << ", group " << call.group
     << " + " << call.more[0] << " or " << call.more[1] << ", Lq " << call.Lq
     << ", Lkv " << call.Lkv << ", D " << call.D << ", Dv " << call.Dv
     << ", range " << kRanges[call.range] << ", bias form " << call.bias_form
     << ", start form " << call.start_form << ", weights form "
     << call.weights_form << ", scores stage " << call.scores_stage << ", "
     << name_of(call.dtype) << ", arithmetic " << name_of(call.arithmetic)
     << ", rotary form " << call.rotary_form << ", threads " << call.threads
     << ", stream " << call.stream << ", with";
  for (std::size_t f = 0; f < kFeatureNames.size(); ++f) {
    if (call.features[f]) {
      to << " " << kFeatureNames[f];
    }
  }
  return to;
}

}  // namespace headwise::testing_support
