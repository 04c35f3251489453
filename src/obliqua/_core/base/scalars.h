/* Small functions of numbers that C and Cython share; rng.pxd and types.pxd say what they are for. */
#ifndef OBLIQUA_SCALARS_H
#define OBLIQUA_SCALARS_H

#include <stdint.h>

#define OB_GOLDEN 0x9E3779B97F4A7C15ULL

/* A bijection of 64 bits in which every input bit reaches every output bit (splitmix64). */
static inline uint64_t ob_scramble(uint64_t x) {
    x ^= x >> 30;
    x *= 0xBF58476D1CE4E5B9ULL;
    x ^= x >> 27;
    x *= 0x94D049BB133111EBULL;
    x ^= x >> 31;
    return x;
}

static inline uint64_t ob_mix(uint64_t key, uint64_t value) {
    return ob_scramble(key + OB_GOLDEN * (value + 1));
}

/* The random key of a child: a function of its path from the root and of the seed. */
static inline uint64_t ob_child_key(uint64_t key, uint64_t side) {
    return ob_mix(ob_scramble(key + OB_GOLDEN), side);
}

/* The next 64 random bits of a stream. */
static inline uint64_t ob_draw(uint64_t *state) {
    *state += OB_GOLDEN;
    return ob_scramble(*state);
}

/* The threshold between two neighbours; never equal to the upper one. */
static inline double ob_midpoint(double below, double above) {
    double gap = above - below, middle;
    middle = gap - gap == 0.0 ? below + gap / 2 : below / 2 + above / 2; /* or it overflows */
    return middle < above && middle >= below ? middle : below;
}

#endif
