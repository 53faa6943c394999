// What main() does in the programs that mpirun starts.
#pragma once

#include <mpi.h>

#include <cstdio>
#include <memory>

#include "headwise/headwise.h"
#include "headwise/io.h"

// After io.h: of a library of its own.
#include "headwise/distribute/mpi.h"

namespace headwise {

// Calls work(group) on all ranks. After an error, which it prints, it ends
// them.
template <class Work>
int mpi_main(int& argc, char**& argv, const Work& work) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  auto group = mpi_ranks();
  const Status status = group ? work(**group) : Status(group.error());
  if (!status) {
    std::fprintf(stderr, "%s\n", status.error().message().c_str());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  group = std::unique_ptr<Communicator>();
  MPI_Finalize();
  return 0;
}

}  // namespace headwise
