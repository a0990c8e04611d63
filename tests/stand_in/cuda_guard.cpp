// Makes a CUDA device the current one by doing nothing: torch without CUDA has nothing that does so, and indexing asks.
#include <c10/core/impl/FakeGuardImpl.h>

static c10::impl::FakeGuardImpl<c10::DeviceType::CUDA> guard;

extern "C" __attribute__((visibility("default"))) void install_guard() {
  static c10::impl::DeviceGuardImplRegistrar registrar(c10::DeviceType::CUDA, &guard);
}
