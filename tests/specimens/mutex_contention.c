// FAULT: audit() sleeps 200 ms at a time with the ledger's mutex held; three post_entry() threads wait.
#include "lifeline.h"

static pthread_mutex_t ledger = PTHREAD_MUTEX_INITIALIZER;
static long balance;

static void *audit(void *unused)
{
    for (;;) {
        pthread_mutex_lock(&ledger);
        sleep_ms(200); // HOLDER
        pthread_mutex_unlock(&ledger);
        sleep_ms(5);
    }
    return unused;
}

static void post_entry(void)
{
    pthread_mutex_lock(&ledger); // HOT
    balance++;
    pthread_mutex_unlock(&ledger);
}

static void *clerk(void *unused)
{
    for (;;) {
        post_entry();
        sleep_ms(20);
    }
    return unused;
}

int main(void)
{
    pthread_t threads[4];

    lifeline();
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, i ? clerk : audit, NULL);
    ready();
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
}
