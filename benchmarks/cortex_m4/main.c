/* Runs a model on the series of series.h on an emulated Cortex-M4, without an operating system.
   Prints through semihosting: a check of the counter, instructions of all pushes and of all
   decisions, the deepest use of the stack, and the class of each series.

   With `-icount shift=0` an instruction takes a nanosecond of QEMU's clock, and SysTick counts
   25 MHz of it: one tick is 40 instructions. */
#include "net.h"
#include "series.h"

#define TICKS_TO_INSTRUCTIONS 40
#define PAINTED 0x40000 /* bytes of the stack that are watched */
#define COLOUR 0xa5a5a5a5u

extern uint32_t stack_end[];
static volatile uint32_t *const systick = (volatile uint32_t *)0xe000e010;
static volatile uint32_t *const coprocessors = (volatile uint32_t *)0xe000ed88;

static int semihost(int operation, const void *argument)
{
    register int r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = argument;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

static void print(uint32_t value)
{
    char text[12];
    int at = 11;
    text[at] = 0;
    text[--at] = '\n';
    do {
        text[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    semihost(4, text + at); /* SYS_WRITE0 */
}

static uint32_t ticks_since(uint32_t start)
{
    return (start - systick[2]) & 0xffffff;
}

static uint32_t push_ticks, decide_ticks;
static uint8_t decided[SERIES];

static void __attribute__((noinline)) classify(void)
{
    net_stream s;
    uint32_t i, start;
    int32_t t;
    for (i = 0; i < SERIES; ++i) {
        net_init(&s);
        start = systick[2];
        for (t = 0; t < LENGTH; ++t)
            net_push(&s, series + (i * LENGTH + t) * NET_CHANNELS);
        push_ticks += ticks_since(start);
        start = systick[2];
        decided[i] = (uint8_t)net_decide(&s);
        decide_ticks += ticks_since(start);
    }
}

static void __attribute__((noinline)) thousand_instructions(void)
{
    __asm__ volatile(".rept 1000\n nop\n .endr");
}

int main(void)
{
    volatile uint32_t *const bottom = (uint32_t *)((uintptr_t)stack_end - PAINTED);
    volatile uint32_t *here, *mark;
    uint32_t i, start;
    __asm__("mov %0, sp" : "=r"(here));
    push_ticks = decide_ticks = 0;
    systick[1] = 0xffffff; /* reload */
    systick[2] = 0;
    systick[0] = 5; /* enabled, clock of the processor, no interrupt */
    start = systick[2];
    for (i = 0; i < 100; ++i)
        thousand_instructions();
    print(ticks_since(start) * TICKS_TO_INSTRUCTIONS);
    for (mark = bottom; mark < here; ++mark)
        *mark = COLOUR;
    classify();
    for (mark = bottom; mark < here && *mark == COLOUR;)
        ++mark;
    print(push_ticks * TICKS_TO_INSTRUCTIONS);
    print(decide_ticks * TICKS_TO_INSTRUCTIONS);
    print((uint32_t)(here - mark) * 4);
    for (i = 0; i < SERIES; ++i)
        print(decided[i]);
    semihost(0x18, (const void *)0x20026); /* SYS_EXIT */
    for (;;)
        ;
}

static void reset(void)
{
    *coprocessors |= 0xf << 20; /* floating point */
    __asm__ volatile("dsb\n isb");
    main();
}

static void stop(void)
{
    semihost(0x18, (const void *)0x20023); /* a fault: a run-time error */
    for (;;)
        ;
}

__attribute__((section(".vectors"), used)) static const void *const vectors[16] = {
    stack_end, (const void *)reset, (const void *)stop, (const void *)stop, (const void *)stop,
    (const void *)stop, (const void *)stop,
};
