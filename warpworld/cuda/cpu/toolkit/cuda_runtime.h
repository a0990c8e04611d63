// CUDA's runtime on a CPU: the words of kernels are there without it. Code of the host is compiled, so that a file with both
// needs no change; it is never run, since the world allocates, copies and launches.
#pragma once

#include "../cuda_words.hpp"

enum cudaError_t { cudaSuccess = 0, cudaErrorInvalidValue = 1, cudaErrorMemoryAllocation = 2, cudaErrorNotSupported = 801 };
using cudaError = cudaError_t;
enum cudaMemcpyKind {
  cudaMemcpyHostToHost = 0,
  cudaMemcpyHostToDevice = 1,
  cudaMemcpyDeviceToHost = 2,
  cudaMemcpyDeviceToDevice = 3,
  cudaMemcpyDefault = 4
};
using cudaStream_t = struct CUstream_st*;
using cudaEvent_t = struct CUevent_st*;

static inline const char* cudaGetErrorString(cudaError_t) { return "CUDA's runtime is not on a CPU"; }
static inline const char* cudaGetErrorName(cudaError_t) { return "cudaErrorNotSupported"; }

#define WW_OF_THE_HOST(name)                                                                            \
  template <class... Argument>                                                                          \
  static inline cudaError_t name(Argument...) {                                                         \
    ww_fail(WW_ASSERTION, nullptr, 0, #name "() is called: memory, streams and launches are the world's"); \
  }
WW_OF_THE_HOST(cudaMalloc)
WW_OF_THE_HOST(cudaMallocManaged)
WW_OF_THE_HOST(cudaMallocHost)
WW_OF_THE_HOST(cudaMallocAsync)
WW_OF_THE_HOST(cudaFree)
WW_OF_THE_HOST(cudaFreeHost)
WW_OF_THE_HOST(cudaFreeAsync)
WW_OF_THE_HOST(cudaMemcpy)
WW_OF_THE_HOST(cudaMemcpyAsync)
WW_OF_THE_HOST(cudaMemcpyToSymbol)
WW_OF_THE_HOST(cudaMemcpyFromSymbol)
WW_OF_THE_HOST(cudaMemset)
WW_OF_THE_HOST(cudaMemsetAsync)
WW_OF_THE_HOST(cudaDeviceSynchronize)
WW_OF_THE_HOST(cudaDeviceReset)
WW_OF_THE_HOST(cudaSetDevice)
WW_OF_THE_HOST(cudaGetDevice)
WW_OF_THE_HOST(cudaGetDeviceCount)
WW_OF_THE_HOST(cudaGetLastError)
WW_OF_THE_HOST(cudaPeekAtLastError)
WW_OF_THE_HOST(cudaStreamCreate)
WW_OF_THE_HOST(cudaStreamDestroy)
WW_OF_THE_HOST(cudaStreamSynchronize)
WW_OF_THE_HOST(cudaEventCreate)
WW_OF_THE_HOST(cudaEventDestroy)
WW_OF_THE_HOST(cudaEventRecord)
WW_OF_THE_HOST(cudaEventSynchronize)
WW_OF_THE_HOST(cudaEventElapsedTime)
WW_OF_THE_HOST(cudaFuncSetAttribute)
#undef WW_OF_THE_HOST
