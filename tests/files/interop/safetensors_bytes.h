// safetensors files, right or wrong, by hand.
#pragma once

#include <string>
#include <string_view>

#include "interop/files.h"

namespace headwise {

inline Bytes safetensors_file(std::string_view header,
                              std::span<const std::byte> data) {
  Bytes bytes;
  append_number(bytes, header.size(), 8);
  append(bytes, bytes_of(header));
  append(bytes, data);
  return bytes;
}

// `"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}`
inline std::string entry(std::string_view name, std::string_view dtype,
                         std::string_view shape, std::string_view offsets) {
  return "\"" + std::string(name) + "\":{\"dtype\":\"" + std::string(dtype) +
         "\",\"shape\":" + std::string(shape) +
         ",\"data_offsets\":" + std::string(offsets) + "}";
}

}  // namespace headwise
