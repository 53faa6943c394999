# headwise::io: ranks 6 to 10, in the order of the data's way.
# By pkg-config: Debian's CMake package of libzip wants its command line tools
# installed as well.
find_package(PkgConfig REQUIRED)
set(io_modules libzip zlib libutf8proc nettle libpng)
foreach(module IN LISTS io_modules)
  pkg_check_modules(headwise_${module} REQUIRED IMPORTED_TARGET ${module})
endforeach()
find_package(nlohmann_json REQUIRED)
find_package(Eigen3 REQUIRED)
include(EmbedFiles)

add_library(headwise_io)
add_library(headwise::io ALIAS headwise_io)
headwise_library(headwise_io)
set_target_properties(headwise_io PROPERTIES EXPORT_NAME io)
target_sources(headwise_io
  PUBLIC FILE_SET HEADERS BASE_DIRS include FILES
    include/headwise/io.h
    include/headwise/distribute/key_band.h
    include/headwise/distribute/shard_plan.h
    include/headwise/distribute/plan_forecast.h
    include/headwise/distribute/communicator.h
    include/headwise/distribute/share_text.h
    include/headwise/distribute/thread_ranks.h
    include/headwise/distribute/context_attention.h
    include/headwise/distribute/context_backward.h
    include/headwise/distribute/context_cache.h
    include/headwise/distribute/context_layer.h
    include/headwise/distribute/heads_attention.h
    include/headwise/distribute/heads_backward.h
    include/headwise/distribute/layer_shard.h
    include/headwise/distribute/mean_of_heads.h
    include/headwise/distribute/sequence_decode.h
    include/headwise/inspect/language.h
    include/headwise/inspect/trace.h
    include/headwise/inspect/step_table.h
    include/headwise/inspect/axis_step.h
    include/headwise/inspect/position_statistics.h
    include/headwise/inspect/statistics_sums.h
    include/headwise/inspect/heads_svg.h
    include/headwise/inspect/heads_grid_svg.h
    include/headwise/inspect/head_scores_svg.h
    include/headwise/inspect/accuracy_curve_svg.h
    include/headwise/inspect/loss_curve_svg.h
    include/headwise/inspect/layer_heads.h
    include/headwise/inspect/view_page.h
    include/headwise/interop/array.h
    include/headwise/interop/file_subject.h
    include/headwise/interop/npy.h
    include/headwise/interop/npy_file.h
    include/headwise/interop/npz.h
    include/headwise/interop/safetensors.h
    include/headwise/interop/sharded_safetensors.h
    include/headwise/interop/params.h
    include/headwise/interop/load_attention.h
    include/headwise/interop/model_heads.h
    include/headwise/interop/layouts.h
    include/headwise/interop/dialects.h
    include/headwise/interop/dialect_mask.h
    include/headwise/interop/dialect_diff.h
    include/headwise/interop/mask_lint.h
    include/headwise/interop/param_inspection.h
    include/headwise/interop/convert_params.h
    include/headwise/interop/token_text.h
    include/headwise/interop/paths.h
    include/headwise/interop/sha256.h
    include/headwise/interop/checkpoint.h
    include/headwise/interop/atomic_file.h
    include/headwise/interop/journal.h
    include/headwise/interop/row_parts.h
    include/headwise/models/utf8.h
    include/headwise/models/model_folder.h
    include/headwise/models/vocabulary.h
    include/headwise/models/wordpiece.h
    include/headwise/models/model_settings.h
    include/headwise/models/model_hooks.h
    include/headwise/models/bert_encoder.h
    include/headwise/models/sentence_encoder.h
    include/headwise/models/text_model.h
    include/headwise/models/label_probe.h
    include/headwise/models/write_model.h
    include/headwise/models/model_digest.h
    include/headwise/train/task.h
    include/headwise/train/task_run.h
    include/headwise/train/labelled_text.h
    include/headwise/train/accuracy.h
    include/headwise/train/sentence_classifier.h
    include/headwise/train/classifier_run.h
    include/headwise/prune/importance.h
    include/headwise/prune/remove_heads.h
    include/headwise/prune/correct_outputs.h
    include/headwise/prune/full_size.h
    include/headwise/prune/sentence_losses.h
    include/headwise/prune/share_examples.h
    include/headwise/prune/importance_file.h
    include/headwise/prune/sentence_importance.h
    include/headwise/prune/pruned_accuracy.h
    include/headwise/prune/accuracy_curve.h
    include/headwise/prune/pruned_model.h
    include/headwise/heads/mean_interval.h
    include/headwise/heads/assignment.h
    include/headwise/heads/head_matches.h
    include/headwise/heads/map_overlap.h
    include/headwise/heads/offset_profile.h
    include/headwise/heads/pattern.h
    include/headwise/heads/pattern_scores.h
    include/headwise/heads/projected_heads.h
    include/headwise/heads/special_tokens.h
  PRIVATE
    src/json/json.cc
    src/distribute/context_shards.cc
    src/distribute/forecast_pass.cc
    src/distribute/head_shards.cc
    src/distribute/key_band.cc
    src/distribute/plan_forecast.cc
    src/distribute/shard_plan.cc
    src/distribute/rank_error.cc
    src/distribute/error_bytes.cc
    src/distribute/link.cc
    src/distribute/communicator.cc
    src/distribute/collectives.cc
    src/distribute/share_text.cc
    src/distribute/thread_group.cc
    src/distribute/thread_ranks.cc
    src/distribute/call_digest.cc
    src/distribute/context_attention.cc
    src/distribute/context_backward.cc
    src/distribute/context_cache.cc
    src/distribute/context_layer.cc
    src/distribute/context_layer_backward.cc
    src/distribute/context_layer_step.cc
    src/distribute/context_links.cc
    src/distribute/context_sequences.cc
    src/distribute/context_step.cc
    src/distribute/gather_keys.cc
    src/distribute/backward_tensors.cc
    src/distribute/bias_relay.cc
    src/distribute/checked_heads.cc
    src/distribute/checked_layer.cc
    src/distribute/project_rows.cc
    src/distribute/gradients_by_heads.cc
    src/distribute/heads_attention.cc
    src/distribute/heads_backward.cc
    src/distribute/layer_parts.cc
    src/distribute/mean_of_heads.cc
    src/distribute/layer_shard.cc
    src/distribute/layer_shard_backward.cc
    src/distribute/sequence_decode.cc
    src/distribute/chunks.cc
    src/distribute/append_tokens.cc
    src/distribute/checked_context.cc
    src/distribute/feature_shares.cc
    src/distribute/checked_step.cc
    src/distribute/forward_rows.cc
    src/distribute/gradient_rows.cc
    src/distribute/rank_heads.cc
    src/distribute/rank_tensors.cc
    src/distribute/row_gradients.cc
    src/distribute/shards.cc
    src/distribute/batch_shares.cc
    src/distribute/clip_together.cc
    src/distribute/exchange_all.cc
    src/distribute/param_gradients.cc
    src/distribute/param_shards.cc
    src/inspect/statistics_sums.cc
    src/inspect/words/words.cc
    src/inspect/words/words_en.cc
    src/inspect/words/words_ko.cc
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
    src/inspect/page/view_head.cc
    src/inspect/page/view_mask.cc
    src/inspect/page/view_layer.cc
    src/inspect/page/head_numbers.cc
    src/inspect/page/layer_heads.cc
    src/inspect/page/encoded_layer.cc
    src/inspect/page/view_html.cc
    src/inspect/page/page_documents.cc
    src/inspect/page/page_json.cc
    src/inspect/page/view_page.cc
    src/interop/array.cc
    src/interop/file_subject.cc
    src/interop/atomic_file.cc
    src/interop/dialect_diff.cc
    src/interop/dialect_mask.cc
    src/interop/dialect_steps.cc
    src/interop/dialects.cc
    src/interop/element_bytes.cc
    src/interop/error_text.cc
    src/interop/find_layout.cc
    src/interop/find_params.cc
    src/interop/folder.cc
    src/interop/gather.cc
    src/interop/input_file.cc
    src/interop/json_events.cc
    src/interop/json_fields.cc
    src/interop/keep_owner.cc
    src/interop/layout_forms.cc
    src/interop/layout_names.cc
    src/interop/layout_table.cc
    src/interop/layouts.cc
    src/interop/leftovers.cc
    src/interop/load_attention.cc
    src/interop/mapped_file.cc
    src/interop/mask_lint.cc
    src/interop/model_heads.cc
    src/interop/nested_json_events.cc
    src/interop/new_folder.cc
    src/interop/npy.cc
    src/interop/npy_file.cc
    src/interop/npy_header.cc
    src/interop/npy_stream.cc
    src/interop/npz.cc
    src/interop/param_file.cc
    src/interop/params.cc
    src/interop/pytorch_file.cc
    src/interop/read_bytes.cc
    src/interop/safetensors.cc
    src/interop/safetensors_header.cc
    src/interop/safetensors_index.cc
    src/interop/safetensors_writer.cc
    src/interop/said_heads.cc
    src/interop/sharded_safetensors.cc
    src/interop/checkpoint.cc
    src/interop/sha256.cc
    src/interop/journal.cc
    src/interop/row_part_file.cc
    src/interop/row_parts.cc
    src/interop/row_sources.cc
    src/interop/param_inspection.cc
    src/interop/convert_params.cc
    src/interop/paths.cc
    src/interop/token_text.cc
    src/models/model_folder.cc
    src/models/model_settings.cc
    src/models/sentence_modules.cc
    src/models/bert_config.cc
    src/models/tokenizer_settings.cc
    src/models/tokenizer_json.cc
    src/models/pooling_settings.cc
    src/models/utf8.cc
    src/models/vocabulary.cc
    src/models/bert_characters.cc
    src/models/bert_text.cc
    src/models/wordpiece.cc
    src/models/bert_names.cc
    src/models/kept_heads.cc
    src/models/bert_params.cc
    src/models/bert_update.cc
    src/models/bert_encoder.cc
    src/models/bert_training.cc
    src/models/pooling.cc
    src/models/sentence_encoder.cc
    src/models/sentence_training.cc
    src/models/text_model.cc
    src/models/label_probe.cc
    src/models/write_model.cc
    src/models/model_digest.cc
    src/train/epoch_order.cc
    src/train/finite_values.cc
    src/train/resumed_checkpoint.cc
    src/train/task.cc
    src/train/task_model.cc
    src/train/task_run.cc
    src/train/labelled_text.cc
    src/train/accuracy.cc
    src/train/sentence_classifier.cc
    src/train/same_run.cc
    src/train/classifier_checkpoint.cc
    src/train/classifier_state.cc
    src/train/classifier_run.cc
    src/train/ranked_embeddings.cc
    src/train/ranked_steps.cc
    src/prune/importance.cc
    src/prune/remove_heads.cc
    src/prune/correct_outputs.cc
    src/prune/full_size.cc
    src/prune/sentence_losses.cc
    src/prune/share_examples.cc
    src/prune/importance_file.cc
    src/prune/sentence_importance.cc
    src/prune/pruned_accuracy.cc
    src/prune/accuracy_curve.cc
    src/prune/pruned_model.cc
    src/heads/mean_interval.cc
    src/heads/assignment.cc
    src/heads/head_matches.cc
    src/heads/map_overlap.cc
    src/heads/offset_profile.cc
    src/heads/pattern.cc
    src/heads/pattern_keys.cc
    src/heads/pattern_scores.cc
    src/heads/projected_heads.cc
    src/heads/special_tokens.cc
    src/heads/weight_tiles.cc)

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
target_sources(headwise_io PRIVATE ${generated}/viewer_files.cc)

list(TRANSFORM io_modules PREPEND PkgConfig::headwise_ OUTPUT_VARIABLE io_targets)
target_link_libraries(headwise_io PUBLIC headwise PRIVATE ${io_targets})
# Headers only: those who link headwise::io need not have them.
target_include_directories(headwise_io SYSTEM PRIVATE
  $<TARGET_PROPERTY:nlohmann_json::nlohmann_json,INTERFACE_INCLUDE_DIRECTORIES>
  $<TARGET_PROPERTY:Eigen3::Eigen,INTERFACE_INCLUDE_DIRECTORIES>)
headwise_precompile(headwise_io)
headwise_internals(headwise_io)
