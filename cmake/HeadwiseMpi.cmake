# headwise::mpi: the ranks of an MPI job. A library of its own, so that no other
# one needs MPI.
set(mpi_sources src/distribute/no_mpi.cc)
set(mpi_targets "")
if(HEADWISE_MPI)
  set(MPI_CXX_SKIP_MPICXX ON)  # MPI's old C++ interface
  find_package(MPI REQUIRED COMPONENTS CXX)
  set(mpi_sources
    src/distribute/mpi_piece.cc
    src/distribute/mpi_inbox.cc
    src/distribute/mpi_signs.cc
    src/distribute/mpi_transfer.cc
    src/distribute/mpi_channel.cc
    src/distribute/mpi_worker.cc
    src/distribute/mpi.cc)
  set(mpi_targets MPI::MPI_CXX)
endif()

add_library(headwise_mpi)
add_library(headwise::mpi ALIAS headwise_mpi)
headwise_library(headwise_mpi)
set_target_properties(headwise_mpi PROPERTIES EXPORT_NAME mpi)
target_sources(headwise_mpi
  PUBLIC FILE_SET HEADERS BASE_DIRS include FILES
    include/headwise/distribute/mpi.h
  PRIVATE
    ${mpi_sources})
target_link_libraries(headwise_mpi PUBLIC headwise_ranks PRIVATE ${mpi_targets})
headwise_internals(headwise_mpi)
