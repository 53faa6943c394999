// What is wrong with an option or with its file: the name of the option, what
// was given, what was expected.
#pragma once

#include <string>
#include <string_view>

#include "headwise/base/result.h"
#include "headwise/interop/array.h"
#include "operation_flags.h"

namespace headwise::cli {

// invalid_argument.
Error bad_option(std::string_view option, std::string_view given,
                 Message expected);

// shape_mismatch, of the file that the option names.
Error wrong_rank(std::string_view option, const Array& array, Message expected);

// An error of the library about an argument, with the option that gave it:
// `--key-lengths[0] is 7, expected 0 to Lkv = 6`.
Error in_option_words(const Error& error, const OperationFlags& flags);

// The array of a .npy file; of a .safetensors file its only tensor, or the one
// with the option's name: d_output for --d-output. Errors of the readers, which
// then begin with the option; bad_data for a file without such a tensor.
Result<Array> read_file_of(std::string_view option, const std::string& path);

}  // namespace headwise::cli
