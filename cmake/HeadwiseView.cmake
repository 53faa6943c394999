# headwise::view: traces, pictures and the page of all heads.
headwise_component(view
  LINKS headwise_files
  MODULES libpng zlib nettle
  HEADERS
    include/headwise/inspect/trace.h
    include/headwise/inspect/step_table.h
    include/headwise/inspect/axis_step.h
    include/headwise/inspect/position_statistics.h
    include/headwise/inspect/statistics_sums.h
    include/headwise/inspect/weights_statistics.h
    include/headwise/inspect/heads_svg.h
    include/headwise/inspect/heads_grid_svg.h
    include/headwise/inspect/head_scores_svg.h
    include/headwise/inspect/accuracy_curve_svg.h
    include/headwise/inspect/loss_curve_svg.h
    include/headwise/inspect/layer_heads.h
    include/headwise/inspect/view_page.h
  SOURCES
    src/inspect/position_statistics.cc
    src/inspect/statistics_sums.cc
    src/inspect/weights_statistics.cc
    src/inspect/words/words.cc
    src/inspect/trace/trace.cc
    src/inspect/trace/list_steps.cc
    src/inspect/trace/formula_parts.cc
    src/inspect/trace/step_table.cc
    src/inspect/pictures/base64.cc
    src/inspect/pictures/heat_colour.cc
    src/inspect/pictures/heat_image.cc
    src/inspect/pictures/axis_step.cc
    src/inspect/pictures/svg_text.cc
    src/inspect/pictures/svg_writer.cc
    src/inspect/pictures/heat_ramp.cc
    src/inspect/pictures/heads_svg.cc
    src/inspect/pictures/grid_layout.cc
    src/inspect/pictures/heads_grid_svg.cc
    src/inspect/pictures/head_scores_svg.cc
    src/inspect/pictures/accuracy_curve_svg.cc
    src/inspect/pictures/loss_curve_svg.cc
    src/inspect/page/view_block.cc
    src/inspect/page/view_error.cc
    src/inspect/page/view_gradient.cc
    src/inspect/page/view_head.cc
    src/inspect/page/view_mask.cc
    src/inspect/page/view_layer.cc
    src/inspect/page/head_numbers.cc
    src/inspect/page/layer_heads.cc
    src/inspect/page/encoded_layer.cc
    src/inspect/page/view_html.cc
    src/inspect/page/page_documents.cc
    src/inspect/page/page_json.cc
    src/inspect/page/through_layers.cc
    src/inspect/page/view_page.cc)

# The viewer's files; its scripts are one, in the order that ORDER says.
set(viewer src/inspect/page/viewer)
file(STRINGS ${viewer}/ORDER names)
list(TRANSFORM names PREPEND ${viewer}/ OUTPUT_VARIABLE scripts)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
  ${viewer}/ORDER ${scripts})
set(script "")
foreach(path IN LISTS scripts)
  file(READ ${path} text)
  string(APPEND script "${text}")
endforeach()
set(generated ${CMAKE_CURRENT_BINARY_DIR}/viewer)
file(CONFIGURE OUTPUT ${generated}/viewer.js CONTENT "@script@" @ONLY)
embed_files(${generated}/viewer_files.cc
  inspect/page/viewer_files.h "headwise::inline HEADWISE_ABI::viewer_file"
  ${viewer}/template.html ${viewer}/viewer.css ${generated}/viewer.js)
target_sources(headwise_view PRIVATE ${generated}/viewer_files.cc)
