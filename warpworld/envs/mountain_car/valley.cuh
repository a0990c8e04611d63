// What both mountain cars share: a car in a valley whose slope at x is that of sin(3 x), too weak to drive straight out.
#pragma once

#include <warpworld.cuh>

constexpr float LEFT_END = -1.2f, RIGHT_END = 0.6f, SPEED_LIMIT = 0.07f;
constexpr float START_LEFT = -0.6f, START_RIGHT = -0.4f;

// One step: .x position, .y velocity. The wall at the left end stops the car.
WW_FUNCTION float2 driven(float2 car, float push, float gravity) {
  const float velocity = fminf(fmaxf(car.y + push - gravity * cosf(3.0f * car.x), -SPEED_LIMIT), SPEED_LIMIT);
  const float position = fminf(fmaxf(car.x + velocity, LEFT_END), RIGHT_END);
  return make_float2(position, position == LEFT_END ? fmaxf(velocity, 0.0f) : velocity);
}

// A car at rest near the bottom.
WW_FUNCTION float2 parked() { return make_float2(Random::agent().uniform(START_LEFT, START_RIGHT), 0.0f); }
