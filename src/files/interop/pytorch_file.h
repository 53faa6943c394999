// PyTorch's own files, which are refused: they are pickles, which can run any
// program when they are read.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI {

// Whether a file that begins so is a zip archive or a bare pickle. (A .npz is a
// zip archive, too.)
bool is_pytorch_file(std::span<const std::byte> start);

inline constexpr std::string_view kWhyNoPytorch =
    "is a pickle or an archive, as PyTorch writes them; these can run any "
    "program when they are read, so headwise reads none. If you trust it: "
    "safetensors.torch.save_file(torch.load(FILE, weights_only=True), OUT)";

}  // namespace headwise::inline HEADWISE_ABI
