# headwise::onnx: models of ONNX. A library of its own, so that no other one
# needs protobuf (docs/decisions/024-onnx.md). Where the component is left out it is a
# stub: the command links it.
set(onnx_sources src/onnx/no_onnx.cc)
set(onnx_targets "")
if("onnx" IN_LIST headwise_components)
  # By pkg-config, as its users find it; ONNX's messages have no package at all.
  find_package(PkgConfig REQUIRED)
  pkg_check_modules(headwise_protobuf REQUIRED IMPORTED_TARGET protobuf)
  find_library(HEADWISE_ONNX_PROTO onnx_proto REQUIRED)
  find_path(HEADWISE_ONNX_INCLUDE onnx/onnx_pb.h REQUIRED)
  # By name: its folder on this machine does not belong in what is installed.
  set(onnx_targets onnx_proto PkgConfig::headwise_protobuf)
  # Their headers are the system's, and parsed once.
  set(onnx_messages src/onnx/messages.cc src/onnx/write_messages.cc)
  set_source_files_properties(${onnx_messages} PROPERTIES
    COMPILE_DEFINITIONS "ONNX_ML=1;ONNX_NAMESPACE=onnx"
    SKIP_PRECOMPILE_HEADERS ON
    SKIP_UNITY_BUILD_INCLUSION ON)
  set(onnx_sources
    ${onnx_messages}
    src/onnx/arrays.cc
    src/onnx/attention.cc
    src/onnx/attention_call.cc
    src/onnx/attention_facts.cc
    src/onnx/attention_mask.cc
    src/onnx/attention_options.cc
    src/onnx/attention_steps.cc
    src/onnx/axis_lists.cc
    src/onnx/broadcast.cc
    src/onnx/cast.cc
    src/onnx/check_graph.cc
    src/onnx/constant.cc
    src/onnx/contrib_attention.cc
    src/onnx/contrib_inputs.cc
    src/onnx/contrib_layer.cc
    src/onnx/contrib_mask.cc
    src/onnx/contrib_operators.cc
    src/onnx/einsum.cc
    src/onnx/elementwise.cc
    src/onnx/external_data.cc
    src/onnx/find_fusions.cc
    src/onnx/fusion_tensors.cc
    src/onnx/graph_builder.cc
    src/onnx/group_query_attention.cc
    src/onnx/known_shapes.cc
    src/onnx/layer_graph.cc
    src/onnx/logic.cc
    src/onnx/matmul.cc
    src/onnx/model.cc
    src/onnx/multi_head_attention.cc
    src/onnx/node_call.cc
    src/onnx/node_memory.cc
    src/onnx/normalization.cc
    src/onnx/numbers.cc
    src/onnx/operators.cc
    src/onnx/order.cc
    src/onnx/pad.cc
    src/onnx/range.cc
    src/onnx/reduce.cc
    src/onnx/reshape.cc
    src/onnx/rotary_embedding.cc
    src/onnx/scatter_nd.cc
    src/onnx/seen_attention.cc
    src/onnx/shown_text.cc
    src/onnx/slices.cc
    src/onnx/softmax.cc
    src/onnx/strided.cc
    src/onnx/tensor_data.cc
    src/onnx/tensor_scatter.cc
    src/onnx/trilu.cc
    src/onnx/variadic.cc
    src/onnx/write_layer.cc)
endif()

headwise_component(onnx
  LINKS headwise_files
  PRIVATE ${onnx_targets}
  HEADERS
    include/headwise/onnx/arrays.h
    include/headwise/onnx/attention.h
    include/headwise/onnx/attention_nodes.h
    include/headwise/onnx/model.h
    include/headwise/onnx/write_layer.h
  SOURCES ${onnx_sources})
