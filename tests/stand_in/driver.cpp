// A CUDA driver for tests on a machine without a GPU: device memory is host memory, kernels run where they are launched,
// and their faults are heard of at the next call that synchronises. Test equipment; nothing in the package knows it.
//
// Built as libcuda.so.1 and loaded before PyCUDA is. Functions that PyCUDA links to and that nothing here needs are in
// unsupported.hpp.
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include "controls.hpp"
#include "launches.hpp"
#include "modules.hpp"
#include "unsupported.hpp"

stand_in_perturbation stand_in_perturbed = {0, 0};

using namespace stand_in;

typedef unsigned long long DevicePointer;

struct Stream {
  unsigned flags;
  Context* context;
};
struct Event {
  timespec time;
};

// ---- the driver and its devices ------------------------------------------------------------------------------------
EXPORT int cuInit(unsigned) {
  DRIVER_CALL(before_init);
  if (!state.num_devices) return no_device;
  state.initialized = true;
  return success;
}

EXPORT int cuDriverGetVersion(int* version) {
  DRIVER_CALL(before_init);
  *version = state.driver_version;
  return success;
}

EXPORT int cuGetErrorString(int code, const char** text) {
  static const struct {
    int code;
    const char* text;
  } texts[] = {
      {0, "no error"},
      {1, "invalid argument"},
      {2, "out of memory"},
      {3, "initialization error"},
      {35, "CUDA driver version is insufficient for CUDA runtime version"},
      {100, "no CUDA-capable device is detected"},
      {101, "invalid device ordinal"},
      {200, "device kernel image is invalid"},
      {201, "invalid device context"},
      {209, "no kernel image is available for execution on the device"},
      {218, "a PTX JIT compilation failed"},
      {222, "the provided PTX was compiled with an unsupported toolchain."},
      {400, "invalid resource handle"},
      {500, "named symbol not found"},
      {600, "device not ready"},
      {700, "an illegal memory access was encountered"},
      {701, "too many resources requested for launch"},
      {702, "the launch timed out and was terminated"},
      {710, "device-side assert triggered"},
      {715, "an illegal instruction was encountered"},
      {716, "misaligned address"},
      {719, "unspecified launch failure"},
      {801, "operation not supported"},
      {900, "operation not permitted when stream is capturing"},
      {999, "unknown error"},
  };
  for (const auto& each : texts)
    if (each.code == code) return *text = each.text, success;
  return *text = nullptr, invalid_value;
}

EXPORT int cuDeviceGetCount(int* count) {
  DRIVER_CALL(0);
  *count = state.num_devices;
  return success;
}

EXPORT int cuDeviceGet(int* device, int ordinal) {
  DRIVER_CALL(0);
  if (ordinal < 0 || ordinal >= state.num_devices) return invalid_device;
  *device = ordinal;
  return success;
}

EXPORT int cuDeviceGetName(char* name, int size, int) {
  DRIVER_CALL(0);
  snprintf(name, (size_t)size, "stand-in");
  return success;
}

EXPORT int cuDeviceComputeCapability(int* major, int* minor, int) {
  DRIVER_CALL(0);
  *major = state.major;
  *minor = state.minor;
  return success;
}

EXPORT int cuDeviceTotalMem_v2(size_t* bytes, int) {
  DRIVER_CALL(0);
  *bytes = state.memory_bytes;
  return success;
}

EXPORT int cuDeviceGetPCIBusId(char* text, int size, int device) {
  DRIVER_CALL(0);
  snprintf(text, (size_t)size, "0000:%02x:00.0", device);
  return success;
}

