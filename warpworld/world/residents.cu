// Makes, saves, loads and destroys the object that each env has of a C++ class, for an author's file with RESIDENT.
//
// Arrays: residents (envs,) addresses of objects, of this process; resident_state (envs, RESIDENT_BYTES) what an object has
// saved, and 0 behind it; resident_size (envs,) how many bytes that are. A launch has one lane an env.
#include <resident.hpp>

namespace ww_residents {

template <class T>
inline constexpr bool is_plain = std::is_trivially_copyable<T>::value;

template <class T>
size_t size_of(const T& object) {
  if constexpr (is_plain<T>) return sizeof(T);
  else return object.size();
}

template <class T>
void save_to(const T& object, uint8_t* to) {
  if constexpr (is_plain<T>) memcpy(to, &object, sizeof(T));
  else object.save(to);
}

template <class T>
void load_from(T& object, const uint8_t* from, size_t size) {
  if constexpr (!is_plain<T>) object.load(from, size);
  else if (size == sizeof(T)) memcpy(&object, from, size);
  else throw std::length_error("a state has " + std::to_string(size) + " bytes, the object " + std::to_string(sizeof(T)));
}

// Checks that an object's state fits the store, and returns its bytes.
template <class T>
size_t fitting(const T& object) {
  const size_t size = size_of(object);
  if (size > (size_t)RESIDENT_BYTES)
    throw std::length_error("the object saves " + std::to_string(size) + " bytes, more than resident_bytes=" +
                            std::to_string(RESIDENT_BYTES) + "; declare as many as it can need");
  return size;
}

}  // namespace ww_residents

extern "C" __global__ void make_residents(uint64_t* residents) {
  residents[env_id()] = (uint64_t)(uintptr_t)new ww_resident();
}

extern "C" __global__ void destroy_residents(uint64_t* residents) {
  delete (ww_resident*)(uintptr_t)residents[env_id()];
  residents[env_id()] = 0;
}

extern "C" __global__ void save_residents(const uint64_t* residents, uint8_t* resident_state, int* resident_size) {
  const ww_resident& object = resident(residents);
  const size_t size = ww_residents::fitting(object);
  uint8_t* to = resident_state + (size_t)env_id() * RESIDENT_BYTES;
  ww_residents::save_to(object, to);
  memset(to + size, 0, (size_t)RESIDENT_BYTES - size);  // equal objects have equal states
  resident_size[env_id()] = (int)size;
}

extern "C" __global__ void load_residents(const uint64_t* residents, const uint8_t* resident_state,
                                          const int* resident_size) {
  const uint8_t* from = resident_state + (size_t)env_id() * RESIDENT_BYTES;
  ww_residents::load_from(resident(residents), from, (size_t)resident_size[env_id()]);
}

// Fails where an object that loads what another one saved does not save the same.
extern "C" __global__ void try_residents(const uint64_t* residents) {
  const ww_resident& object = resident(residents);
  const size_t size = ww_residents::fitting(object);
  std::vector<uint8_t> saved(RESIDENT_BYTES), again(RESIDENT_BYTES);
  ww_residents::save_to(object, saved.data());
  const std::unique_ptr<ww_resident> other(new ww_resident());
  ww_residents::load_from(*other, saved.data(), size);
  const size_t size_again = ww_residents::fitting(*other);
  ww_residents::save_to(*other, again.data());
  if (size != size_again)
    throw std::runtime_error("load() does not restore what save() wrote: " + std::to_string(size) + " bytes became " +
                             std::to_string(size_again));
  for (size_t k = 0; k < size; ++k)
    if (saved[k] != again[k])
      throw std::runtime_error("load() does not restore what save() wrote: byte " + std::to_string(k) + " of " +
                               std::to_string(size) + " differs");
}
