// HEALTHY twin of hot_function.c: the same work about ten times a second, and sleep between.
#include "lifeline.h"

static unsigned char body[4096];
volatile unsigned answer;

static unsigned checksum(const unsigned char *text, size_t length)
{
    unsigned a = 1, b = 0;

    for (size_t i = 0; i < length; i++)
        a = (a + text[i]) % 65521, b = (b + a) % 65521;
    return b << 16 | a;
}

int main(void)
{
    lifeline();
    ready();
    for (;;) {
        answer = checksum(body, sizeof body);
        sleep_ms(100);
    }
}
