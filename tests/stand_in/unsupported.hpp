// Functions that PyCUDA links to and that nothing here needs: textures, arrays, links, peers, graphics and the like.
#pragma once

#include "controls.hpp"

#define UNSUPPORTED_FUNCTIONS(each) \
  each(cuArray3DCreate_v2) each(cuArray3DGetDescriptor_v2) each(cuArrayCreate_v2) each(cuArrayDestroy) \
  each(cuArrayGetDescriptor_v2) each(cuCtxAttach) each(cuCtxDisablePeerAccess) each(cuCtxEnablePeerAccess) \
  each(cuCtxGetApiVersion) each(cuCtxGetCacheConfig) each(cuCtxGetLimit) each(cuCtxGetSharedMemConfig) \
  each(cuCtxSetCacheConfig) each(cuCtxSetLimit) each(cuCtxSetSharedMemConfig) each(cuDeviceCanAccessPeer) \
  each(cuDeviceGetByPCIBusId) each(cuFuncSetCacheConfig) each(cuFuncSetSharedSize) each(cuIpcCloseMemHandle) \
  each(cuIpcGetEventHandle) each(cuIpcGetMemHandle) each(cuIpcOpenEventHandle) each(cuIpcOpenMemHandle_v2) \
  each(cuLaunch) each(cuLaunchGrid) each(cuLaunchGridAsync) each(cuLinkAddData_v2) each(cuLinkAddFile_v2) \
  each(cuLinkComplete) each(cuLinkCreate_v2) each(cuLinkDestroy) each(cuMemAllocManaged) each(cuMemAllocPitch_v2) \
  each(cuMemFreeHost) each(cuMemGetAddressRange_v2) each(cuMemHostAlloc) each(cuMemHostGetDevicePointer_v2) \
  each(cuMemHostGetFlags) each(cuMemHostRegister_v2) each(cuMemHostUnregister) each(cuMemcpy2DAsync_v2) \
  each(cuMemcpy2DUnaligned_v2) each(cuMemcpy2D_v2) each(cuMemcpy3DAsync_v2) each(cuMemcpy3DPeer) \
  each(cuMemcpy3DPeerAsync) each(cuMemcpy3D_v2) each(cuMemcpyAtoA_v2) each(cuMemcpyAtoD_v2) each(cuMemcpyAtoH_v2) \
  each(cuMemcpyDtoA_v2) each(cuMemcpyHtoA_v2) each(cuMemcpyPeer) each(cuMemcpyPeerAsync) each(cuMemsetD16Async) \
  each(cuMemsetD2D16Async) each(cuMemsetD2D16_v2) each(cuMemsetD2D32Async) each(cuMemsetD2D32_v2) \
  each(cuMemsetD2D8Async) each(cuMemsetD2D8_v2) each(cuModuleGetSurfRef) \
  each(cuModuleGetTexRef) each(cuModuleLoad) each(cuParamSetSize) each(cuParamSetTexRef) each(cuParamSetf) \
  each(cuParamSeti) each(cuParamSetv) each(cuProfilerInitialize) each(cuProfilerStart) each(cuProfilerStop) \
  each(cuStreamAttachMemAsync) each(cuSurfRefGetArray) each(cuSurfRefSetArray) each(cuTexRefCreate) \
  each(cuTexRefDestroy) each(cuTexRefGetAddressMode) each(cuTexRefGetAddress_v2) each(cuTexRefGetArray) \
  each(cuTexRefGetFilterMode) each(cuTexRefGetFlags) each(cuTexRefGetFormat) each(cuTexRefSetAddress2D_v3) \
  each(cuTexRefSetAddressMode) each(cuTexRefSetAddress_v2) each(cuTexRefSetArray) each(cuTexRefSetFilterMode) \
  each(cuTexRefSetFlags) each(cuTexRefSetFormat) each(cuGetExportTable)  // the last for NVRTC, which asks for it

#define UNSUPPORTED(name)                    \
  EXPORT int name() {                        \
    DRIVER_CALL(stand_in::before_init);      \
    return not_supported;                    \
  }
UNSUPPORTED_FUNCTIONS(UNSUPPORTED)
#undef UNSUPPORTED
