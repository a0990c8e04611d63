// What kernels print: whole lines on standard output, each behind the kernel, env and agent that printed it.
//
// The next call of the same agent continues a line that a call left open. The line ends at the latest when another
// agent of the same worker prints, or when the worker has finished its share of the envs.
#pragma once

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <atomic>

namespace ww {

// Bytes that grow as needed.
struct Text {
  char* bytes;
  size_t length, room;

  bool reserve(size_t more) {
    if (length + more <= room) return true;
    const size_t wanted = 2 * (length + more);
    char* moved = (char*)realloc(bytes, wanted);
    if (!moved) return false;
    bytes = moved;
    room = wanted;
    return true;
  }
  void append(const char* text, size_t count) {
    if (!reserve(count)) return;
    memcpy(bytes + length, text, count);
    length += count;
  }
};

struct Speaker {
  const char* kernel;
  int env, agent;
  bool active;

  bool operator==(const Speaker& other) const {
    return kernel == other.kernel && env == other.env && agent == other.agent;
  }
};

static pthread_mutex_t output_lock = PTHREAD_MUTEX_INITIALIZER;

// One write per call, unless the file accepts fewer bytes. If the reader has gone, the output is lost, as with printf.
static void write_out(const char* bytes, size_t count) {
  pthread_mutex_lock(&output_lock);
  while (count) {
    const ssize_t written = write(STDOUT_FILENO, bytes, count);
    if (written >= 0) {
      bytes += written;
      count -= (size_t)written;
    } else if (errno == EAGAIN) {
      pollfd output = {STDOUT_FILENO, POLLOUT, 0};
      poll(&output, 1, -1);
    } else if (errno != EINTR) {
      break;
    }
  }
  pthread_mutex_unlock(&output_lock);
}

// The state of one worker. All zeros is a valid initial state.
class Lines {
 public:
  std::atomic<bool> writing;  // waits for the reader, possibly for a long time

  int print(const Speaker& speaker, const char* format, va_list values) {
    va_list again;
    va_copy(again, values);
    const int length = vsnprintf(nullptr, 0, format, again);
    va_end(again);
    if (length < 0 || !message_.reserve((size_t)length + 1)) return -1;
    vsnprintf(message_.bytes, message_.room, format, values);
    if (open_.length && !(speaker == speaker_)) open_.append("\n", 1);
    speaker_ = speaker;
    append(message_.bytes, (size_t)length);
    write_whole_lines();
    return length;
  }

  void end_line() {
    if (!open_.length) return;
    open_.append("\n", 1);
    write_whole_lines();
  }

 private:
  Text message_, open_;
  Speaker speaker_;

  void append(const char* text, size_t length) {
    while (length) {
      const char* newline = (const char*)memchr(text, '\n', length);
      const size_t count = newline ? (size_t)(newline - text) + 1 : length;
      if (!open_.length || open_.bytes[open_.length - 1] == '\n') begin_line();
      open_.append(text, count);
      text += count;
      length -= count;
    }
  }

  void begin_line() {
    char who[128];
    const int length = snprintf(who, sizeof who, "[%.64s, env %d, agent %d%s] ", speaker_.kernel, speaker_.env,
                                speaker_.agent, speaker_.active ? "" : ", inactive");
    open_.append(who, (size_t)length);
  }

  void write_whole_lines() {
    const char* newline = open_.length ? (const char*)memrchr(open_.bytes, '\n', open_.length) : nullptr;
    if (!newline) return;
    const size_t count = (size_t)(newline - open_.bytes) + 1;
    writing.store(true);
    write_out(open_.bytes, count);
    writing.store(false);
    memmove(open_.bytes, open_.bytes + count, open_.length -= count);
  }
};

}  // namespace ww
