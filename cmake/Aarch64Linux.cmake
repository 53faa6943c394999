# Cross-builds for 64-bit ARM with Debian's compiler and libraries, and runs the
# tests in the user-mode emulator; script/test-arm uses it.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64)
# Highway's NEON uses the ciphers' instructions, and g++ inlines across functions
# only where all of them may.
set(CMAKE_CXX_FLAGS_INIT -march=armv8-a+crypto)
