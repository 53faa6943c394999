// Errors in Korean. Messages are English where they arise; here the frames that
// they share ("--x is 0, expected ...") and common expectations are translated.
// What has no Korean stays English within its frame.
#pragma once

#include <string>
#include <string_view>

namespace headwise::cli {

// "--num-heads is 0, expected a whole number from 1 on" ->
// "--num-heads 값이 0입니다. 1 이상의 정수여야 합니다"
std::string korean_error(std::string_view message);

}  // namespace headwise::cli