// As an H100 has them; 0 for all others.
EXPORT int cuDeviceGetAttribute(int* value, int attribute, int) {
  DRIVER_CALL(0);
  switch (attribute) {
    case 1: *value = 1024; break;         // threads per block
    case 2: case 3: *value = 1024; break;  // block x, y
    case 4: *value = 64; break;           // block z
    case 5: *value = 0x7FFFFFFF; break;   // grid x
    case 6: case 7: *value = 65535; break;  // grid y, z
    case 8: *value = 48 << 10; break;     // shared memory per block
    case 10: *value = 32; break;          // threads of a warp
    case 12: *value = 65536; break;       // registers per block
    case 16: *value = 132; break;         // multiprocessors
    case 39: *value = 2048; break;        // threads per multiprocessor
    case 75: *value = state.major; break;
    case 76: *value = state.minor; break;
    case 81: *value = 228 << 10; break;   // shared memory per multiprocessor
    case 82: *value = 65536; break;       // registers per multiprocessor
    case 97: *value = 227 << 10; break;   // shared memory per block that a kernel may ask for
    case 106: *value = 32; break;         // blocks per multiprocessor
    default: *value = 0;
  }
  return success;
}

// ---- contexts ------------------------------------------------------------------------------------------------------
EXPORT int cuDevicePrimaryCtxRetain(Context** context, int device) {
  DRIVER_CALL(0);
  if (device < 0 || device >= state.num_devices) return invalid_device;
  *context = &primary[device];
  (*context)->device = device;
  (*context)->uses++;
  return success;
}

EXPORT int cuDevicePrimaryCtxRelease_v2(int device) {
  DRIVER_CALL(0);
  if (device < 0 || device >= max_devices || !primary[device].uses) return invalid_context;
  primary[device].uses--;
  return success;
}

static int create_context(Context** context, int device) {
  *context = new Context{device, 1};
  return push_context(*context);
}
EXPORT int cuCtxCreate_v2(Context** context, unsigned, int device) {
  DRIVER_CALL(0);
  return create_context(context, device);
}
EXPORT int cuCtxCreate_v4(Context** context, void*, unsigned, int device) {
  DRIVER_CALL(0);
  return create_context(context, device);
}

EXPORT int cuCtxDetach(Context* context) {
  DRIVER_CALL(0);
  if (context < primary || context >= primary + max_devices) delete context;
  return success;
}

EXPORT int cuCtxPushCurrent_v2(Context* context) {
  DRIVER_CALL(0);
  return context ? push_context(context) : invalid_context;
}

EXPORT int cuCtxPopCurrent_v2(Context** context) {
  DRIVER_CALL(0);
  if (!depth) return invalid_context;
  Context* popped = stack[--depth];
  if (context) *context = popped;
  return success;
}

EXPORT int cuCtxGetCurrent(Context** context) {
  DRIVER_CALL(0);
  *context = current_context();
  return success;
}

// Takes the place of the one that is current; null leaves the thread without.
EXPORT int cuCtxSetCurrent(Context* context) {
  DRIVER_CALL(0);
  if (depth) depth--;
  return context ? push_context(context) : success;
}

EXPORT int cuCtxGetDevice(int* device) {
  DRIVER_CALL(0);
  if (!depth) return invalid_context;
  *device = current_context()->device;
  return success;
}

EXPORT int cuCtxSynchronize() {
  DRIVER_CALL(in_context | synchronises);
  return success;
}

// ---- memory --------------------------------------------------------------------------------------------------------
// The size stands before the block, which begins on a page.
constexpr size_t page = 4096;

EXPORT int cuMemAlloc_v2(DevicePointer* pointer, size_t bytes) {
  DRIVER_CALL(in_context);
  if (!bytes) return invalid_value;
  if (bytes > state.memory_bytes - state.allocated_bytes) return out_of_memory;
  char* memory = (char*)aligned_alloc(page, (bytes + 2 * page - 1) / page * page);
  if (!memory) return out_of_memory;
  *(size_t*)memory = bytes;
  if (is_perturbed()) fill_undefined(memory + page, bytes);
  state.allocated_bytes += bytes;
  *pointer = (DevicePointer)(memory + page);
  return success;
}

EXPORT int cuMemFree_v2(DevicePointer pointer) {
  DRIVER_CALL(in_context);
  char* memory = (char*)pointer - page;
  state.allocated_bytes -= *(size_t*)memory;
  free(memory);
  return success;
}

