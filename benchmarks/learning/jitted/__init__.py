"""PPO on CartPole as it is usually written in JAX: env, rollout, returns and update jitted into one program.

The counterparts of warpworld's networks, with as many weights, learn from as many rows in as many steps of Adam.
"""
