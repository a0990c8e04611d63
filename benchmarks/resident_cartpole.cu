// CartPole as a C++ class with virtual functions, beside the package's kernel: the same Euler steps and limits.
//
// Arrays: observations (envs, 1, 4) float32, rewards (envs, 1), terminated and truncated (envs,). Read: residents, actions
// (envs, 1, 1), timestep (envs,).
#include <resident.hpp>

class Game {
 public:
  virtual ~Game() = default;
  virtual void begin(Random random) = 0;
  virtual bool move(int action) = 0;  // whether the episode has ended
  virtual float4 seen() const = 0;
};

class CartPole : public Game {
 public:
  void begin(Random random) override {
    for (float* each : {&at.x, &at.y, &at.z, &at.w}) *each = random.uniform(-0.05f, 0.05f);
  }

  bool move(int action) override {
    const float sine = sinf(at.z), cosine = cosf(at.z);
    const float total = cart_mass + pole_mass, half = 0.5f * pole_length, lever = half * pole_mass / total;
    const float pushed = (action == 1 ? force : -force) / total + lever * at.w * at.w * sine;
    const float angular = (gravity * sine - cosine * pushed) / (half * (4.0f / 3.0f) - lever * cosine * cosine);
    const float linear = pushed - lever * angular * cosine;
    at = make_float4(at.x + 0.02f * at.y, at.y + 0.02f * linear, at.z + 0.02f * at.w, at.w + 0.02f * angular);
    return fabsf(at.x) > 2.4f || fabsf(at.z) > 12.0f * 2.0f * 3.14159265358979f / 360.0f;
  }

  float4 seen() const override { return at; }

  size_t size() const { return sizeof at; }
  void save(uint8_t* to) const { memcpy(to, &at, sizeof at); }
  void load(const uint8_t* from, size_t) { memcpy(&at, from, sizeof at); }

 private:
  float4 at = {0.0f, 0.0f, 0.0f, 0.0f};  // place m, speed m/s, angle, turning 1/s
  float gravity = 9.8f, cart_mass = 1.0f, pole_mass = 0.1f, pole_length = 1.0f, force = 10.0f;
};

RESIDENT(CartPole);

extern "C" __global__ void step(const uint64_t* residents, const int* actions, const int* timestep,
                                float4* observations, float* rewards, bool* terminated, bool* truncated,
                                int episode_length) {
  if (!is_active()) return;  // guard
  Game& game = resident(residents);
  terminated[env_id()] = game.move(actions[agent_index()]);
  truncated[env_id()] = timestep[env_id()] >= episode_length;
  rewards[agent_index()] = 1.0f;
  observations[agent_index()] = game.seen();
}

extern "C" __global__ void reset(const uint64_t* residents, float4* observations) {
  if (!is_active()) return;  // guard
  Game& game = resident(residents);
  game.begin(Random::agent());
  observations[agent_index()] = game.seen();
}