EXPORT int cuMemGetInfo_v2(size_t* available, size_t* total) {
  DRIVER_CALL(in_context);
  *available = state.memory_bytes - state.allocated_bytes;
  *total = state.memory_bytes;
  return success;
}

#define COPY(name, target_type, source_type, rules, ...)                                            \
  EXPORT int name(target_type target, source_type source, size_t bytes, ##__VA_ARGS__) {            \
    DRIVER_CALL(rules);                                                                             \
    memmove((void*)target, (const void*)source, bytes);                                             \
    return success;                                                                                 \
  }
COPY(cuMemcpyHtoD_v2, DevicePointer, const void*, in_context | synchronises)
COPY(cuMemcpyDtoH_v2, void*, DevicePointer, in_context | synchronises)
COPY(cuMemcpyDtoD_v2, DevicePointer, DevicePointer, in_context | synchronises)
COPY(cuMemcpyHtoDAsync_v2, DevicePointer, const void*, in_context, Stream*)
COPY(cuMemcpyDtoHAsync_v2, void*, DevicePointer, in_context, Stream*)
COPY(cuMemcpyDtoDAsync_v2, DevicePointer, DevicePointer, in_context, Stream*)

#define FILL(name, type, rules, ...)                                                      \
  EXPORT int name(DevicePointer target, type value, size_t count, ##__VA_ARGS__) {        \
    DRIVER_CALL(rules);                                                                   \
    for (size_t i = 0; i < count; i++) ((type*)target)[i] = value;                        \
    return success;                                                                       \
  }
FILL(cuMemsetD8_v2, unsigned char, in_context | synchronises)
FILL(cuMemsetD16_v2, unsigned short, in_context | synchronises)
FILL(cuMemsetD32_v2, unsigned, in_context | synchronises)
FILL(cuMemsetD8Async, unsigned char, in_context, Stream*)
FILL(cuMemsetD32Async, unsigned, in_context, Stream*)

// ---- streams and events --------------------------------------------------------------------------------------------
EXPORT int cuStreamCreate(Stream** stream, unsigned flags) {
  DRIVER_CALL(in_context);
  *stream = new Stream{flags, current_context()};
  return success;
}
EXPORT int cuStreamDestroy_v2(Stream* stream) {
  DRIVER_CALL(in_context);
  delete stream;
  return success;
}
EXPORT int cuStreamSynchronize(Stream*) {
  DRIVER_CALL(in_context | synchronises);
  return success;
}
EXPORT int cuStreamQuery(Stream*) {
  DRIVER_CALL(in_context | synchronises);
  return success;
}
EXPORT int cuStreamWaitEvent(Stream*, Event*, unsigned) {
  DRIVER_CALL(in_context);
  return success;
}

EXPORT int cuEventCreate(Event** event, unsigned) {
  DRIVER_CALL(in_context);
  *event = new Event{};
  return success;
}
EXPORT int cuEventDestroy_v2(Event* event) {
  DRIVER_CALL(in_context);
  delete event;
  return success;
}
EXPORT int cuEventRecord(Event* event, Stream*) {
  DRIVER_CALL(in_context);
  clock_gettime(CLOCK_MONOTONIC, &event->time);
  return success;
}
EXPORT int cuEventQuery(Event*) {
  DRIVER_CALL(in_context | synchronises);
  return success;
}
EXPORT int cuEventSynchronize(Event*) {
  DRIVER_CALL(in_context | synchronises);
  return success;
}
static int elapsed_milliseconds(float* milliseconds, const Event* start, const Event* end) {
  *milliseconds = (float)(end->time.tv_sec - start->time.tv_sec) * 1e3f +
                  (float)(end->time.tv_nsec - start->time.tv_nsec) * 1e-6f;
  return success;
}
EXPORT int cuEventElapsedTime(float* milliseconds, Event* start, Event* end) {
  DRIVER_CALL(in_context);
  return elapsed_milliseconds(milliseconds, start, end);
}
EXPORT int cuEventElapsedTime_v2(float* milliseconds, Event* start, Event* end) {
  DRIVER_CALL(in_context);
  return elapsed_milliseconds(milliseconds, start, end);
}

