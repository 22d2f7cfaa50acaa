// FAULT: remember() fills a new block of 16 KB for each message and nobody frees one.
#include "lifeline.h"

struct block {
    struct block *older;
    unsigned char text[16 << 10];
};

static struct block *newest;

static void remember(unsigned seed)
{
    struct block *block = malloc(sizeof *block);

    block->older = newest;
    newest = block;
    for (size_t i = 0; i < sizeof block->text; i++)
        seed = seed * 1664525 + 1013904223, block->text[i] = seed % 251; // HOT
}

int main(void)
{
    lifeline();
    ready();
    for (unsigned message = 0;; message++) {
        remember(message);
        sleep_ms(3);
    }
}
