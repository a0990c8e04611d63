// Modules are shared libraries that the stand-in nvcc has compiled; see cuda_on_host.hpp for what they export.
#pragma once

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <unistd.h>

#include "runtime_names.hpp"
#include "state.hpp"

// The C library's, which finds a thread-local variable by its library's number and its place there.
extern "C" void* __tls_get_addr(void* variable);

namespace stand_in {

struct Module;

struct Function {
  char name[128];
  const stand_in_kernel* kernel;
  Module* module;
  Function* next;
};

// What is thread-local in a library, by the loader's number for it.
struct SharedMemory {
  size_t number, bytes;
};

struct Module {
  void* library;
  Function* functions;
  Context* context;
  unsigned char* image;  // a copy of what was loaded: of its variables, only its table of symbols tells
  SharedMemory shared;
};

// ---- shared memory -------------------------------------------------------------------------------------------------
static int read_thread_local_bytes(dl_phdr_info* library, size_t, void* found) {
  SharedMemory& shared = *(SharedMemory*)found;
  if (library->dlpi_tls_modid != shared.number) return 0;
  for (unsigned i = 0; i < library->dlpi_phnum; i++)
    if (library->dlpi_phdr[i].p_type == PT_TLS) shared.bytes = library->dlpi_phdr[i].p_memsz;
  return 1;
}

static SharedMemory shared_memory_of(void* library) {
  SharedMemory shared = {0, 0};
  if (dlinfo(library, RTLD_DI_TLS_MODID, &shared.number) == 0 && shared.number)
    dl_iterate_phdr(read_thread_local_bytes, &shared);
  return shared;
}

// That of the calling thread.
static char* address_of(const SharedMemory& shared) {
  size_t variable[2] = {shared.number, 0};
  return shared.bytes ? (char*)__tls_get_addr(variable) : nullptr;
}

// ---- loading -------------------------------------------------------------------------------------------------------

// A shared library says itself how long it is: the table of its sections comes last.
static size_t image_bytes(const unsigned char* image) {
  Elf64_Ehdr header;
  memcpy(&header, image, sizeof header);
  if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_type != ET_DYN) return 0;
  return header.e_shoff + (size_t)header.e_shnum * header.e_shentsize;
}

static bool write_image(int file, const void* image, size_t bytes) {
  for (size_t done = 0; done < bytes;) {
    const ssize_t written = write(file, (const char*)image + done, bytes - done);
    if (written <= 0) return false;
    done += (size_t)written;
  }
  return true;
}

// From a file of its own: the loader takes two of one name for the same.
static void* load_library(const void* image, size_t bytes) {
  const char* folder = getenv("TMPDIR");
  char path[512];
  snprintf(path, sizeof path, "%s/stand-in-module-XXXXXX", folder ? folder : "/tmp");
  const int file = mkstemp(path);
  if (file < 0) return nullptr;
  void* library = write_image(file, image, bytes) ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : nullptr;
  if (!library) fprintf(stderr, "stand-in driver: %s\n", dlerror());
  close(file);
  unlink(path);
  return library;
}

static int load_module(Module** loaded, const void* image) {
  const size_t bytes = image_bytes((const unsigned char*)image);
  if (!bytes) return invalid_image;
  void* library = load_library(image, bytes);
  const int* architecture = library ? (const int*)dlsym(library, "stand_in_architecture") : nullptr;
  int error = architecture ? success : invalid_image;
  if (architecture && (*architecture / 10 != state.major || *architecture % 10 > state.minor)) error = no_binary_for_gpu;
  if (error) {
    if (library) dlclose(library);
    return error;
  }
  unsigned char* copy = (unsigned char*)malloc(bytes);
  if (!copy) return out_of_memory;
  memcpy(copy, image, bytes);
  *loaded = new Module{library, nullptr, current_context(), copy, shared_memory_of(library)};
  return success;
}

static void unload_module(Module* module) {
  while (Function* function = module->functions) {
    module->functions = function->next;
    delete function;
  }
  free(module->image);
  dlclose(module->library);
  delete module;
}

static int find_function(Function** found, Module* module, const char* name) {
  for (Function* function = module->functions; function; function = function->next)
    if (!strcmp(function->name, name)) return *found = function, success;
  char symbol[160];
  snprintf(symbol, sizeof symbol, "stand_in_kernel_%s", name);
  const stand_in_kernel* kernel = (const stand_in_kernel*)dlsym(module->library, symbol);
  if (!kernel) return not_found;
  Function* function = new Function{{}, kernel, module, module->functions};
  strncpy(function->name, name, sizeof function->name - 1);
  *found = module->functions = function;
  return success;
}

// The symbol of a variable of this name, in the table of one that is a module's; none if it has none.
static const Elf64_Sym* find_symbol(const unsigned char* image, const char* name) {
  const Elf64_Ehdr* header = (const Elf64_Ehdr*)image;
  const Elf64_Shdr* sections = (const Elf64_Shdr*)(image + header->e_shoff);
  for (unsigned i = 0; i < header->e_shnum; i++) {
    if (sections[i].sh_type != SHT_SYMTAB) continue;
    const char* names = (const char*)image + sections[sections[i].sh_link].sh_offset;
    const Elf64_Sym* symbols = (const Elf64_Sym*)(image + sections[i].sh_offset);
    for (size_t n = 0; n < sections[i].sh_size / sizeof *symbols; n++)
      if (ELF64_ST_TYPE(symbols[n].st_info) == STT_OBJECT && symbols[n].st_shndx && !strcmp(names + symbols[n].st_name, name))
        return &symbols[n];
  }
  return nullptr;
}

static int find_variable(unsigned long long* address, size_t* bytes, Module* module, const char* name) {
  const Elf64_Sym* symbol = find_symbol(module->image, name);
  const Elf64_Sym* known = find_symbol(module->image, "stand_in_architecture");
  if (!symbol || !known) return not_found;
  const uint64_t loaded_at = (uint64_t)dlsym(module->library, "stand_in_architecture") - known->st_value;
  if (address) *address = loaded_at + symbol->st_value;
  if (bytes) *bytes = symbol->st_size;
  return success;
}

}  // namespace stand_in