// ---- modules and functions -----------------------------------------------------------------------------------------
EXPORT int cuModuleLoadData(Module** module, const void* image) {
  DRIVER_CALL(in_context);
  return load_module(module, image);
}

enum JitOption { info_log_size = 4, error_log_size = 6 };

EXPORT int cuModuleLoadDataEx(Module** module, const void* image, unsigned count, const int* options, void** values) {
  // Nothing is logged, and PyCUDA reads as much of its logs as it is told here, where the call fails as well.
  for (unsigned i = 0; i < count; i++)
    if (options[i] == info_log_size || options[i] == error_log_size) values[i] = nullptr;
  DRIVER_CALL(in_context);
  return load_module(module, image);
}

EXPORT int cuModuleUnload(Module* module) {
  DRIVER_CALL(in_context);
  unload_module(module);
  return success;
}

EXPORT int cuModuleGetFunction(Function** function, Module* module, const char* name) {
  DRIVER_CALL(in_context);
  return find_function(function, module, name);
}

EXPORT int cuModuleGetGlobal_v2(DevicePointer* address, size_t* bytes, Module* module, const char* name) {
  DRIVER_CALL(in_context);
  return find_variable(address, bytes, module, name);
}

EXPORT int cuFuncGetAttribute(int* value, int attribute, Function* function) {
  DRIVER_CALL(in_context);
  switch (attribute) {
    case 0: *value = (int)function->kernel->max_threads; break;
    case 4: *value = 32; break;  // registers
    case 5: case 6: *value = state.major * 10 + state.minor; break;
    default: *value = 0;
  }
  return success;
}

EXPORT int cuFuncSetAttribute(Function*, int, int) {
  DRIVER_CALL(in_context);
  return success;
}

EXPORT int cuFuncSetBlockShape(Function*, int, int, int) {
  DRIVER_CALL(in_context);
  return success;
}

// ---- launches ------------------------------------------------------------------------------------------------------
// A list of keys and values: parameters come in one buffer, as PyCUDA passes them.
static bool read_parameters(void** extra, const void** buffer, size_t* bytes) {
  *buffer = nullptr;
  *bytes = 0;
  if (!extra) return false;
  for (; extra[0]; extra += 2) {
    if ((uintptr_t)extra[0] == 1) *buffer = extra[1];
    if ((uintptr_t)extra[0] == 2) *bytes = *(const size_t*)extra[1];
  }
  return true;
}

EXPORT int cuLaunchKernel(Function* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                          unsigned block_y, unsigned block_z, unsigned shared_bytes, Stream* stream, void**,
                          void** extra) {
  DRIVER_CALL(in_context | synchronises);
  const void* parameters;
  size_t bytes;
  if (!read_parameters(extra, &parameters, &bytes)) return not_supported;
  if (function->module->context != current_context() || (stream && stream->context != current_context())) return invalid_handle;
  const stand_in_kernel& kernel = *function->kernel;
  if (!grid_x || !grid_y || !grid_z || !block_x || !block_y || !block_z || block_x > 1024) return invalid_value;
  if (grid_y * grid_z * block_y * block_z != 1) return not_supported;  // no kernel of the package has them
  if (block_x > kernel.max_threads) return out_of_resources;
  if (bytes < kernel.parameter_bytes || bytes > kernel.parameter_bytes + 15 || bytes > 4096) return invalid_value;
  Launch launch = {{}, {grid_x, 1, 1}, {block_x, 1, 1}, shared_bytes, (uint64_t)stream, nullptr, bytes};
  strncpy(launch.name, function->name, sizeof launch.name - 1);
  record_launch(launch, parameters);
  state.pending = run_kernel(*function, grid_x, block_x, parameters, bytes);
  return success;
}
