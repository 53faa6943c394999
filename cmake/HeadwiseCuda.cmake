# The GPU's part of headwise::headwise, in place of src/cuda/no_cuda.cc.
enable_language(CUDA)
find_package(CUDAToolkit 12.4 REQUIRED)

target_sources(headwise PRIVATE
  src/cuda/find_gpu.cc
  src/cuda/device_buffer.cc
  src/cuda/tiles.cc
  src/cuda/bind_call.cc
  src/cuda/tensor_map.cc
  src/cuda/gather.cu
  src/cuda/forward_bfloat16.cu
  src/cuda/forward_float16.cu
  src/cuda/uniform_rows.cu
  src/cuda/weights_pass.cu
  src/cuda/term_gradients.cu
  src/cuda/backward_bfloat16.cu
  src/cuda/backward_float16.cu
  src/cuda/cuda_backend.cc)
# Hopper's own instructions are in no other chip.
set_target_properties(headwise PROPERTIES CUDA_ARCHITECTURES 90a-real)
# CMake 3.25 doesn't know that this nvcc's own default is an older one.
target_compile_options(headwise PRIVATE
  $<$<COMPILE_LANGUAGE:CUDA>:-std=c++20 -Xcompiler=-Wall>)
target_link_libraries(headwise PRIVATE CUDA::cudart_static)
