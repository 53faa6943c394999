// The functions of librsvg, and of the libraries that come with it, loaded when
// they are first asked for.
//
// Linked, they would bring some forty libraries into every start of the command
// and double its time (11 ms became 21 ms for `headwise info`); and the command
// would not start at all where they are not installed, though only pictures in
// pixels need them.
#pragma once

#include <cairo.h>
#include <gio/gio.h>
#include <librsvg/rsvg.h>

#include "headwise/base/result.h"

namespace headwise::cli {

struct RsvgLibrary {
  decltype(&::g_memory_input_stream_new_from_data) memory_stream;
  decltype(&::g_object_unref) unref;
  decltype(&::g_error_free) error_free;

  decltype(&::rsvg_handle_new_from_stream_sync) parse;
  decltype(&::rsvg_handle_get_intrinsic_size_in_pixels) size_in_pixels;
  decltype(&::rsvg_handle_render_document) render;

  decltype(&::cairo_image_surface_create) surface_create;
  decltype(&::cairo_surface_destroy) surface_destroy;
  decltype(&::cairo_surface_status) surface_status;
  decltype(&::cairo_surface_write_to_png_stream) write_png;
  decltype(&::cairo_create) create;
  decltype(&::cairo_destroy) destroy;
  decltype(&::cairo_status) status;
  decltype(&::cairo_set_source_rgb) set_colour;
  decltype(&::cairo_paint) paint;
  decltype(&::cairo_status_to_string) status_text;
};

// It stays loaded to the end of the program.
// Errors: unsupported, with the loader's reason.
const Result<RsvgLibrary>& rsvg_library();

}  // namespace headwise::cli
