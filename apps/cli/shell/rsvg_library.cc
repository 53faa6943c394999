#include "rsvg_library.h"

#include <dlfcn.h>

#include <string>
#include <type_traits>

namespace headwise::cli {
namespace {

// The number is that of the interface, of the headers included here.
constexpr const char* kFile = "librsvg-2.so.2";

Message reason() {
  const char* text = dlerror();
  return text != nullptr ? text : "not found";
}

Error missing(const Message& reason) {
  // What dlopen() says where the library is there.
  if (reason.text().find("Cannot allocate memory") != std::string::npos ||
      reason.text().find("failed to map segment") != std::string::npos) {
    return ErrorCode::out_of_memory;
  }
  return {ErrorCode::unsupported,
          {.given = message("a picture in pixels needs librsvg (Debian's "
                            "package librsvg2-2): {}",
                            reason)}};
}

Result<RsvgLibrary> load() {
  void* file = dlopen(kFile, RTLD_NOW | RTLD_LOCAL);
  if (file == nullptr) {
    return missing(reason());
  }
  RsvgLibrary rsvg{};
  Message problem;
  // In the library or in those that it needs.
  const auto get = [&](const char* name, auto& function) {
    void* address = dlsym(file, name);
    if (address == nullptr && problem.empty()) {
      problem = reason();
    }
    function =
        reinterpret_cast<std::remove_reference_t<decltype(function)>>(address);
  };
  get("g_memory_input_stream_new_from_data", rsvg.memory_stream);
  get("g_object_unref", rsvg.unref);
  get("g_error_free", rsvg.error_free);
  get("rsvg_handle_new_from_stream_sync", rsvg.parse);
  get("rsvg_handle_get_intrinsic_size_in_pixels", rsvg.size_in_pixels);
  get("rsvg_handle_render_document", rsvg.render);
  get("cairo_image_surface_create", rsvg.surface_create);
  get("cairo_surface_destroy", rsvg.surface_destroy);
  get("cairo_surface_status", rsvg.surface_status);
  get("cairo_surface_write_to_png_stream", rsvg.write_png);
  get("cairo_create", rsvg.create);
  get("cairo_destroy", rsvg.destroy);
  get("cairo_status", rsvg.status);
  get("cairo_set_source_rgb", rsvg.set_colour);
  get("cairo_paint", rsvg.paint);
  get("cairo_status_to_string", rsvg.status_text);
  if (!problem.empty()) {
    return missing(problem);
  }
  return rsvg;
}

}  // namespace

const Result<RsvgLibrary>& rsvg_library() {
  static const Result<RsvgLibrary> library = load();
  return library;
}

}  // namespace headwise::cli
