// HEALTHY twin of mutex_contention.c: four threads share a mutex that nobody keeps for long.
#include "lifeline.h"

static pthread_mutex_t ledger = PTHREAD_MUTEX_INITIALIZER;
static long balance;

static void *clerk(void *unused)
{
    for (;;) {
        pthread_mutex_lock(&ledger);
        balance++;
        pthread_mutex_unlock(&ledger);
        sleep_ms(20);
    }
    return unused;
}

int main(void)
{
    pthread_t threads[4];

    lifeline();
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, clerk, NULL);
    ready();
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
}
