// Steps CartPole with no Python: cartpole_driver RUNTIME KERNELS. Prints the state of each env every 50 steps, and how
// many episodes have ended. Env 2 i balances the pole, env 2 i + 1 pushes to one side.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "cpu/program.hpp"

constexpr int ENVS = 64, STEPS = 300, PRINTED_EVERY = 50;  // a vector of the kernels, which no block may cut, is 64 envs

static float state[ENVS][4], observations[ENVS][4], rewards[ENVS];
static int actions[ENVS], timestep[ENVS], episode_length = 100;
static uint64_t env_clock[ENVS], key[ENVS];
static uint32_t stream[ENVS];
static bool terminated[ENVS], truncated[ENVS], active[ENVS];
static float gravity[ENVS], cart_mass[ENVS], pole_mass[ENVS], pole_length[ENVS], force[ENVS];

static void* loaded(const char* path, int mode) {
  void* library = dlopen(path, RTLD_NOW | mode);
  if (!library) {
    puts(dlerror());
    exit(1);
  }
  return library;
}

// A kernel's step of a program; `args` has the address of each of its parameters.
static ww_step launch(void* library, const char* kernel, void* const* args, int active_only, int index) {
  ww_step step = {};
  step.kind = WW_KERNEL, step.active_only = active_only, step.kernel = (const ww_kernel*)dlsym(library, kernel);
  step.args = args, step.threads = 1, step.envs_per_block = 1, step.kernel_index = index;
  return step;
}

static ww_step of_kind(int kind) {
  ww_step step = {};
  step.kind = kind;
  return step;
}

static ww_program program(const ww_step* steps, int count) {
  ww_program made = {};
  made.context = {ENVS, 0, WW_SAME_STEP, timestep, env_clock, key, stream, terminated, truncated, active, nullptr};
  made.steps = steps, made.num_steps = count, made.max_workers = 1, made.granularity = ENVS, made.max_threads = 1;
  made.timeout_milliseconds = 30000;
  return made;
}

int main(int, char** paths) {
  void* runtime = loaded(paths[1], RTLD_GLOBAL);
  void* kernels = loaded(paths[2], 0);
  auto run = (int (*)(ww_program*))dlsym(runtime, "ww_run_program");
  ((void (*)())dlsym(runtime, "ww_prepare"))();
  for (int i = 0; i < ENVS; i++) {
    key[i] = 12345 + i, active[i] = true;
    gravity[i] = 9.8f, cart_mass[i] = 1.0f + 0.01f * i, pole_mass[i] = 0.1f, pole_length[i] = 1.0f, force[i] = 10.0f;
  }
  void* arrays[] = {state, actions, timestep, observations, rewards, terminated, truncated,
                    gravity, cart_mass, pole_mass, pole_length, force};
  void *step_args[13], *reset_args[] = {&arrays[0], &arrays[3]};
  for (int i = 0; i < 12; i++) step_args[i] = &arrays[i];
  step_args[12] = &episode_length;
  const ww_step reset = launch(kernels, "ww_kernel_reset", reset_args, 1, 1);
  const ww_step begun[] = {of_kind(WW_BEGIN_RESET), reset};
  const ww_step stepped[] = {of_kind(WW_BEGIN), launch(kernels, "ww_kernel_step", step_args, 0, 0), of_kind(WW_END), reset};
  ww_program start = program(begun, 2), advance = program(stepped, 4);
  int code = run(&start), episodes = 0;
  for (int t = 1; t <= STEPS && !code; t++) {
    for (int i = 0; i < ENVS; i++) actions[i] = i % 2 || state[i][2] + state[i][3] > 0.0f;
    code = run(&advance);
    for (int i = 0; i < ENVS; i++) episodes += active[i];
    if (t % PRINTED_EVERY) continue;
    for (int i = 0; i < ENVS; i++) printf("%a %a %a %a\n", state[i][0], state[i][1], state[i][2], state[i][3]);
  }
  printf("%d episodes, status %d %s\n", episodes, code, advance.error.text);
  return code;
}
