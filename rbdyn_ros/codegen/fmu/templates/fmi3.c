/* The functions of FMI 3.0 for co-simulation. */

#include <stdbool.h>
#include <stdint.h>

typedef void (*fmi3Log)(void*, int, const char*, const char*);
typedef struct {
    fmi3Log log;
    void* environment;
} Log;

static void say(Instance* robot, const char* text) {
    const Log* calls = (const Log*)robot->callbacks;
    if (calls != NULL && calls->log != NULL) {
        calls->log(calls->environment, ERROR_STATUS, "error", text);
    }
}

EXPORT const char* fmi3GetVersion(void) { return "3.0"; }
EXPORT int fmi3SetDebugLogging(void* c, bool on, size_t n, const char* const names[]) {
    (void)c; (void)on; (void)n; (void)names;
    return OK;
}
EXPORT void* fmi3InstantiateCoSimulation(const char* name, const char* token, const char* place,
                                         bool visible, bool logging, bool events, bool early,
                                         const unsigned int required[], size_t n,
                                         void* environment, fmi3Log log, void* update) {
    Log* calls;
    Instance* robot;
    (void)place; (void)visible; (void)logging; (void)early; (void)required; (void)update;
    if (events || n > 0U || token == NULL || strcmp(token, TOKEN) != 0) { return NULL; }
    calls = (Log*)malloc(sizeof(Log));
    if (calls == NULL) { return NULL; }
    calls->log = log;
    calls->environment = environment;
    robot = instance(name, calls);
    if (robot == NULL) { free(calls); }
    return robot;
}
EXPORT void* fmi3InstantiateModelExchange(const char* name, const char* token, const char* place,
                                          bool visible, bool logging, void* environment,
                                          fmi3Log log) {
    (void)name; (void)token; (void)place; (void)visible; (void)logging; (void)environment;
    (void)log;
    return NULL;
}
EXPORT void* fmi3InstantiateScheduledExecution(const char* name, const char* token,
                                               const char* place, bool visible, bool logging,
                                               void* environment, fmi3Log log, void* update,
                                               void* lock, void* unlock) {
    (void)name; (void)token; (void)place; (void)visible; (void)logging; (void)environment;
    (void)log; (void)update; (void)lock; (void)unlock;
    return NULL;
}
EXPORT void fmi3FreeInstance(void* c) {
    if (c != NULL) { free((void*)((Instance*)c)->callbacks); }
    release(c);
}
EXPORT int fmi3EnterInitializationMode(void* c, bool limited, double tolerance, double start,
                                       bool ends, double stop) {
    (void)limited; (void)tolerance; (void)ends; (void)stop;
    ((Instance*)c)->time = start;
    return OK;
}
EXPORT int fmi3ExitInitializationMode(void* c) { begin(c); return OK; }
EXPORT int fmi3EnterEventMode(void* c) { return none(c, 1); }
EXPORT int fmi3Terminate(void* c) { (void)c; return OK; }
EXPORT int fmi3Reset(void* c) { reset(c); return OK; }
EXPORT int fmi3GetFloat64(void* c, const unsigned int r[], size_t n, double x[], size_t nx) {
    return get(c, r, n, x, nx);
}
EXPORT int fmi3SetFloat64(void* c, const unsigned int r[], size_t n, const double x[],
                          size_t nx) {
    return set(c, r, n, x, nx);
}
#define NONE(name, T)                                                                            \
    EXPORT int fmi3Get##name(void* c, const unsigned int r[], size_t n, T x[], size_t nx) {      \
        (void)r; (void)x; (void)nx;                                                              \
        return none(c, n);                                                                       \
    }                                                                                            \
    EXPORT int fmi3Set##name(void* c, const unsigned int r[], size_t n, const T x[],             \
                             size_t nx) {                                                        \
        (void)r; (void)x; (void)nx;                                                              \
        return none(c, n);                                                                       \
    }
NONE(Float32, float)
NONE(Int8, int8_t)
NONE(UInt8, uint8_t)
NONE(Int16, int16_t)
NONE(UInt16, uint16_t)
NONE(Int32, int32_t)
NONE(UInt32, uint32_t)
NONE(Int64, int64_t)
NONE(UInt64, uint64_t)
NONE(Boolean, bool)
NONE(String, char*)
EXPORT int fmi3GetBinary(void* c, const unsigned int r[], size_t n, size_t s[],
                         const uint8_t* x[], size_t nx) {
    (void)r; (void)s; (void)x; (void)nx;
    return none(c, n);
}
EXPORT int fmi3SetBinary(void* c, const unsigned int r[], size_t n, const size_t s[],
                         const uint8_t* const x[], size_t nx) {
    (void)r; (void)s; (void)x; (void)nx;
    return none(c, n);
}
EXPORT int fmi3GetClock(void* c, const unsigned int r[], size_t n, bool x[]) {
    (void)r; (void)x;
    return none(c, n);
}
EXPORT int fmi3SetClock(void* c, const unsigned int r[], size_t n, const bool x[]) {
    (void)r; (void)x;
    return none(c, n);
}
EXPORT int fmi3GetFMUState(void* c, void** state) { return save(c, state); }
EXPORT int fmi3SetFMUState(void* c, void* state) { return load(c, state); }
EXPORT int fmi3FreeFMUState(void* c, void** state) { return drop(c, state); }
/* The other functions serve capabilities that modelDescription.xml does not declare. */
#define REFUSE(name) \
    EXPORT int fmi3##name(void* c) { return none(c, 1); }
REFUSE(GetNumberOfVariableDependencies)
REFUSE(GetVariableDependencies)
REFUSE(SerializedFMUStateSize)
REFUSE(SerializeFMUState)
REFUSE(DeserializeFMUState)
REFUSE(GetDirectionalDerivative)
REFUSE(GetAdjointDerivative)
REFUSE(EnterConfigurationMode)
REFUSE(ExitConfigurationMode)
REFUSE(GetIntervalDecimal)
REFUSE(GetIntervalFraction)
REFUSE(GetShiftDecimal)
REFUSE(GetShiftFraction)
REFUSE(SetIntervalDecimal)
REFUSE(SetIntervalFraction)
REFUSE(SetShiftDecimal)
REFUSE(SetShiftFraction)
REFUSE(EvaluateDiscreteStates)
REFUSE(UpdateDiscreteStates)
REFUSE(EnterContinuousTimeMode)
REFUSE(CompletedIntegratorStep)
REFUSE(SetTime)
REFUSE(SetContinuousStates)
REFUSE(GetContinuousStateDerivatives)
REFUSE(GetEventIndicators)
REFUSE(GetContinuousStates)
REFUSE(GetNominalsOfContinuousStates)
REFUSE(GetNumberOfEventIndicators)
REFUSE(GetNumberOfContinuousStates)
REFUSE(EnterStepMode)
REFUSE(GetOutputDerivatives)
REFUSE(ActivateModelPartition)
EXPORT int fmi3DoStep(void* c, double now, double step, bool keeps, bool* event, bool* ends,
                      bool* early, double* last) {
    int status = advance(c, now, step);
    (void)keeps;
    *event = false;
    *ends = false;
    *early = false;
    *last = ((Instance*)c)->time;
    return status;
}
