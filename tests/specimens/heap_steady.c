// HEALTHY twin of heap_growth.c: as many blocks a second, but each new one takes the place of an old one.
#include "lifeline.h"

#define LIMIT 500
#define SIZE (16 << 10)

static unsigned char *ring[LIMIT];

static void remember(unsigned message)
{
    unsigned seed = message;
    unsigned char **slot = &ring[message % LIMIT];

    free(*slot);
    *slot = malloc(SIZE);
    for (size_t i = 0; i < SIZE; i++)
        seed = seed * 1664525 + 1013904223, (*slot)[i] = seed % 251;
}

int main(void)
{
    unsigned message = 0;

    lifeline();
    while (message < 2 * LIMIT)
        remember(message++);
    ready();
    for (;;) {
        remember(message++);
        sleep_ms(3);
    }
}
