/* A robot as an FMU: its state, and what both versions of FMI do with it. */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "@HEADER@"

#define TOKEN "@TOKEN@"
#define NQ @MACRO@_NQ
#define NV @MACRO@_NV
#define TIMESTEP @MACRO@_TIMESTEP
#define OK 0
#define ERROR_STATUS 3
/* Value references: time, then tau, q, v, and q and v at the start. */
#define FIRST_TAU 1U
#define FIRST_Q (FIRST_TAU + NV)
#define FIRST_V (FIRST_Q + NQ)
#define FIRST_START (FIRST_V + NV)
#define END (FIRST_START + NQ + NV)
/* Largest distance of a communication step from a whole number of timesteps, in timesteps. */
#define NEAR 1e-6
/* Largest number of timesteps in a communication step. */
#define MOST 1e7

#ifdef _WIN32
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif

typedef struct {
    char name[128];
    const void* callbacks;
    double time;
    int begun;
    double tau[NV], state[NQ + NV], start[NQ + NV];
} Instance;

static const double START[NQ + NV] = {@START@};

static void say(Instance* robot, const char* text);

static int wrong(Instance* robot, const char* text) {
    say(robot, text);
    return ERROR_STATUS;
}

static void reset(Instance* robot) {
    robot->time = 0.0;
    robot->begun = 0;
    memset(robot->tau, 0, sizeof(robot->tau));
    memcpy(robot->start, START, sizeof(START));
    memcpy(robot->state, START, sizeof(START));
}

static Instance* instance(const char* name, const void* callbacks) {
    Instance* robot = (Instance*)malloc(sizeof(Instance));
    if (robot == NULL) { return NULL; }
    memset(robot, 0, sizeof(*robot));
    if (name != NULL) { strncpy(robot->name, name, sizeof(robot->name) - 1U); }
    robot->callbacks = callbacks;
    reset(robot);
    return robot;
}

static void release(void* c) { free(c); }

static void begin(Instance* robot) {
    memcpy(robot->state, robot->start, sizeof(robot->state));
    robot->begun = 1;
}

static int none(void* c, size_t n) {
    return n == 0U ? OK : wrong((Instance*)c, "this FMU has no such variable or function");
}

static int get(void* c, const unsigned int r[], size_t n, double x[], size_t nx) {
    Instance* robot = (Instance*)c;
    size_t k;
    if (n != nx) { return wrong(robot, "each variable has exactly one number"); }
    for (k = 0U; k < n; ++k) {
        if (r[k] >= END) { return wrong(robot, "there is no variable with this reference"); }
    }
    for (k = 0U; k < n; ++k) {
        const unsigned int i = r[k];
        const double* state = robot->begun ? robot->state : robot->start;
        if (i == 0U) { x[k] = robot->time; }
        else if (i < FIRST_Q) { x[k] = robot->tau[i - FIRST_TAU]; }
        else if (i < FIRST_START) { x[k] = state[i - FIRST_Q]; }
        else { x[k] = robot->start[i - FIRST_START]; }
    }
    return OK;
}

/* All numbers are set, or none. */
static int set(void* c, const unsigned int r[], size_t n, const double x[], size_t nx) {
    Instance* robot = (Instance*)c;
    size_t k;
    if (n != nx) { return wrong(robot, "each variable has exactly one number"); }
    for (k = 0U; k < n; ++k) {
        const int input = r[k] >= FIRST_TAU && r[k] < FIRST_Q;
        const int start = r[k] >= FIRST_START && r[k] < END;
        if (!input && !start) { return wrong(robot, "only tau and the start state can be set"); }
        if (start && robot->begun) { return wrong(robot, "the start state can only be set before time begins"); }
        if (!isfinite(x[k])) { return wrong(robot, "a number is not finite"); }
    }
    for (k = 0U; k < n; ++k) {
        if (r[k] < FIRST_Q) { robot->tau[r[k] - FIRST_TAU] = x[k]; }
        else { robot->start[r[k] - FIRST_START] = x[k]; }
    }
    return OK;
}

static int advance(void* c, double now, double step) {
    Instance* robot = (Instance*)c;
    const double count = step / TIMESTEP;
    const double whole = floor(count + 0.5);
    double k;
    if (!robot->begun || !(whole >= 1.0 && whole <= MOST && fabs(count - whole) <= NEAR)) {
        return wrong(robot, "a communication step is 1 to 1e7 whole timesteps of the robot");
    }
    for (k = 0.0; k < whole; k += 1.0) {
        @PREFIX@_step(robot->state, robot->state + NQ, robot->tau, robot->state,
                      robot->state + NQ);
    }
    for (k = 0.0; k < (double)(NQ + NV); k += 1.0) {
        if (!isfinite(robot->state[(size_t)k])) { return wrong(robot, "the state diverged"); }
    }
    robot->time = now + step;
    return OK;
}

static int save(void* c, void** state) {
    Instance* copy = *state != NULL ? (Instance*)*state : (Instance*)malloc(sizeof(Instance));
    if (copy == NULL) { return ERROR_STATUS; }
    memcpy(copy, c, sizeof(*copy));
    *state = copy;
    return OK;
}

static int load(void* c, void* state) {
    Instance* robot = (Instance*)c;
    const void* callbacks = robot->callbacks;
    memcpy(robot, state, sizeof(*robot));
    robot->callbacks = callbacks;
    return OK;
}

static int drop(void* c, void** state) {
    (void)c;
    free(*state);
    *state = NULL;
    return OK;
}

