// Preloaded into gdb 13, lets it write the registers of a processor with AMX: it knows fewer of them than the kernel,
// and the kernel refuses all but a whole set (EFAULT, "Couldn't write extended state status"). What gdb writes is put
// over the set as it stands, which is then written whole.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/uio.h>

#define NT_X86_XSTATE 0x202

typedef long (*Ptrace)(int, ...);

long ptrace(enum __ptrace_request request, ...) {
  va_list words;
  va_start(words, request);
  pid_t pid = va_arg(words, pid_t);
  void *address = va_arg(words, void *), *data = va_arg(words, void *);
  va_end(words);
  Ptrace real = (Ptrace)dlsym(RTLD_NEXT, "ptrace");
  char registers[1 << 15];
  struct iovec whole = {registers, sizeof registers};
  struct iovec *given = data;
  if (request != PTRACE_SETREGSET || address != (void *)NT_X86_XSTATE ||
      real(PTRACE_GETREGSET, pid, address, &whole) != 0 || whole.iov_len <= given->iov_len)
    return real(request, pid, address, data);
  memcpy(registers, given->iov_base, given->iov_len);
  return real(request, pid, address, &whole);
}
