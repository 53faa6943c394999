// Random changes of a message: fields get other values, are left out, doubled,
// moved or exchanged for others of the same message.
#pragma once

#include <string>

#include "onnx/choices.h"
#include "onnx/wire_message.h"

namespace headwise::testing_support {

void change_message(Choices& choices, WireMessage& message);

// Other bytes, other length.
void change_bytes(Choices& choices, std::string& bytes);

}  // namespace headwise::testing_support
