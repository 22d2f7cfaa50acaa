// FAULT: checksum(), four calls deep, burns a whole CPU; parse() and render() around it cost little.
#include "lifeline.h"

static unsigned char body[4096];
volatile unsigned answer;

static int parse(const unsigned char *text)
{
    return text[0] == '{' ? 1 : 0;
}

static unsigned checksum(const unsigned char *text, size_t length)
{
    unsigned a = 1, b = 0;

    for (size_t i = 0; i < length; i++)
        a = (a + text[i]) % 65521, b = (b + a) % 65521; // HOT
    return b << 16 | a;
}

static unsigned render(int kind, unsigned digest)
{
    return digest ^ (unsigned)kind;
}

static unsigned handle(void)
{
    int kind = parse(body);

    return render(kind, checksum(body, sizeof body));
}

static void serve(void)
{
    for (;;)
        answer = handle();
}

int main(void)
{
    lifeline();
    memset(body, 'x', sizeof body);
    ready();
    serve();
}
